"""`python -m tests.real.apply_kills --rounds 20`: plans applied by commands that are killed.

Each round applies a plan to twelve partitions of a real cluster of four brokers, with random kills
of the command and of a broker (`apply_rounds`). Producers write to all partitions meanwhile. With
`--state cluster`, rounds keep their runs in the cluster while no more commands were killed there
than elsewhere, so that it is half of the kills; each command of such a round starts in a directory
of its own. `--kills 25` goes on until so many commands were killed. The exit code is 1 with the
seed and the story of the first round that fails, or when an acknowledged record is lost or there
twice.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import random
import secrets
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

from jvm import KAFKA_3_9, KAFKA_4_1, memory_directory
from kedge.model.runs_topic import RUNS_TOPIC
from tests.real.apply_rounds import Round, RoundFailed
from tests.real.four_brokers import BROKER_IDS, FourBrokers, four_brokers
from tests.real.identified import IdentifiedProducer, lost_and_doubled, read_all
from tests.real.operator import RECORD_BYTES, Operator

RELEASES = {"4.1": KAFKA_4_1, "3.9": KAFKA_3_9}
TOPICS = {"orders": 8, "ledger": 4}
BYTES_EACH = 1_000_000
PAUSE_S = 0.01  # between two records of a producer


@dataclass(frozen=True, slots=True)
class Written:
    """What became of the records that were written during the rounds."""

    acked: int
    failed: int
    lost: int
    doubled: int

    @property
    def is_clean(self) -> bool:
        return self.acked > 0 and not (self.failed or self.lost or self.doubled)

    def __str__(self) -> str:
        return (
            f"{self.acked} records acknowledged, {self.failed} failed, "
            f"{self.lost} lost, {self.doubled} twice"
        )


class Workload:
    """The topics that plans move, and a producer for each."""

    def __init__(self, operator: Operator, draw: random.Random) -> None:
        self._bootstrap = operator.cluster.bootstrap
        for topic, size in TOPICS.items():
            replicas = {p: tuple(draw.sample(BROKER_IDS, 2)) for p in range(size)}
            operator.create(topic, replicas)
            operator.fill(topic, range(size), BYTES_EACH)
        self._producers = {
            topic: IdentifiedProducer(
                self._bootstrap, topic, name=topic, pause_s=PAUSE_S, log_level=0
            ).start()
            for topic in TOPICS
        }

    def stop(self) -> None:
        """Stop writing; stopping twice is fine."""
        for producer in self._producers.values():
            producer.stop()

    def finish(self) -> Written:
        """Stop writing and read everything back."""
        self.stop()
        acked, failed, lost, doubled = 0, 0, 0, 0
        for topic, producer in self._producers.items():
            read = read_all(self._bootstrap, topic, TOPICS[topic])
            identified = [value for value in read if len(value) < RECORD_BYTES]
            missing, twice = lost_and_doubled(producer.acked, identified)
            acked += len(producer.acked)
            failed += producer.failed.total()
            lost += len(missing)
            doubled += len(twice)
        return Written(acked, failed, lost, doubled)


@contextlib.contextmanager
def workload(cluster: FourBrokers, directory: Path, seed: str) -> Generator[Workload]:
    """Topics with data and producers for the time of a `with` block."""
    operator = Operator(cluster, directory)
    made = Workload(operator, random.Random(seed))
    try:
        yield made
    finally:
        made.stop()
        operator.delete(*TOPICS)
        operator.close()


def play(
    cluster: FourBrokers,
    directory: Path,
    seed: str,
    number: int,
    *,
    directories: bool = True,
    in_cluster: bool = False,
) -> Round:
    """Play one round: odd ones interrupt an apply, even ones a rollback.

    A failure carries the seed and the story in its text.
    """
    place = directory / f"round-{number}"
    place.mkdir()
    operator = Operator(cluster, place, state="cluster" if in_cluster else "")
    first = "apply" if number % 2 else "rollback"
    chosen = f"{seed}-{number}"
    one = Round(operator, list(TOPICS), chosen, first=first, directories=directories)
    try:
        one.play()
    except RoundFailed as failure:
        story = ", ".join(one.story)
        raise RoundFailed(f"seed {seed}, round {number}: {story}: {failure}") from failure
    finally:
        if in_cluster:
            operator.delete(RUNS_TOPIC)  # the next round finds no runs
        operator.close()
    return one


def rounds(
    release: str,
    count: int,
    seed: str,
    *,
    directories: bool,
    in_cluster: bool = False,
    minutes: float = math.inf,
    kills_wanted: float = math.inf,
) -> bool:
    """Play rounds on a cluster of a release; whether all ended as they must."""
    with (
        tempfile.TemporaryDirectory(prefix="kedge-apply-", dir=memory_directory()) as directory,
        four_brokers(Path(directory), RELEASES[release]) as cluster,
        workload(cluster, Path(directory), seed) as load,
    ):
        clean, kills, kills_there = True, Counter[str](), Counter[str]()
        last_begin = time.monotonic() + 60 * minutes
        for number in range(1, count + 1):
            began = time.monotonic()
            if began > last_begin or of_commands(kills) >= kills_wanted:
                break
            try:
                elsewhere = of_commands(kills) - of_commands(kills_there)
                kept_there = in_cluster and of_commands(kills_there) <= elsewhere
                one = play(
                    cluster,
                    Path(directory),
                    seed,
                    number,
                    directories=directories,
                    in_cluster=kept_there,
                )
            except RoundFailed as failure:
                print(f"{release}: {failure}", flush=True)
                clean = False
                break
            seconds = time.monotonic() - began
            kills += one.kills
            kills_there += one.kills if kept_there else Counter[str]()
            place = " in the cluster" if kept_there else ""
            story = ", ".join(one.story)
            print(f"{release} round {number}{place}: {story} ({seconds:.0f} s)", flush=True)
        written = load.finish()
    shown = ", ".join(f"{count} of {what}" for what, count in sorted(kills.items()))
    there = f", {of_commands(kills_there)} of runs in the cluster" if in_cluster else ""
    print(
        f"{release}: {of_commands(kills)} kills of commands{there}; {shown}; {written}", flush=True
    )
    return clean and written.is_clean


def of_commands(kills: Counter[str]) -> int:
    """How many of the kills were of commands, not of a broker."""
    return sum(count for what, count in kills.items() if not what.startswith("broker"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, help="per release; 20, or as many as the kills take")
    parser.add_argument(
        "--minutes", type=float, default=math.inf, help="no round begins later, per release"
    )
    parser.add_argument(
        "--kills", type=float, default=math.inf, help="of commands, after which no round begins"
    )
    parser.add_argument("--seed", default="", help="drawn when it is not given")
    parser.add_argument("--release", choices=[*RELEASES, "both"], default="both")
    parser.add_argument(
        "--no-directories", action="store_true", help="plans that name no directories"
    )
    parser.add_argument(
        "--state", choices=["directory", "cluster"], default="directory", help="half of the rounds"
    )
    chosen = parser.parse_args()
    seed = chosen.seed or str(secrets.randbelow(1_000_000))
    print(f"seed {seed}", flush=True)
    releases = list(RELEASES) if chosen.release == "both" else [chosen.release]
    count = chosen.rounds or (20 if chosen.kills == math.inf else sys.maxsize)
    ends = (
        rounds(
            release,
            count,
            seed,
            directories=not chosen.no_directories,
            in_cluster=chosen.state == "cluster",
            minutes=chosen.minutes,
            kills_wanted=chosen.kills,
        )
        for release in releases
    )
    return 0 if all(ends) else 1


if __name__ == "__main__":
    sys.exit(main())
