"""The table `runs`: one row per run, with the version of every table. Its commit is the run's.

A reader takes the versions of the last row and sees the tables of exactly one run, whatever other
runs have committed to single tables since. `state` is the manifest as JSON: all that the next run
needs to know.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import import_module
from typing import Any, Final

from kedge.files import with_path_context
from kedge.model.arrow import arrow
from kedge.pipeline.manifest import Manifest, parse_manifest
from kedge.pipeline.tables.delta_log import (
    CONFIGURATION,
    commit_error,
    conflict,
    open_version,
    strict,
)
from kedge.pipeline.tables.location import Location

RUNS: Final = "runs"
APPLICATION: Final = "kedge.pipeline"  # of Delta's transactions: the last one is the last run
COLUMNS: Final = (
    "number",
    "run_id",
    "kind",
    "finished_at",
    "rows_read",
    "rows_written",
    "versions",
)


@dataclass(frozen=True, slots=True)
class Run:
    """A run that has finished: its number from 1, and the version of each table after it."""

    number: int
    run_id: str
    kind: str  # ingest, stream, compact, migrate
    finished_at: datetime
    rows_read: int  # from the source, and of earlier runs to merge with
    rows_written: int
    versions: Mapping[str, int]
    manifest: Manifest


def all_runs(location: Location) -> list[dict[str, Any]]:
    """The runs, oldest first, without their state."""
    opened = open_version(location, RUNS)
    if opened is None:
        return []
    rows = opened.to_pyarrow_table(columns=list(COLUMNS)).sort_by("number").to_pylist()
    return [{**row, "versions": dict(row["versions"])} for row in rows]


def last_run(location: Location) -> tuple[Run | None, int | None]:
    """The last run, and the version of the table `runs`."""
    opened = open_version(location, RUNS)
    if opened is None:
        return None, None
    return _run(location, opened, _last_number(opened)), int(opened.version())


def find_run(location: Location, run_id: str) -> Run | None:
    """The run with this id or number."""
    for row in reversed(all_runs(location)):
        if run_id in (row["run_id"], str(row["number"])):
            return _run(location, open_version(location, RUNS), row["number"])
    return None


def _last_number(opened: Any) -> int:
    numbers = arrow().table(opened.get_add_actions(flatten=True)).column("max.number").to_pylist()
    return max(number for number in numbers if number is not None)


def _run(location: Location, opened: Any, number: int) -> Run:
    with location.errors(RUNS):
        found = opened.to_pyarrow_table(filters=[("number", "=", number)]).to_pylist()
    row: dict[str, Any] = found[0]
    with with_path_context(location.child(RUNS)):
        manifest = parse_manifest(row.pop("state").encode())
    row["versions"] = dict(row["versions"])
    return Run(**row, manifest=manifest)


def append_run(location: Location, run: Run, after: int | None) -> None:
    """Commit a run after the given version of `runs`; refused if another run was faster."""
    delta: Any = import_module("deltalake")
    errors: Any = import_module("deltalake.exceptions")
    note = {"run_id": run.run_id, "kind": run.kind}
    properties = strict(note, {APPLICATION: run.number, **run.manifest.streams})
    try:
        with location.errors(RUNS):
            if after is None:
                delta.write_deltalake(
                    location.child(RUNS),
                    _row(run),
                    mode="error",
                    configuration=CONFIGURATION,
                    storage_options=location.options,
                    commit_properties=properties,
                )
                return
            opened = open_version(location, RUNS)
            if opened is None or opened.version() != after:
                raise conflict(location)
            delta.write_deltalake(opened, _row(run), mode="append", commit_properties=properties)
    except errors.DeltaError as error:
        raise commit_error(location, error) from error


def _row(run: Run) -> Any:
    pa = arrow()
    schema = pa.schema(
        [
            ("number", pa.int64()),
            ("run_id", pa.string()),
            ("kind", pa.string()),
            ("finished_at", pa.timestamp("us", tz="UTC")),
            ("rows_read", pa.int64()),
            ("rows_written", pa.int64()),
            ("versions", pa.map_(pa.string(), pa.int64())),
            ("state", pa.string()),
        ]
    )
    row = {name: getattr(run, name) for name in COLUMNS}
    row |= {"versions": sorted(run.versions.items()), "state": run.manifest.to_json().decode()}
    return pa.Table.from_pylist([row], schema=schema)


def now() -> datetime:
    """The present moment, in whole microseconds as Delta keeps it."""
    return datetime.now(UTC)
