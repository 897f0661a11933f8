"""What a version of the tables is made of: the contents ingested, and the counts of their rows."""

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
    """Where every row that was ever read has gone."""

    rows_read: int = 0
    kept: int = 0
    duplicates: int = 0
    superseded: int = 0
    late: int = 0
    quarantined: int = 0
    quarantined_by_reason: Mapping[str, int] = field(default_factory=dict[str, int])

    def check(self) -> None:
        """AccountsOpen unless every row is somewhere."""
        found = self.kept + self.duplicates + self.superseded + self.late + self.quarantined
        by_reason = sum(self.quarantined_by_reason.values())
        if self.rows_read != found or self.quarantined != by_reason:
            parts = (
                f"{self.kept} kept, {self.duplicates} duplicates, {self.superseded} superseded, "
                f"{self.late} late, {self.quarantined} quarantined ({by_reason} by reason)"
            )
            what = f"the accounts do not close: {self.rows_read} rows read, {parts}"
            raise AccountsOpen(what, hint="nothing was written; please report this")

    def to_json(self) -> bytes:
        """The text of `accounts.json`."""
        return orjson.dumps(asdict(self), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


@dataclass(frozen=True, slots=True)
class Day:
    """The rows of one day of silver, and of how many rows of theirs they are copies."""

    rows: int = 0
    copies: int = 0

    def __add__(self, other: Day) -> Day:
        return Day(self.rows + other.rows, self.copies + other.copies)


@dataclass(frozen=True, slots=True)
class Settings:
    """What every run on one directory must agree on."""

    allowed_lateness_s: int = 1800
    future_tolerance_s: int = 300
    window_s: int = 300
    interval_s: int = 60

    def check_same(self, before: Settings) -> None:
        """Refuse to mix rows that were judged by different rules."""
        for name, value in asdict(self).items():
            was = getattr(before, name)
            if value != was:
                what = f"{name.removesuffix('_s').replace('_', ' ')} of {value} s"
                hint = "use the same, or another --output"
                raise InvalidRequest(f"{what}, but the tables were made with {was} s", hint=hint)


@dataclass(frozen=True, slots=True)
class Manifest:
    """The state of the tables, complete: the next run needs nothing else.

    `contents` maps the hash of each ingested file to its path; `streams` maps the checkpoint of a
    stream to the last batch of it that is in the tables; `retired` is what retention has removed.
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
        """The accounts of all runs together."""
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

    def plus(
        self,
        *,
        rows_read: int,
        superseded: int,
        late: int,
        by_reason: Mapping[str, int],
        days: Mapping[str, Day],
    ) -> Manifest:
        """With the rows of one more batch; `days` are those whose silver it rewrote."""
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
        """The text of the manifest."""
        return orjson.dumps(asdict(self), option=orjson.OPT_INDENT_2)


def read_manifest(version: Path) -> Manifest:
    """The manifest of a version."""
    path = version / MANIFEST
    data = read_bytes(path)
    with with_path_context(path):
        return parse_manifest(data)


def parse_manifest(data: bytes) -> Manifest:
    """The manifest that `Manifest.to_json` wrote."""
    try:
        found: Any = orjson.loads(data)
        settings = Settings(**_all(int, found["settings"]))
        if min(settings.interval_s, settings.window_s) < 1:
            raise ValueError("an interval of no length")
        return Manifest(
            run_id=_one(str, found["run_id"]),
            settings=settings,
            contents=_all(str, found.get("contents", {})),
            streams=_all(int, found.get("streams", {})),
            days={day: Day(**_all(int, counts)) for day, counts in found["days"].items()},
            retired=Day(**_all(int, found["retired"])),
            rows_read=_one(int, found["rows_read"]),
            superseded=_one(int, found["superseded"]),
            late=_one(int, found["late"]),
            quarantined_by_reason=_all(int, found["quarantined_by_reason"]),
        )
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        hint = "ingest into a new directory"
        raise MalformedInput("the manifest is damaged", hint=hint) from error


def _one(kind: type[Kind], found: Any) -> Kind:
    if type(found) is not kind:
        raise TypeError(f"{found!r} is no {kind.__name__}")
    return found


def _all(kind: type[Kind], found: Any) -> dict[str, Kind]:
    return {name: _one(kind, value) for name, value in found.items()}
