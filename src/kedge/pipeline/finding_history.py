"""Keeps `gold/finding_history`: since when each finding is there, and its value the run before.

Unlike the other tables it depends on how the input was split into runs: that is what it is about.
The job that writes `gold/findings` calls `record_findings` afterwards.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from kedge.analytics.findings import Finding, Remembered, remembered
from kedge.model.arrow import Table, arrow, compute
from kedge.pipeline.tables.staged_run import StagedRun

TABLE = "gold/finding_history"
FINDINGS = "gold/findings"
WINDOWS = "gold/window_load"


def record_findings(staged: StagedRun) -> None:
    """Write the history after the findings of this run."""
    found = findings_of(staged.read(FINDINGS))
    now = _last_window(staged.read(WINDOWS, ["window_start"])) or datetime.fromtimestamp(0, UTC)
    before = history_of(staged.read(TABLE)) if staged.has(TABLE) else []
    staged.write_arrow(TABLE, _table_of(remembered(before, found, now)))


def _last_window(windows: Table) -> datetime | None:
    last: datetime | None = compute().max(windows.column("window_start")).as_py()
    return None if last is None else last.replace(tzinfo=UTC)


def findings_of(table: Table) -> list[Finding]:
    """The rows of `gold/findings`."""
    return [Finding(**row) for row in table.to_pylist()]


def history_of(table: Table) -> list[Remembered]:
    """The rows of `gold/finding_history`."""
    return [
        Remembered(
            Finding(**{name: row[name] for name in _FINDING}),
            row["first_seen"].replace(tzinfo=UTC),
            row["previous"],
            row["gone"],
        )
        for row in table.to_pylist()
    ]


_FINDING = ("kind", "cluster", "broker", "topic", "partition", "value", "threshold", "why")


def _table_of(rows: list[Remembered]) -> Table:
    pa = arrow()
    types: dict[str, Any] = {
        **{name: pa.string() for name in ("kind", "cluster", "topic", "why")},
        **{name: pa.int32() for name in ("broker", "partition")},
        **{name: pa.float64() for name in ("value", "threshold", "previous")},
        "first_seen": pa.timestamp("us", tz="UTC"),
        "gone": pa.bool_(),
    }
    names = (*_FINDING, "first_seen", "previous", "gone")
    records = [
        {
            **{name: getattr(one.finding, name) for name in _FINDING},
            "first_seen": one.first_seen,
            "previous": one.previous,
            "gone": one.gone,
        }
        for one in rows
    ]
    return pa.Table.from_pylist(records, schema=pa.schema([(name, types[name]) for name in names]))
