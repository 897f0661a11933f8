"""Findings and their course, read from gold by Arrow alone: no Spark is started for this."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from kedge.files import read_table
from kedge.pipeline.warehouse import published

KINDS = (
    *("disk_full_soon", "hot_broker", "isr_flapping", "growing", "skewed_topic"),
    "led_elsewhere",
)
DAYS_DRAWN = 2
PARTITION_KEY = ("cluster", "topic", "partition")
BROKER_KEY = ("cluster", "broker")
DRAWN = {"growing": "size", "disk_full_soon": "size", "isr_flapping": "min_isr"}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that stands out, and the course of what it is about over the last days."""

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
        """What it is about, as people name it."""
        return f"broker {self.broker}" if self.topic is None else f"{self.topic}-{self.partition}"


def read_findings(
    output: Path, *, kind: str | None = None, cluster: str | None = None
) -> list[Finding]:
    """The findings of the current tables, the pressing kinds first."""
    gold = published(output) / "gold"
    if not (gold / "findings").is_dir():
        return []
    rows: list[dict[str, Any]] = read_table(gold / "findings").to_pylist()
    found = [
        Finding(**row)
        for row in rows
        if kind in (None, row["kind"]) and cluster in (None, row["cluster"])
    ]
    return sorted(found, key=_order)


def _order(one: Finding) -> tuple[Any, ...]:
    place = KINDS.index(one.kind) if one.kind in KINDS else len(KINDS)
    urgent = one.value if one.kind == "disk_full_soon" else -one.value
    return (place, urgent, one.cluster, one.broker or 0, one.topic or "", one.partition or 0)


def with_courses(output: Path, found: list[Finding]) -> list[Finding]:
    """The same findings, each with the course of its figure."""
    gold = published(output) / "gold"
    of_partition = _Courses(gold / "partition_course", PARTITION_KEY)
    of_broker = _Courses(gold / "broker_course", BROKER_KEY)
    drawn: list[Finding] = []
    for one in found:
        courses = of_broker if one.topic is None else of_partition
        key = {name: getattr(one, name) for name in courses.key}
        figure = DRAWN.get(one.kind, "bytes_in")
        drawn.append(replace(one, course=courses.of(key, figure)))
    return drawn


class _Courses:
    """The last days of a table of courses."""

    def __init__(self, table: Path, key: tuple[str, ...]) -> None:
        self.key = key
        self.days = sorted(table.glob("dt=*"))[-DAYS_DRAWN:]

    def of(self, key: dict[str, Any], figure: str) -> list[float]:
        """The figure of one key, window by window."""
        points: list[tuple[Any, float | None]] = []
        where = [(name, "=", value) for name, value in key.items()]
        for day in self.days:
            table = read_table(
                day, columns=["window_start", figure], filters=where, partitioning=None
            )
            rows = table.to_pylist()
            points += [(row["window_start"], row[figure]) for row in rows]
        return [float(value) for _, value in sorted(points) if value is not None]
