"""What a run has parsed: days of measurements, and moving them beside those of earlier runs."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any

from kedge.files import parquet
from kedge.pipeline.sources.measurement_writer import (
    BROKERS,
    IGNORED,
    MEASURED,
    TOPICS,
    UNPARSED,
    WARNINGS,
)
from kedge.pipeline.tables.location import Location
from kedge.pipeline.tables.staged_run import SCRATCH, StagedRun


@dataclass(frozen=True, slots=True)
class ParsedDays:
    """The files that were written, by level and day, and texts and names that are no values."""

    # by level; their paths are relative to `parsed`
    files: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    unparsed: int = 0
    ignored: Mapping[str, int] = field(default_factory=dict[str, int])  # most frequent first
    warnings: Mapping[str, int] = field(default_factory=dict[str, int])  # of the source, by text
    brokers: frozenset[int] = frozenset()  # that have told of themselves
    values: int = 0  # of topics

    @staticmethod
    def of(parsed: Location, paths: Sequence[str]) -> ParsedDays:
        """Read it from the files that were written."""
        files: dict[str, list[str]] = {}
        for path in paths:
            files.setdefault(path.partition("/")[0].removeprefix("level="), []).append(path)
        return ParsedDays(
            files,
            len(_rows(parsed, files.get(UNPARSED, ()))),
            _counted(_rows(parsed, files.get(IGNORED, ())), "series"),
            _counted(_rows(parsed, files.get(WARNINGS, ())), "raw"),
            frozenset(int(row["series"]) for row in _rows(parsed, files.get(MEASURED, ()))),
        )

    @property
    def days(self) -> list[str]:
        """The days with measurements of topics."""
        return sorted({_day(path).removeprefix("dt=") for path in self.files.get(TOPICS, ())})

    @property
    def found(self) -> bool:
        """Whether there is any measurement."""
        return any(self.files.get(level) for level in (TOPICS, BROKERS))

    @property
    def hint(self) -> str:
        """What to do if nothing was found."""
        if self.unparsed:
            return "see --source and --input; nothing was changed"
        if not self.ignored:
            return "the range of time may be empty"
        names = ", ".join(list(self.ignored)[:3])
        return f"they have {names}; --mapping names the series of other exporter rules"


def _counted(rows: Sequence[dict[str, Any]], column: str) -> dict[str, int]:
    """The sum of the values of each text, the largest first."""
    counts: dict[str, int] = {}
    for row in rows:
        counts[row[column]] = counts.get(row[column], 0) + int(row["value"])
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def _day(path: str) -> str:
    return path.split("/")[-2]


def _rows(parsed: Location, paths: Sequence[str]) -> list[dict[str, Any]]:
    """The rows of a level that has few of them."""
    tables = [parquet().ParquetFile(path, filesystem=parsed.files).read() for path in paths]
    return [row for table in tables for row in table.to_pylist()]


def add_days(staged: StagedRun, scratch: str, paths: Sequence[str], table: str, schema: str) -> int:
    """Move files of a scratch directory to a table that is kept by day; return their rows."""
    directory = staged.new_directory()
    for path in paths:
        target = f"{table}/{directory}/{_day(path)}/{path.rpartition('/')[2]}"
        staged.location.move(f"{SCRATCH}/{staged.run_id}/{scratch}/{path}", target)
    written = staged.written(table, directory)
    staged.append(table, written, schema)
    return sum(one.rows for one in written)


def with_neighbours(days: Sequence[str], existing: Collection[str]) -> list[str]:
    """The days, and the days beside them that have measurements: they share an interval."""
    near = {shifted(day, by) for day in days for by in (-1, 0, 1)}
    return sorted(near.intersection(existing))


def shifted(day: str, by: int) -> str:
    """The day so many days later."""
    return (date.fromisoformat(day) + timedelta(days=by)).isoformat()
