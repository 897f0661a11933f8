"""What a run has parsed: days of measurements, and moving them beside those of earlier runs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from kedge.files import parquet
from kedge.pipeline.tables.location import Location
from kedge.pipeline.tables.staged_run import SCRATCH, StagedRun


@dataclass(frozen=True, slots=True)
class ParsedDays:
    """The days of topics, whether anything was found, and unparsed texts and ignored names."""

    days: tuple[str, ...]
    found: bool
    unparsed: int
    ignored: Mapping[str, int]

    @staticmethod
    def of(parsed: Location) -> ParsedDays:
        """Read it from what was written."""
        levels = parsed.names()
        days = [name.removeprefix("dt=") for name in parsed.names("level=topics")]
        ignored: dict[str, int] = {}
        for row in _rows(parsed, "level=ignored"):
            ignored[row["series"]] = ignored.get(row["series"], 0) + int(row["value"])
        unparsed = len(_rows(parsed, "level=unparsed"))
        ranked = sorted(ignored.items(), key=lambda item: (-item[1], item[0]))
        found = bool(days or "level=brokers" in levels)
        return ParsedDays(tuple(days), found, unparsed, dict(ranked))

    @property
    def hint(self) -> str:
        """What to do if nothing was found."""
        if self.unparsed:
            return "see --source and --input; nothing was changed"
        if not self.ignored:
            return "the range of time may be empty"
        names = ", ".join(list(self.ignored)[:3])
        return f"they have {names}; --mapping names the series of other exporter rules"


def _rows(parsed: Location, level: str) -> list[dict[str, Any]]:
    """The rows of a level that has few of them."""
    files = [info.path for info in parsed.list(level) if info.path.endswith(".parquet")]
    tables = [parquet().ParquetFile(path, filesystem=parsed.files).read() for path in files]
    return [row for table in tables for row in table.to_pylist()]


def add_days(staged: StagedRun, source: str, table: str, schema: str) -> None:
    """Move the files of a scratch directory to a table that is kept by day."""
    directory, location = staged.new_directory(), staged.location
    at = staged.scratch(source)
    for info in at.list(""):
        if info.is_file and info.path.endswith(".parquet"):
            day = next(part for part in info.path.split("/") if part.startswith("dt="))
            target = f"{table}/{directory}/{day}/{info.base_name}"
            location.move(f"{SCRATCH}/{staged.run_id}/{source}/{day}/{info.base_name}", target)
    staged.append(table, staged.written(table, directory), schema)


def with_neighbours(days: Sequence[str], existing: Collection[str]) -> list[str]:
    """The days, and the days beside them that have measurements: they share an interval."""
    near = {shifted(day, by) for day in days for by in (-1, 0, 1)}
    return sorted(near.intersection(existing))


def shifted(day: str, by: int) -> str:
    """The day so many days later."""
    return (date.fromisoformat(day) + timedelta(days=by)).isoformat()
