"""The manifest of a version of the tables: ingested files, stream positions and row counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import orjson

from kedge.errors import AccountsOpen, InvalidRequest, MalformedInput
from kedge.files import read_bytes, with_path_context

MANIFEST = "manifest.json"

Kind = TypeVar("Kind")


@dataclass(frozen=True, slots=True)
class Accounts:
    """How many rows were read in all runs, and how many went to each table."""

    rows_read: int = 0
    kept: int = 0
    duplicates: int = 0
    superseded: int = 0
    late: int = 0
    quarantined: int = 0
    quarantined_by_reason: Mapping[str, int] = field(default_factory=dict[str, int])

    def check(self) -> None:
        """AccountsOpen unless the counts add up to the rows read."""
        found = self.kept + self.duplicates + self.superseded + self.late + self.quarantined
        by_reason = sum(self.quarantined_by_reason.values())
        if self.rows_read != found or self.quarantined != by_reason:
            parts = (
                f"{self.kept} kept, {self.duplicates} duplicates, {self.superseded} superseded, "
                f"{self.late} late, {self.quarantined} quarantined ({by_reason} by reason)"
            )
            what = f"the row counts do not add up: {self.rows_read} rows read, {parts}"
            raise AccountsOpen(what, hint="the tables are unchanged; please report this")

    def to_json(self) -> bytes:
        """The content of `accounts.json`."""
        return orjson.dumps(asdict(self), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


@dataclass(frozen=True, slots=True)
class Day:
    """Rows of one day of silver, and how many ingested rows they stand for (`copies`)."""

    rows: int = 0
    copies: int = 0

    def __add__(self, other: Day) -> Day:
        return Day(self.rows + other.rows, self.copies + other.copies)


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings that all runs on one directory of tables share."""

    allowed_lateness_s: int = 1800
    future_tolerance_s: int = 300
    window_s: int = 300
    interval_s: int = 60

    def check_unchanged(self, before: Settings) -> None:
        """Refuse to mix rows that were validated with different settings."""
        for name, value in asdict(self).items():
            was = getattr(before, name)
            if value != was:
                what = f"{name.removesuffix('_s').replace('_', ' ')} of {value} s"
                hint = "use the same value, or other --tables"
                raise InvalidRequest(f"{what}, but the tables were written with {was} s", hint=hint)


@dataclass(frozen=True, slots=True)
class Manifest:
    """The complete state of the tables: all that the next run needs.

    `contents` maps the SHA-256 of each ingested file to its path; `streams` maps the name of each
    stream to the last batch that is in the tables; `retired` counts what retention removed.
    """

    run_id: str = ""
    settings: Settings = Settings()
    contents: Mapping[str, str] = field(default_factory=dict[str, str])
    streams: Mapping[str, int] = field(default_factory=dict[str, int])
    days: Mapping[str, Day] = field(default_factory=dict[str, Day])
    retired: Day = Day()
    rows_read: int = 0
    superseded: int = 0
    late: int = 0
    quarantined_by_reason: Mapping[str, int] = field(default_factory=dict[str, int])

    @property
    def accounts(self) -> Accounts:
        """The row counts of all runs together."""
        silver = sum(self.days.values(), self.retired)
        return Accounts(
            rows_read=self.rows_read,
            kept=silver.rows,
            duplicates=silver.copies - silver.rows,
            superseded=self.superseded,
            late=self.late,
            quarantined=sum(self.quarantined_by_reason.values()),
            quarantined_by_reason=dict(sorted(self.quarantined_by_reason.items())),
        )

    def with_batch(
        self,
        *,
        rows_read: int,
        superseded: int,
        late: int,
        by_reason: Mapping[str, int],
        days: Mapping[str, Day],
    ) -> Manifest:
        """The manifest after one more batch; `days` are those that it rewrote in silver."""
        reasons = {**self.quarantined_by_reason}
        for reason, count in by_reason.items():
            reasons[reason] = reasons.get(reason, 0) + count
        return replace(
            self,
            rows_read=self.rows_read + rows_read,
            superseded=self.superseded + superseded,
            late=self.late + late,
            quarantined_by_reason=reasons,
            days={**self.days, **days},
        )

    def to_json(self) -> bytes:
        """The content of `manifest.json`."""
        return orjson.dumps(asdict(self), option=orjson.OPT_INDENT_2)


def read_manifest(version: Path) -> Manifest:
    """Read the manifest of a version."""
    path = version / MANIFEST
    data = read_bytes(path)
    with with_path_context(path):
        return parse_manifest(data)


def parse_manifest(data: bytes) -> Manifest:
    """Parse what `Manifest.to_json` wrote."""
    try:
        found: Any = orjson.loads(data)
        settings = Settings(**_checked_values(int, found["settings"]))
        if min(settings.interval_s, settings.window_s) < 1:
            raise ValueError("interval below 1 s")
        return Manifest(
            run_id=_checked(str, found["run_id"]),
            settings=settings,
            contents=_checked_values(str, found.get("contents", {})),
            streams=_checked_values(int, found.get("streams", {})),
            days={
                day: Day(**_checked_values(int, counts)) for day, counts in found["days"].items()
            },
            retired=Day(**_checked_values(int, found["retired"])),
            rows_read=_checked(int, found["rows_read"]),
            superseded=_checked(int, found["superseded"]),
            late=_checked(int, found["late"]),
            quarantined_by_reason=_checked_values(int, found["quarantined_by_reason"]),
        )
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        hint = "ingest into a new directory"
        raise MalformedInput("the manifest is damaged", hint=hint) from error


def _checked(kind: type[Kind], found: Any) -> Kind:
    if type(found) is not kind:
        raise TypeError(f"{found!r} is not of type {kind.__name__}")
    return found


def _checked_values(kind: type[Kind], found: Any) -> dict[str, Kind]:
    return {name: _checked(kind, value) for name, value in found.items()}
