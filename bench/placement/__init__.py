"""Placement beside Kafka 3.9.1's own code: same inputs, same run, results compared by digest."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.report import BenchRow, BenchSection, Timing, measure, readable
from jvm import KAFKA_3_9, ROOT, java
from kedge.model import Broker, BrokerId
from kedge.placement import Placement, expand, fixed, place
from kedge.placement.rack_aware import fill_rounds

DRIVER = Path(__file__).parent / "KafkaPlacement.java"
JVM_FLAGS = ("-Xms4g", "-Xmx4g")  # a heap that is never full; the compiler as it comes

RING = "AdminUtils.assignReplicasToBrokers"
CONTROLLER = "AdminZkClient.createNewPartitionsAssignment"


@dataclass(frozen=True, slots=True)
class Case:
    """One row: what Kafka is asked, and how often."""

    name: str
    what: str
    racks: int
    brokers: int = 1_000
    partitions: int = 1_000_000
    first: int = 0
    controller: bool = False
    rf: int = 3
    start: int = 2
    calls: int = 1
    warmups: int = 6
    rounds: int = 9

    def argument(self) -> str:
        """The case as the driver reads it."""
        fields = (
            self.name,
            "controller" if self.controller else "ring",
            *(self.brokers, self.racks, self.partitions, self.rf, self.start),
            *(self.first, self.calls, self.warmups, self.rounds),
        )
        return ",".join(map(str, fields))

    def cluster(self) -> list[Broker]:
        """The brokers, as the driver makes them too."""
        ids = map(BrokerId, range(self.brokers))
        return [Broker(i, f"rack{i % self.racks}" if self.racks else None) for i in ids]


CASES = (
    Case("create", "create, no racks", 0),
    Case("create-3", "create, 3 racks", 3),
    Case("create-20", "create, 20 racks", 20),
    Case("expand", "expand, no racks", 0, first=10_000),
    Case("expand-3", "expand, 3 racks", 3, first=10_000),
    Case("expand-c", "expand, no racks, controller", 0, first=10_000, controller=True),
    Case("expand-3-c", "expand, 3 racks, controller", 3, first=10_000, controller=True),
    Case("few", "create 10 partitions on 5 brokers", 0, 5, 10, calls=100_000),
    Case("few-3", "create 10 partitions on 6 brokers, 3 racks", 3, 6, 10, calls=50_000),
)


def run() -> BenchSection:
    """Measure every case on both sides."""
    rows = tuple(_row(case, *theirs) for case, theirs in zip(CASES, _kafka(), strict=True))
    return BenchSection(
        "placement",
        "Placement",
        "1,000 brokers, 1,000,000 partitions, replication factor 3 unless a row says otherwise. "
        "The peer is Kafka 3.9.1's own code in a warmed-up JVM. Both sides are called with the "
        "same input, and their results have the same SHA-256. Kedge's result is a matrix, "
        "Kafka's a map of lists.",
        (*rows, _as_mapping(rows[0])),
        notes=_first_calls(),
    )


def _kafka() -> list[tuple[Timing, str]]:
    """Kafka's times and digests, case by case, from one JVM."""
    arguments = [case.argument() for case in CASES]
    with java(KAFKA_3_9, str(DRIVER), *arguments, cwd=ROOT, flags=JVM_FLAGS) as process:
        lines = [process.wait_for_line("row ", timeout_s=300).split() for _ in CASES]
    return [(Timing(float(line[2]) / 1e9, float(line[3]) / 1e9), line[4]) for line in lines]


def _row(case: Case, theirs: Timing, digest: str) -> BenchRow:
    call = _expansion(case) if case.first else _creation(case)
    made = call()
    if made.digest() != digest:
        raise AssertionError(f"{case.name}: Kedge and Kafka placed differently")
    _ = fill_rounds.compiled  # measured warm: the note on first calls tells of the cold
    ours = measure(call, rounds=25, calls=max(1, case.calls // 50))
    return BenchRow(case.what, ours, f"`{CONTROLLER if case.controller else RING}`", theirs)


def _creation(case: Case) -> Callable[[], Placement]:
    cluster = case.cluster()
    return lambda: place(
        cluster,
        partitions=case.partitions,
        replication_factor=case.rf,
        start=fixed(case.start),
        first_partition=case.first,
    )


def _expansion(case: Case) -> Callable[[], Placement]:
    cluster = case.cluster()
    model = tuple(BrokerId(case.start + at) for at in range(case.rf))
    existing = dict.fromkeys(range(case.first), model)
    total = case.first + case.partitions
    return lambda: expand(cluster, existing=existing, total=total)


def _as_mapping(created: BenchRow) -> BenchRow:
    """The same with the result read out as plain values, which most callers never need."""
    create = _creation(CASES[0])
    ours = measure(lambda: create().as_mapping(), rounds=5)
    return BenchRow("create, no racks, as a dict of tuples", ours, created.peer, created.theirs)


def _first_calls() -> tuple[str, ...]:
    took = {racks: _cold(racks) for racks in (0, 3)}
    return (
        "First call in a fresh process, imports not counted: "
        f"{readable(took[0])} without racks, {readable(took[3])} with 3 racks "
        "(interpreted: the compiler starts only when the work asked for would have paid for it; "
        "the table's rows with racks are compiled).",
        "For ten partitions both sides take microseconds; the interpreter's "
        "fixed costs decide.",
    )


def _cold(racks: int) -> float:
    """Seconds that the very first call takes in a process of its own."""
    code = (
        "import time; from bench.placement import Case, _creation; "
        f"call = _creation(Case('', '', {racks})); before = time.perf_counter(); call(); "
        "print(time.perf_counter() - before)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return float(done.stdout)
