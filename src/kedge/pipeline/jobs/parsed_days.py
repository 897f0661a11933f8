"""What a run has parsed: days of measurements, and moving them beside those of earlier runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

from kedge.files import read_table
from kedge.pipeline import sinks


@dataclass(frozen=True, slots=True)
class ParsedDays:
    """The days of topics, whether anything was found, and unparsed texts and ignored names."""

    days: tuple[str, ...]
    found: bool
    unparsed: int
    ignored: Mapping[str, int]

    @staticmethod
    def of(parsed: Path) -> ParsedDays:
        """Read it from what was written."""
        days = sorted(part.name.removeprefix("dt=") for part in parsed.glob("level=topics/dt=*"))
        ignored: dict[str, int] = {}
        if (parsed / "level=ignored").is_dir():
            for row in read_table(parsed / "level=ignored").to_pylist():
                ignored[row["series"]] = ignored.get(row["series"], 0) + int(row["value"])
        unparsed = sinks.count_rows(parsed / "level=unparsed")
        ranked = sorted(ignored.items(), key=lambda item: (-item[1], item[0]))
        found = bool(days or unparsed or (parsed / "level=brokers").is_dir())
        return ParsedDays(tuple(days), found, unparsed, dict(ranked))

    @property
    def hint(self) -> str:
        """What to do if nothing was found."""
        if not self.ignored:
            return "the range of time may be empty"
        names = ", ".join(list(self.ignored)[:3])
        return f"they have {names}; --mapping names the series of other exporter rules"


def add_days(source: Path, target: Path) -> None:
    """Move the files of each day beside those of earlier runs."""
    for day in sorted(source.glob("dt=*")):
        directory = target / day.name
        directory.mkdir(parents=True, exist_ok=True)
        for file in sorted(day.glob("*.parquet")):
            file.rename(directory / file.name)


def with_neighbours(days: Sequence[str], topics: Path) -> list[str]:
    """The days, and the days beside them that have measurements: they share an interval."""
    near = {shifted(day, by) for day in days for by in (-1, 0, 1)}
    return sorted(day for day in near if (topics / f"dt={day}").is_dir())


def shifted(day: str, by: int) -> str:
    """The day so many days later."""
    return (date.fromisoformat(day) + timedelta(days=by)).isoformat()
