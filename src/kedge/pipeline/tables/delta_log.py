"""Versions of Delta tables: opens one, lists its files, and commits the next one.

The data files are written by Spark or Arrow; delta-rs adds them to the log. A commit is strict: it
succeeds only as the successor of the version that it was made for, so it never includes what
another writer has committed meanwhile.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Final

import orjson

from kedge.errors import KedgeError, MalformedInput, OutputInUse, Unavailable
from kedge.model.arrow import arrow
from kedge.pipeline.tables.data_files import DataFile
from kedge.pipeline.tables.evolution import add_columns
from kedge.pipeline.tables.location import Location
from kedge.pipeline.tables.store_errors import any_error, error_line, store_error

LOG: Final = "_delta_log"
# Runs pin versions: a version is readable as long as the runs that pin it are kept.
CONFIGURATION: Final = {"delta.logRetentionDuration": "interval 3650 days"}


@dataclass(slots=True)
class TableChange:
    """What a run changes in a table: its columns, the files it adds and those it removes."""

    schema: str  # as JSON; the same for Delta and for Spark
    by: tuple[str, ...] = ()
    added: list[DataFile] = field(default_factory=list[DataFile])
    removed: list[DataFile] = field(default_factory=list[DataFile])


def open_version(location: Location, table: str, version: int | None = None) -> Any:
    """A table at a version, or at its newest; None if it does not exist."""
    delta: Any = import_module("deltalake")
    errors: Any = import_module("deltalake.exceptions")
    try:
        with location.errors(table):
            return delta.DeltaTable(
                location.child(table), version=version, storage_options=location.options
            )
    except errors.TableNotFoundError:
        return None
    except (errors.DeltaError, ValueError) as error:
        raise _damaged(location, table, error) from error


def _damaged(location: Location, table: str, error: Exception) -> KedgeError:
    """The error of a table that does not open; it names the damaged entry of its log."""
    names = [name for name in location.names(f"{table}/{LOG}") if name.endswith(".json")]
    for name in reversed(names):
        try:
            for line in (location.read(f"{table}/{LOG}/{name}") or b"").splitlines():
                orjson.loads(line)
        except orjson.JSONDecodeError:
            last = name == names[-1]
            hint = "remove it to return to the run before" if last else "restore it from a copy"
            place = location.child(f"{table}/{LOG}/{name}")
            return MalformedInput("the entry of the log is damaged", place=place, hint=hint)
    return any_error(location.child(table), error)


def files_of(table: Any) -> list[DataFile]:
    """The files of an open table, sorted by path."""
    rows = arrow().table(table.get_add_actions(flatten=True)).to_pylist()
    found = [
        DataFile(
            row["path"],
            row["size_bytes"],
            row["num_records"] or 0,
            {
                name.removeprefix("partition."): None if value is None else str(value)
                for name, value in row.items()
                if name.startswith("partition.")
            },
            row["modification_time"],
        )
        for row in rows
    ]
    return sorted(found, key=lambda one: one.path)


def commit(
    location: Location,
    table: str,
    base: int | None,
    change: TableChange,
    note: Mapping[str, Any],
) -> int:
    """Commit a change of the version `base` (None: of no table); return the new version.

    If the newest version is another one, a run that never finished has left it: the table first
    returns to `base`. If another writer is faster, the change is refused.
    """
    errors: Any = import_module("deltalake.exceptions")
    try:
        with location.errors(table):
            return _commit(location, table, base, change, note)
    except errors.DeltaError as error:
        raise commit_error(location, error) from error


def _commit(
    location: Location, table: str, base: int | None, change: TableChange, note: Mapping[str, Any]
) -> int:
    delta: Any = import_module("deltalake")
    transaction: Any = import_module("deltalake.transaction")
    schema, added = delta.Schema.from_json(change.schema), [_add(one) for one in change.added]
    opened = open_version(location, table)
    if opened is None:
        transaction.create_table_with_add_actions(
            location.child(table),
            schema,
            added,
            mode="error",
            partition_by=list(change.by),
            configuration=CONFIGURATION,
            storage_options=location.options,
            commit_properties=strict(note),
        )
        return 0
    if base is not None:
        _restore(opened, base, note)
        add_columns(opened, location.child(table), schema, strict(note))
    mode = "append" if base is not None else "overwrite"
    removed = [_remove(one) for one in change.removed]
    opened.create_write_transaction(
        [*added, *removed], mode, schema, list(change.by), commit_properties=strict(note)
    )
    return int(opened.version()) + 1


def restored(location: Location, table: str, version: int, note: Mapping[str, Any]) -> int:
    """Make a version the newest one again if it is not; return the version that has its rows."""
    errors: Any = import_module("deltalake.exceptions")
    opened = open_version(location, table)
    try:
        with location.errors(table):
            _restore(opened, version, note)
    except errors.DeltaError as error:
        raise commit_error(location, error) from error
    return int(opened.version())


def _restore(opened: Any, version: int, note: Mapping[str, Any]) -> None:
    if opened.version() != version:
        opened.restore(version, commit_properties=strict(note))
        opened.update_incremental()


def strict(note: Mapping[str, Any], transactions: Mapping[str, int] | None = None) -> Any:
    """Properties of a commit that does not give way to others: it succeeds or it fails."""
    delta: Any = import_module("deltalake")
    done = [delta.Transaction(name, number) for name, number in (transactions or {}).items()]
    return delta.CommitProperties(
        custom_metadata={name: str(value) for name, value in note.items()},
        max_commit_retries=0,
        app_transactions=done or None,
    )


def commit_error(location: Location, error: Exception) -> KedgeError:
    """The error of a commit that failed: overtaken by another run, or not possible."""
    text = str(error)
    if "ailed to commit transaction" in text or "already exists" in text:
        return conflict(location)
    found = store_error(str(location), text)
    return found or Unavailable(f"{location}: the commit failed ({error_line(error)})")


def conflict(location: Location) -> OutputInUse:
    """The error of a run that another one has overtaken."""
    what = f"{location}: another run has changed the tables meanwhile"
    return OutputInUse(what, hint="run the command again; nothing of this run is in the tables")


def _add(file: DataFile) -> Any:
    """An entry of the log; of the statistics only the number of rows.

    With minima and maxima of some columns, delta-rs takes those of the others for null, and a
    condition on one of these skips the file.
    """
    transaction: Any = import_module("deltalake.transaction")
    modified = file.modified_ms or int(time.time() * 1000)
    stats = orjson.dumps({"numRecords": file.rows}).decode()
    return transaction.AddAction(file.path, file.bytes, dict(file.partition), modified, True, stats)


def _remove(file: DataFile) -> Any:
    transaction: Any = import_module("deltalake.transaction")
    now = int(time.time() * 1000)
    return transaction.RemoveAction(file.path, True, now, file.bytes, dict(file.partition))


def paths_of(location: Location, table: str, files: Sequence[DataFile]) -> list[str]:
    """The absolute paths or URIs of files."""
    return [location.child(f"{table}/{one.path}") for one in files]
