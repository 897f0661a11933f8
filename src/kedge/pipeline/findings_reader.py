"""Reads findings, their history and their time series from gold, without Spark."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from kedge.analytics.findings import KINDS, Finding, Remembered
from kedge.pipeline.finding_history import TABLE as HISTORY
from kedge.pipeline.finding_history import findings_of, history_of
from kedge.pipeline.table_reader import Tables, floats_of, integers_of, seconds_of

SERIES_DAYS = 2
SERIES_COLUMN = {"growing": "size", "disk_full_soon": "size", "isr_flapping": "min_isr"}
Series = dict[float, float]  # the value of each window


def read_findings(
    tables: Tables, *, kind: str | None = None, cluster: str | None = None
) -> list[Finding]:
    """The findings of the published tables, the most urgent kinds first."""
    if not tables.has("gold/findings"):
        return []
    found = findings_of(tables.read("gold/findings"))
    return sorted((one for one in found if _is_wanted(one, kind, cluster)), key=_sort_key)


def read_history(
    tables: Tables, *, kind: str | None = None, cluster: str | None = None
) -> list[Remembered] | None:
    """What the runs remember of findings; None if they keep no history."""
    if not tables.has(HISTORY):
        return None
    known = history_of(tables.read(HISTORY))
    return [one for one in known if _is_wanted(one.finding, kind, cluster)]


def _is_wanted(one: Finding, kind: str | None, cluster: str | None) -> bool:
    return kind in (None, one.kind) and cluster in (None, one.cluster)


def _sort_key(finding: Finding) -> tuple[Any, ...]:
    kind = KINDS.index(finding.kind) if finding.kind in KINDS else len(KINDS)
    subject = (finding.broker or 0, finding.topic or "", finding.partition or 0)
    return (kind, -finding.badness, finding.cluster, *subject)


def with_time_series(tables: Tables, found: Iterable[Finding]) -> list[Finding]:
    """The findings, each with the time series of its figure."""
    reader = SeriesReader(tables)
    return [replace(one, course=reader.course([one])) for one in found]


class SeriesReader:
    """The time series of brokers and partitions over the last days; each topic is read once."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables
        self._read: dict[tuple[Any, ...], dict[int, Series]] = {}

    def course(self, found: Iterable[Finding]) -> list[float]:
        """The figure of findings of one kind by window: their sum, or the least ISR."""
        total: Series = {}
        for one in found:
            least = one.kind == "isr_flapping"
            for window, value in self._series(one).items():
                if least:
                    total[window] = min(total.get(window, value), value)
                else:
                    total[window] = total.get(window, 0.0) + value
        return [total[window] for window in sorted(total)]

    def _series(self, one: Finding) -> Series:
        column = SERIES_COLUMN.get(one.kind, "bytes_in")
        if one.topic is None:
            return self._of("broker", one.broker, ("cluster", one.cluster), column=column)
        topic = (("cluster", one.cluster), ("topic", one.topic))
        return self._of("partition", one.partition, *topic, column=column)

    def _of(self, key: str, number: int | None, *where: tuple[str, str], column: str) -> Series:
        read = (key, where, column)
        if read not in self._read:
            self._read[read] = self._windows(f"gold/{key}_course", key, where, column)
        return self._read[read].get(-1 if number is None else number, {})

    def _windows(
        self, table: str, key: str, where: tuple[tuple[str, str], ...], column: str
    ) -> dict[int, Series]:
        found: dict[int, Series] = {}
        conditions = [(name, "=", value) for name, value in where]
        for day in self.tables.days(table)[-SERIES_DAYS:]:
            rows = self.tables.read(table, [key, "window_start", column], where=conditions, day=day)
            numbers, times = integers_of(rows.column(key)), seconds_of(rows.column("window_start"))
            values = floats_of(rows.column(column))
            for place in np.flatnonzero(np.isfinite(values)).tolist():
                series = found.setdefault(int(numbers[place]), {})
                series[float(times[place])] = float(values[place])
        return found
