"""A directory of Delta tables, and the runs that change all of them at once.

    history/
      kedge-pipeline.json       marker: the format of this directory
      runs/                     one row per run: the version of every table after it
      silver/, gold/rollup/ …   a Delta table each
      accounts.json, gold/snapshot/   made of the tables of the last run

A run writes its files beside those of the tables, commits each table, and at last a row in `runs`:
only that makes the run visible, all tables at once. Two runs cannot both follow the same run: the
second one is refused, and can be repeated. What a killed run has committed to single tables no
reader sees, since readers take the versions of the last row; the next run starts from them too.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import orjson

from kedge.errors import InvalidRequest, OutputNotOurs
from kedge.pipeline.manifest import Manifest
from kedge.pipeline.tables.delta_log import conflict
from kedge.pipeline.tables.location import Location
from kedge.pipeline.tables.runs import Run, append_run, find_run, last_run, now
from kedge.pipeline.tables.staged_run import StagedRun
from kedge.pipeline.tables.vacuum import optimise

MARKER: Final = "kedge-pipeline.json"
FORMAT: Final = "kedge.pipeline/2"
FORMER_FORMAT: Final = "kedge.pipeline/1"
ACCOUNTS: Final = "accounts.json"

Place = str | Path | Location


class Warehouse:
    """The directory, opened for writing by `open_warehouse`."""

    def __init__(self, location: Location, run_id: str) -> None:
        self.location = location
        self.run_id = run_id
        self.last, self._version = last_run(location)

    @property
    def manifest(self) -> Manifest:
        """The manifest of the last run."""
        return Manifest() if self.last is None else self.last.manifest

    @property
    def next_number(self) -> int:
        """The number of the next run."""
        return 1 if self.last is None else self.last.number + 1

    def refresh(self) -> None:
        """Continue after the last run, which may be another process's."""
        self.last, self._version = last_run(self.location)

    @contextmanager
    def stage(self, run_id: str = "") -> Generator[StagedRun]:
        """A new run; its scratch files are deleted at the end of the block."""
        staged = StagedRun(self.location, run_id or self.run_id, self.last)
        try:
            yield staged
        finally:
            with suppress(Exception):  # a lost connection must not hide why the run failed
                staged.close()

    def publish(
        self,
        staged: StagedRun,
        manifest: Manifest,
        kind: str = "ingest",
        *,
        optimised: bool = False,
    ) -> Run:
        """Commit the run: the changed tables, then its row; all of it or nothing is visible.

        With `optimised`, the small files of all tables are merged before.
        """
        if last_run(self.location)[1] != self._version:
            raise conflict(self.location)
        versions = staged.commit_tables(every=optimised)
        if optimised:
            merged = {name: optimise(self.location, name, at) for name, at in versions.items()}
            versions = merged
        run = Run(
            number=self.next_number,
            run_id=staged.run_id,
            kind=kind,
            finished_at=now(),
            rows_read=staged.rows_read,
            rows_written=staged.rows_written,
            versions=versions,
            manifest=manifest,
        )
        append_run(self.location, run, self._version)
        self.refresh()
        return run


@contextmanager
def open_warehouse(place: Place, run_id: str) -> Generator[Warehouse]:
    """Open the directory; create it if it does not exist."""
    location = Location.of(place)
    check_warehouse(location)
    if not location.exists(MARKER):
        location.write(MARKER, orjson.dumps({"format": FORMAT}))
    yield Warehouse(location, run_id)


def published_run(place: Place, run_id: str = "") -> Run:
    """The last run, or the one with this id or number; InvalidRequest if there is none."""
    location = Location.of(place)
    if _format_of(location) is None:
        location.names()  # a bucket that does not exist is reported as such
        hint = "use the --tables of `kedge pipeline ingest`"
        raise InvalidRequest(f"{place}: not a directory of pipeline tables", hint=hint)
    _check_format(location)
    run = find_run(location, run_id) if run_id else last_run(location)[0]
    if run is None and run_id:
        hint = "`kedge pipeline runs` lists them"
        raise InvalidRequest(f"{place}: no run {run_id}", hint=hint)
    if run is None:
        raise InvalidRequest(
            f"{place}: no run has finished yet", hint="run `kedge pipeline ingest`"
        )
    return run


def check_warehouse(place: Place) -> None:
    """Refuse a directory that has other content, or tables of another format."""
    location = Location.of(place)
    if location.is_local and location.path.exists() and not location.path.is_dir():
        raise OutputNotOurs(f"{location}: is a file", hint="--tables is a directory")
    names = location.names()
    if names and MARKER not in names:
        hint = "use a new or empty directory"
        raise OutputNotOurs(f"{location}: the directory has other content", hint=hint)
    if MARKER in names:
        _check_format(location)


def _check_format(location: Location) -> None:
    found = _format_of(location)
    if found == FORMER_FORMAT:
        hint = "copy them to new tables with `kedge pipeline migrate OLD NEW`"
        raise OutputNotOurs(f"{location}: tables of the former layout", hint=hint)
    if found != FORMAT:
        raise OutputNotOurs(f"{location}: written in another format than {FORMAT}")


def _format_of(location: Location) -> object:
    """The format that the marker names; None without a marker, empty if it is damaged."""
    data = location.read(MARKER)
    if data is None:
        return None
    with suppress(orjson.JSONDecodeError, KeyError, TypeError):
        document: Any = orjson.loads(data)
        return document["format"]
    return ""
