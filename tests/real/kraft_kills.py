"""`python -m tests.real.kraft_kills sole --rounds 20`: kill -9 in rounds, under a producer whose
every record must be there once at the end.

    sole        the only controller, Kedge's, which goes on from its log
    mixed       Kedge's controller while it leads two of Kafka's, which take over
    broker      one of three brokers, each in a JVM of its own, under Kedge's controller
    elections   no broker: the leader of a mixed quorum stands still until another is elected
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Generator
from pathlib import Path

from jvm import KAFKA_4_1, JavaProcess, java, memory_directory
from jvm.clusters import PROGRAMS
from jvm.kraft import KafkaNode, Quorum, quorum, until
from kedge.cluster.kafka_admin import KafkaAdmin
from kedge.cluster.port import Election, TopicCreation, TopicDescription
from kedge.metadata_log.segments import Segments
from kedge.quorum.values import LeaderChange
from tests.real.identified import IdentifiedProducer, lost_and_doubled, read_all
from tests.real.quorum_view import QuorumView, describe

KEDGE, KAFKA, BROKERS = 3003, (3001, 3002), (1, 2, 3)
PARTITIONS = 6
KEEP = {"min.insync.replicas": "2"}
REST_S = 180.0
QUICK = {
    "controller.quorum.fetch.timeout.ms": "2000",
    "controller.quorum.election.timeout.ms": "1000",
}


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def leader(made: Quorum) -> QuorumView | None:
    """The view of the leader, once it has committed something; a node that stands still is late."""
    for node, port in made.ports.items():
        found = describe(port, timeout_s=1.0)
        if found and found.leader == node and found.high_watermark > 0:
            return found
    return None


def leader_other_than(made: Quorum, old: int | None) -> QuorumView:
    def look() -> QuorumView | None:
        found = leader(made)
        return found if found and found.leader != old else None

    return until(f"a leader other than {old}", look, timeout_s=REST_S)


def caught_up(made: Quorum, node: int) -> None:
    """Wait until a node has fetched what was committed when this began, and something later."""
    begun: list[int] = []

    def look() -> bool:
        found = leader(made)
        if found is None:
            return False
        begun.append(found.high_watermark)
        return found.ends[node] > begun[0]

    until(f"node {node} to catch up", look, timeout_s=REST_S)


@contextlib.contextmanager
def standing_still(node: KafkaNode | int) -> Generator[None]:
    """A process that does nothing for the time of a block."""
    pid = node if isinstance(node, int) else node.process.pid if node.process else 0
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


# ---- rounds --------------------------------------------------------------------------------------


def sole_round(made: Quorum, rng: random.Random) -> None:
    node = made.kedge(KEDGE)
    node.kill()
    time.sleep(rng.random() * 2)
    node.start()
    until("the controller", lambda: describe(made.ports[KEDGE]), timeout_s=REST_S)


def be_patient(made: Quorum, fetch_timeout_ms: int) -> None:
    """Let Kedge be the last to give a leader up.

    Of two followers the first to stand is refused by the other, which still has its leader
    (pre-vote); when the other stands, the first one grants. So the more patient one wins.
    """
    with (made.directory / f"c{KEDGE}.properties").open("a") as config:
        config.write(f"controller.quorum.fetch.timeout.ms={fetch_timeout_ms}\n")


def let_kedge_lead(made: Quorum) -> None:
    """Kafka's leader stands still until Kedge has the lead."""
    for _ in range(20):
        found = leader_other_than(made, None)
        if found.leader == KEDGE:
            return
        node = made.nodes[found.leader]
        assert isinstance(node, KafkaNode)
        with standing_still(node):
            leader_other_than(made, found.leader)
        for voter in made.ports:
            caught_up(made, voter)
    raise AssertionError("Kedge is never elected")


def mixed_round(made: Quorum, rng: random.Random) -> None:
    let_kedge_lead(made)
    node = made.kedge(KEDGE)
    node.kill()
    leader_other_than(made, KEDGE)
    node.start()
    caught_up(made, KEDGE)
    ended = [number for number, node in made.nodes.items() if node.has_ended]
    assert not ended, f"controllers have ended: {ended}"


ROUNDS: dict[str, Callable[[Quorum, random.Random], None]] = {
    "sole": sole_round,
    "mixed": mixed_round,
}


def create(bootstrap: str, name: str, partitions: int) -> bool:
    """Create a topic, which takes a working controller."""
    admin = KafkaAdmin(bootstrap)
    try:
        order = TopicCreation(name, partitions, len(BROKERS), configs=KEEP)
        (refusal,) = admin.create_topics([order]).values()
        return refusal is None
    except Exception as problem:
        say(f"create {name}: {problem!r}")
        return False
    finally:
        admin.close()


