"""Predicted and measured times of jobs on real brokers.

Each release has four brokers, in processes of their own, with their logs in memory. A round drains
broker 4, balances the cluster again and adds a replica to each partition, which is removed before
the next round. Rounds are with and without a throttle, with and without clients.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.prediction.real_cluster import (
    Kedge,
    Measured,
    Predicted,
    clients,
    create_topic,
    fill_topic,
)
from jvm import KAFKA_3_9, KAFKA_4_1, memory_directory
from jvm.separate import SeparateBrokers, separate_brokers

RELEASES = {KAFKA_4_1: "4.1", KAFKA_3_9: "3.9"}
TOPIC, PARTITIONS, BYTES_EACH = "data", 24, 45_000_000
CLIENT_BYTES_PER_S = 1_000_000
DRAINED = 4
PAIRS = ((1, 2), (2, 3), (3, 4), (4, 1), (1, 3), (2, 4), (3, 1), (4, 2))  # leaders come first


@dataclass(frozen=True, slots=True)
class Job:
    """A job, and the throttle at which it takes half a minute."""

    name: str
    words: tuple[str, ...]
    throttle: str


JOBS = (
    Job("drain", ("drain", str(DRAINED)), "9MB"),
    Job("balance", ("balance",), "18MB"),
    Job("replication", ("replication", f"{TOPIC}=3"), "9MB"),
)


@dataclass(frozen=True, slots=True)
class Compared:
    """One job, as predicted and as it was."""

    release: str
    job: str
    throttle: str
    with_clients: bool
    predicted: Predicted
    measured: Measured

    @property
    def ratio(self) -> float:
        """Measured over predicted."""
        return self.measured.seconds / self.predicted.middle

    @property
    def is_inside(self) -> bool:
        """Whether the time was in the range that 8 of 10 draws are in."""
        return self.predicted.p10 <= self.measured.seconds <= self.predicted.p90

    def __str__(self) -> str:
        throttle = f"at {self.throttle}/s" if self.throttle else "no throttle"
        around = "clients" if self.with_clients else "no clients"
        told = self.predicted
        return (
            f"{self.job} on {self.release}, {throttle}, {around}: {self.measured.seconds:.1f} s, "
            f"predicted {told.middle:.1f} s ({told.p10:.1f} to {told.p90:.1f}), "
            f"ratio {self.ratio:.2f}{'' if self.is_inside else ', outside'}"
        )


@contextmanager
def filled_cluster(release: str) -> Generator[tuple[SeparateBrokers, Kedge]]:
    """Four brokers with a topic of 24 partitions, two replicas each."""
    directory = Path(tempfile.mkdtemp(prefix="kedge-calibration-", dir=memory_directory()))
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, directory, ignore_errors=True)
        cluster = stack.enter_context(separate_brokers(directory, release))
        replicas = [PAIRS[number % len(PAIRS)] for number in range(PARTITIONS)]
        create_topic(cluster, TOPIC, replicas, file_delete_delay_ms="1000")
        fill_topic(cluster, TOPIC, PARTITIONS, BYTES_EACH)
        yield cluster, Kedge(cluster, directory)


def calibration() -> Generator[Compared]:
    """Every job of both releases, one after the other."""
    for release, name in RELEASES.items():
        with filled_cluster(release) as (cluster, kedge):
            for throttled in (True, False):
                for with_clients in (False, True):
                    yield from _round(name, cluster, kedge, throttled, with_clients)


def _round(
    release: str, cluster: SeparateBrokers, kedge: Kedge, throttled: bool, with_clients: bool
) -> Generator[Compared]:
    with ExitStack() as stack:
        if with_clients:
            stack.enter_context(clients(cluster, TOPIC, CLIENT_BYTES_PER_S))
        for job in JOBS:
            throttle = ("--throttle", job.throttle) if throttled else ("--no-throttle",)
            measured = kedge.carried_out(*job.words, *throttle)
            assert measured.predicted is not None, "a job says what it takes"
            rate = job.throttle if throttled else ""
            yield Compared(release, job.name, rate, with_clients, measured.predicted, measured)
        kedge.carried_out("replication", f"{TOPIC}=2", "--no-throttle")


if __name__ == "__main__":
    for compared in calibration():
        print(compared, file=sys.stderr, flush=True)
