"""Keeps `gold/finding_history`: since when each finding is there, and its value the run before.

Unlike the other tables it depends on how the input was split into runs: that is what it is about.
The job that writes `gold/findings` calls `record_findings` afterwards.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kedge.analytics.findings import Finding, Remembered, remembered
from kedge.files import parquet, read_table, write_atomically
from kedge.model.arrow import Table, arrow, compute

TABLE = "finding_history"
FILE = "part-00000.parquet"


def record_findings(gold: Path, before: Path | None) -> None:
    """Write the history below a gold directory; `before` is that of the run before."""
    found = findings_of(read_table(gold / "findings"))
    windows = read_table(gold / "window_load", columns=["window_start"])
    last: datetime | None = compute().max(windows.column("window_start")).as_py()
    now = (last or datetime.fromtimestamp(0, UTC)).replace(tzinfo=UTC)
    rows = remembered(_before(before), found, now)
    directory = gold / TABLE
    directory.mkdir(parents=True, exist_ok=True)
    sink = arrow().BufferOutputStream()
    parquet().write_table(_table_of(rows), sink, compression="zstd")
    write_atomically(directory / FILE, sink.getvalue().to_pybytes())


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


def _before(gold: Path | None) -> list[Remembered]:
    """What the run before remembered; its findings alone if it kept no history."""
    if gold is None:
        return []
    if (gold / TABLE).is_dir():
        return history_of(read_table(gold / TABLE))
    if not (gold / "findings").is_dir() or not (gold / "window_load").is_dir():
        return []
    windows = read_table(gold / "window_load", columns=["window_start"])
    last: datetime | None = compute().max(windows.column("window_start")).as_py()
    found = findings_of(read_table(gold / "findings"))
    return [] if last is None else [Remembered(one, last.replace(tzinfo=UTC)) for one in found]


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
