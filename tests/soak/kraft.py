"""`make soak MODE=kraft MINUTES=20`: a mixed quorum and three brokers, killed at random.

Two controllers of Kafka's, one of Kedge's, three brokers, each a process. A producer wants every
record kept; one process at a time is killed with kill -9, or the leader stands still until another
is elected. In the end every acknowledged record is there once, and all controllers live.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from jvm import KAFKA_4_1, JavaProcess, java, memory_directory
from jvm.clusters import PROGRAMS
from jvm.kraft import KafkaNode, Quorum, quorum, until
from tests.real.identified import IdentifiedProducer, lost_and_doubled, read_all
from tests.real.kraft_kills import (
    BROKERS,
    KAFKA,
    KEDGE,
    PARTITIONS,
    QUICK,
    REST_S,
    be_patient,
    caught_up,
    create,
    is_whole,
    leader_other_than,
    say,
    standing_still,
)

WEIGHTS = {"broker": 3, "kedge": 5, "kafka": 2, "standstill": 1}


class Soak:
    """The processes, and what has happened to them."""

    def __init__(self, made: Quorum, stack: contextlib.ExitStack) -> None:
        self._quorum = made
        self._stack = stack
        self._brokers: dict[int, JavaProcess] = {}
        self.happened: Counter[str] = Counter()

    @property
    def kills(self) -> int:
        """How many processes were killed: one that stands still is not."""
        return self.happened.total() - self.happened["standstill"]

    def start(self) -> None:
        """Start everything."""
        for node in self._quorum.nodes.values():
            node.start()
        leader_other_than(self._quorum, None)
        for broker in BROKERS:
            self._start_broker(broker)
        for process in self._brokers.values():
            process.wait_for_line("READY", timeout_s=REST_S)

    def _start_broker(self, broker: int) -> None:
        file = str(self._quorum.write_broker(broker, {"log.index.size.max.bytes": "65536"}))
        command = java(KAFKA_4_1, *PROGRAMS[KAFKA_4_1], file, cwd=self._quorum.directory)
        self._brokers[broker] = self._stack.enter_context(command)

    def one(self, rng: random.Random) -> str:
        """One mishap, and its repair."""
        (kind,) = rng.choices(list(WEIGHTS), list(WEIGHTS.values()))
        made = self._quorum
        if kind == "broker":
            victim = rng.choice(BROKERS)
            self._brokers[victim].kill()
            self._start_broker(victim)
            self._brokers[victim].wait_for_line("READY", timeout_s=REST_S)
            until("whole ISRs", lambda: is_whole(made.bootstrap), timeout_s=REST_S)
        elif kind == "standstill":
            found = leader_other_than(made, None)
            node = made.nodes[found.leader]
            stopped = node if isinstance(node, KafkaNode) else node.pid
            with standing_still(stopped):
                leader_other_than(made, found.leader)
        else:
            victim = KEDGE if kind == "kedge" else rng.choice(KAFKA)
            node = made.nodes[victim]
            node.kill()
            time.sleep(rng.random())
            node.stop()
            node.start()
            caught_up(made, victim)
        for voter in made.ports:
            caught_up(made, voter)
        ended = [number for number, node in made.nodes.items() if node.has_ended]
        assert not ended, f"controllers have ended: {ended}"
        self.happened[kind] += 1
        return kind


def soak(directory: Path, minutes: float, rng: random.Random) -> str:
    """Run, and tell what came of it."""
    with (
        quorum(directory, kedge=(KEDGE,), kafka=KAFKA, settings=QUICK) as made,
        contextlib.ExitStack() as stack,
    ):
        be_patient(made, 2_500)
        running = Soak(made, stack)
        running.start()
        until("the stream", lambda: create(made.bootstrap, "stream", PARTITIONS), timeout_s=REST_S)
        producer = IdentifiedProducer(made.bootstrap, "stream", name="p", pause_s=0.002).start()
        end = time.monotonic() + minutes * 60
        while time.monotonic() < end:
            began = time.monotonic()
            what = running.one(rng)
            say(f"{sum(running.happened.values())}: {what}, {time.monotonic() - began:.1f} s")
            enough = len(producer.acked) + 100
            until("records", lambda e=enough: len(producer.acked) > e, timeout_s=REST_S)
        producer.stop()
        found = read_all(made.bootstrap, "stream", PARTITIONS)
        lost, doubled = lost_and_doubled(producer.acked, found)
        wrong = (lost[:3], doubled[:3], dict(producer.failed))
        assert producer.acked
        assert not any(wrong), wrong
        account = f"{len(producer.acked)} acknowledged, 0 lost, 0 twice"
        return f"{running.kills} kills, {dict(running.happened)}; {account}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kedge-soak-", dir=memory_directory()) as name:
        account = soak(Path(name), chosen.minutes, random.Random(chosen.seed))
    print(f"{chosen.minutes} minutes, seed {chosen.seed}: {account}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