def under_a_producer(
    made: Quorum, rounds: int, rng: random.Random, kill: Callable[[int], None]
) -> str:
    """Rounds of kills, each followed by a topic created; the account of all records."""
    bootstrap = made.bootstrap
    until("the stream", lambda: create(bootstrap, "stream", PARTITIONS), timeout_s=REST_S)
    producer = IdentifiedProducer(bootstrap, "stream", name="p", pause_s=0.002).start()
    for number in range(rounds):
        enough = len(producer.acked) + 200
        until("records", lambda e=enough: len(producer.acked) > e, timeout_s=REST_S)
        began = time.monotonic()
        kill(number)
        name = f"round-{number}"
        until(name, lambda n=name: create(bootstrap, n, 3), timeout_s=REST_S)
        say(f"round {number + 1}: a topic was created {time.monotonic() - began:.1f} s after")
    producer.stop()
    found = read_all(bootstrap, "stream", PARTITIONS)
    lost, doubled = lost_and_doubled(producer.acked, found)
    wrong = (lost[:3], doubled[:3], dict(producer.failed))
    assert producer.acked
    assert not any(wrong), wrong
    return f"{len(producer.acked)} acknowledged, 0 lost, 0 twice"


# ---- the kinds -----------------------------------------------------------------------------------


def controllers(directory: Path, kind: str, rounds: int, rng: random.Random) -> str:
    kafka = KAFKA if kind == "mixed" else ()
    with quorum(directory, kedge=(KEDGE,), kafka=kafka, settings=QUICK) as made:
        be_patient(made, 3_000)
        for node in made.nodes.values():
            node.start()
        leader_other_than(made, None)
        with made.brokers(*BROKERS):
            return under_a_producer(made, rounds, rng, lambda _: ROUNDS[kind](made, rng))


def brokers(directory: Path, rounds: int, rng: random.Random) -> str:
    with quorum(directory, kedge=(KEDGE,)) as made, contextlib.ExitStack() as stack:
        made.kedge(KEDGE).start()
        leader_other_than(made, None)
        apart: dict[int, JavaProcess] = {}

        def start(broker: int) -> None:
            file = str(made.write_broker(broker, {"log.index.size.max.bytes": "65536"}))
            command = java(KAFKA_4_1, *PROGRAMS[KAFKA_4_1], file, cwd=directory)
            apart[broker] = stack.enter_context(command)

        for broker in BROKERS:
            start(broker)
        for process in apart.values():
            process.wait_for_line("READY", timeout_s=REST_S)

        def kill(number: int) -> None:
            victim = BROKERS[number % len(BROKERS)]
            apart[victim].kill()
            start(victim)
            apart[victim].wait_for_line("READY", timeout_s=REST_S)
            until("whole ISRs", lambda: is_whole(made.bootstrap), timeout_s=REST_S)

        return under_a_producer(made, rounds, rng, kill)


def is_whole(bootstrap: str) -> bool:
    admin = KafkaAdmin(bootstrap)
    try:
        admin.elect_leaders(Election.PREFERRED)
        (stream,) = admin.describe_topics(["stream"]).values()
        assert isinstance(stream, TopicDescription), stream
        return all(len(partition.isr) == len(BROKERS) for partition in stream.partitions)
    except Exception as problem:
        say(f"describe: {problem!r}")
        return False
    finally:
        admin.close()


def elections(directory: Path, rounds: int, fetch_timeout_ms: int) -> str:
    """Kill nothing: the leader stands still, and the two others stand for election."""
    with quorum(directory, kedge=(KEDGE,), kafka=KAFKA, settings=QUICK) as made:
        be_patient(made, fetch_timeout_ms)
        for node in made.nodes.values():
            node.start()
        won = {node: 0 for node in made.nodes}
        for number in range(rounds):
            found = leader_other_than(made, None)
            node = made.nodes[found.leader]
            pid = node.process.pid if isinstance(node, KafkaNode) and node.process else 0
            with standing_still(pid or made.kedge(KEDGE).pid):
                following = leader_other_than(made, found.leader)
            won[following.leader] += 1
            for voter in made.ports:
                caught_up(made, voter)
            say(f"round {number + 1}: {found.leader} → {following.leader}, {following.epoch}")
        made.kedge(KEDGE).stop()
        return f"won {won}; {len(leaders_of(made.data(KEDGE)))} epochs with one leader each"


def leaders_of(directory: Path) -> dict[int, int]:
    """The leader of each epoch, by the log; two in one epoch are an error."""
    found: dict[int, int] = {}
    for batch in Segments(directory / "__cluster_metadata-0").open():
        for record in batch.control:
            if isinstance(record, LeaderChange):
                assert found.setdefault(batch.epoch, record.leader_id) == record.leader_id
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=("sole", "mixed", "broker", "elections"))
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument(
        "--fetch-timeout-ms", type=int, default=2_300, help="Kedge's, in elections; Kafka's is 2000"
    )
    chosen = parser.parse_args()
    rng = random.Random(chosen.seed)
    with tempfile.TemporaryDirectory(prefix="kedge-kraft-", dir=memory_directory()) as name:
        match chosen.kind:
            case "broker":
                account = brokers(Path(name), chosen.rounds, rng)
            case "elections":
                account = elections(Path(name), chosen.rounds, chosen.fetch_timeout_ms)
            case _:
                account = controllers(Path(name), chosen.kind, chosen.rounds, rng)
    print(f"{chosen.kind}, {chosen.rounds} rounds, seed {chosen.seed}: {account}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
