"""Parquet files of a table, with what Delta's log has about each: rows, partition, statistics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

import orjson

from kedge.files import parquet
from kedge.pipeline.tables.location import Location

# With statistics of these, readers skip files. Amounts differ in each row: no reader skips by them.
INDEXED: Final = frozenset(
    {
        *("cluster", "broker", "topic", "partition", "ts", "ingest_ts", "window_start"),
        *("day", "kind", "reason", "ts_ms", "kafka_partition", "kafka_offset", "number"),
    }
)
TEXT_MAX: Final = 200


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file of a table; `path` is relative to the table, `partition` has its day."""

    path: str
    bytes: int
    rows: int
    partition: Mapping[str, str | None] = field(default_factory=dict[str, str | None])
    modified_ms: int = 0
    stats: str = ""


def written_files(
    location: Location, table: str, directory: str, by: Sequence[str]
) -> list[DataFile]:
    """The files that were written to a directory of a table, with statistics of their footers."""
    found: list[DataFile] = []
    for info in location.list(f"{table}/{directory}"):
        name = info.base_name
        if info.is_file and name.endswith(".parquet") and not name.startswith(("_", ".")):
            found.append(data_file(location, table, info, by))
    return sorted(found, key=lambda one: one.path)


def data_file(location: Location, table: str, info: Any, by: Sequence[str]) -> DataFile:
    """A file with its partition, from the names of its directories."""
    path = info.path[info.path.index(f"{table}/") + len(table) + 1 :]
    named = dict(part.split("=", 1) for part in path.split("/")[:-1] if "=" in part)
    with location.errors(info.path):
        metadata: Any = parquet().read_metadata(info.path, filesystem=location.files)
    modified_ms = int((info.mtime_ns or 0) // 1_000_000)
    return DataFile(
        path,
        int(info.size),
        int(metadata.num_rows),
        {name: named.get(name) for name in by},
        modified_ms,
        statistics(metadata),
    )


def statistics(metadata: Any) -> str:
    """Rows, and minimum and maximum of indexed columns, as Delta's log has them."""
    low: dict[str, Any] = {}
    high: dict[str, Any] = {}
    unknown: set[str] = set()
    for group in range(metadata.num_row_groups):
        row_group = metadata.row_group(group)
        for number in range(row_group.num_columns):
            column = row_group.column(number)
            name, found = column.path_in_schema, column.statistics
            if name not in INDEXED or not row_group.num_rows:
                continue
            ends = _ends(found)
            if ends is None:
                unknown.add(name)
                continue
            low[name] = min(low.get(name, ends[0]), ends[0])
            high[name] = max(high.get(name, ends[1]), ends[1])
    known = low.keys() - unknown
    return orjson.dumps(
        {
            "numRecords": metadata.num_rows,
            "minValues": {name: _value(low[name]) for name in sorted(known)},
            "maxValues": {name: _value(high[name]) for name in sorted(known)},
            "nullCount": {},
        }
    ).decode()


def latest(files: Sequence[DataFile], column: str) -> datetime | None:
    """The greatest timestamp of a column, by the statistics; None if a file has none."""
    return _bound(files, column, "maxValues", max)


def earliest(files: Sequence[DataFile], column: str) -> datetime | None:
    """The least timestamp of a column, by the statistics; None if a file has none."""
    return _bound(files, column, "minValues", min)


def _bound(files: Sequence[DataFile], column: str, which: str, choose: Any) -> datetime | None:
    values: list[Any] = []
    for file in files:
        if not file.rows:
            continue
        value = orjson.loads(file.stats or b"{}").get(which, {}).get(column)
        if value is None:
            return None
        values.append(datetime.fromisoformat(value).astimezone(UTC))
    return choose(values) if values else None


def _ends(found: Any) -> tuple[Any, Any] | None:
    """Minimum and maximum of a column; None if they are unknown, too long, or no time at all."""
    if found is None or not found.has_min_max:
        return None
    try:
        ends = found.min, found.max
    except (ValueError, OverflowError):  # a time beyond the years of the calendar
        return None
    too_long = any(isinstance(end, str | bytes) and len(end) > TEXT_MAX for end in ends)
    return None if too_long else ends


def _value(value: Any) -> Any:
    if isinstance(value, datetime):
        utc = value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
        return utc.isoformat(timespec="microseconds").replace("+00:00", "Z")
    return value.decode(errors="replace") if isinstance(value, bytes) else value
