"""Reads findings and their time series from gold with pyarrow, without Spark."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from kedge.files import read_table
from kedge.pipeline.warehouse import published_version

KINDS = (
    *("disk_full_soon", "hot_broker", "isr_flapping", "growing", "skewed_topic"),
    "led_elsewhere",
)
SERIES_DAYS = 2
PARTITION_KEY = ("cluster", "topic", "partition")
BROKER_KEY = ("cluster", "broker")
SERIES_COLUMN = {"growing": "size", "disk_full_soon": "size", "isr_flapping": "min_isr"}


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding, and the time series of its figure over the last days."""

    kind: str
    cluster: str
    broker: int | None
    topic: str | None
    partition: int | None
    value: float
    threshold: float
    why: str
    course: list[float] = field(default_factory=list[float])

    @property
    def subject(self) -> str:
        """The broker or partition, as `broker 3` or `orders-7`."""
        return f"broker {self.broker}" if self.topic is None else f"{self.topic}-{self.partition}"


def read_findings(
    output: Path, *, kind: str | None = None, cluster: str | None = None
) -> list[Finding]:
    """The findings of the published tables, the most urgent kinds first."""
    gold = published_version(output) / "gold"
    if not (gold / "findings").is_dir():
        return []
    rows: list[dict[str, Any]] = read_table(gold / "findings").to_pylist()
    found = [
        Finding(**row)
        for row in rows
        if kind in (None, row["kind"]) and cluster in (None, row["cluster"])
    ]
    return sorted(found, key=_sort_key)


def _sort_key(finding: Finding) -> tuple[Any, ...]:
    kind = KINDS.index(finding.kind) if finding.kind in KINDS else len(KINDS)
    urgency = finding.value if finding.kind == "disk_full_soon" else -finding.value
    subject = (finding.broker or 0, finding.topic or "", finding.partition or 0)
    return (kind, urgency, finding.cluster, *subject)


def with_time_series(output: Path, found: list[Finding]) -> list[Finding]:
    """The findings, each with the time series of its figure."""
    gold = published_version(output) / "gold"
    of_partition = _WindowTable(gold / "partition_course", PARTITION_KEY)
    of_broker = _WindowTable(gold / "broker_course", BROKER_KEY)
    completed: list[Finding] = []
    for finding in found:
        table = of_broker if finding.topic is None else of_partition
        key = {name: getattr(finding, name) for name in table.key}
        column = SERIES_COLUMN.get(finding.kind, "bytes_in")
        completed.append(replace(finding, course=table.values(key, column)))
    return completed


class _WindowTable:
    """The last days of a table with one row per key and window."""

    def __init__(self, table: Path, key: tuple[str, ...]) -> None:
        self.key = key
        self.days = sorted(table.glob("dt=*"))[-SERIES_DAYS:]

    def values(self, key: dict[str, Any], column: str) -> list[float]:
        """The values of one key, in the order of windows."""
        points: list[tuple[Any, float | None]] = []
        where = [(name, "=", value) for name, value in key.items()]
        for day in self.days:
            table = read_table(
                day, columns=["window_start", column], filters=where, partitioning=None
            )
            rows = table.to_pylist()
            points += [(row["window_start"], row[column]) for row in rows]
        return [float(value) for _, value in sorted(points) if value is not None]
