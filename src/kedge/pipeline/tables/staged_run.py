"""A run that is being made: the tables as they were, and the files that it adds and removes.

Files are written to a directory of their table that only this run uses. No reader sees them before
the run is committed; those of a killed run stay unseen, and `compact` deletes them.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from kedge.errors import MalformedInput
from kedge.files import parquet
from kedge.model.arrow import Table, arrow
from kedge.pipeline.tables.data_files import DataFile, data_file, written_files
from kedge.pipeline.tables.delta_log import (
    TableChange,
    commit,
    files_of,
    open_version,
    paths_of,
    restored,
)
from kedge.pipeline.tables.location import Location
from kedge.pipeline.tables.runs import Run

DAY: Final = "dt"
ARRIVAL: Final = "arrival_dt"  # the day on which the last row of a run arrived
BY_ARRIVAL: Final = ("bronze", "late", "quarantine")
BY_DAY: Final = (
    *("silver", "gold/rollup", "gold/partition_course", "gold/broker_course"),
    *("measurements/topics", "measurements/brokers"),
)
SCRATCH: Final = "_scratch"
NAMES: Final = ("cluster", "topic")  # texts that repeat in most rows


def partition_columns(table: str) -> tuple[str, ...]:
    """The columns that a table is partitioned by."""
    if table in BY_ARRIVAL:
        return (ARRIVAL,)
    return (DAY,) if table in BY_DAY else ()


class StagedRun:
    """The tables of the run before with the changes of this one."""

    def __init__(self, location: Location, run_id: str, base: Run | None) -> None:
        self.location = location
        self.run_id = run_id
        self.base = base
        self.changes: dict[str, TableChange] = {}
        self.rows_read = 0  # of tables, to merge with
        self._before: dict[str, list[DataFile]] = {}

    # ---- reading --------------------------------------------------------------------------------

    @property
    def versions(self) -> Mapping[str, int]:
        """The version of each table before this run."""
        return {} if self.base is None else self.base.versions

    def has(self, table: str) -> bool:
        """Whether the table exists, in the run before or in this one."""
        return table in self.versions or table in self.changes

    def files_before(self, table: str) -> list[DataFile]:
        """The files of a table before this run."""
        if table not in self._before:
            version = self.versions.get(table)
            opened = None if version is None else open_version(self.location, table, version)
            self._before[table] = [] if opened is None else files_of(opened)
        return self._before[table]

    def files(self, table: str, days: Collection[str] | None = None) -> list[DataFile]:
        """The files of a table as this run leaves it; of some days if it is kept by day."""
        change = self.changes.get(table, TableChange(""))
        removed = {one.path for one in change.removed}
        kept = [one for one in self.files_before(table) if one.path not in removed]
        found = [*kept, *change.added]
        return found if days is None else [one for one in found if one.partition.get(DAY) in days]

    def paths(self, table: str, days: Collection[str] | None = None) -> list[str]:
        """The absolute paths or URIs of these files, for Spark."""
        return paths_of(self.location, table, self.files(table, days))

    def days(self, table: str) -> list[str]:
        """The days of a table, ascending."""
        return sorted({one.partition.get(DAY) or "" for one in self.files(table)})

    def read(self, table: str, columns: Sequence[str] | None = None) -> Table:
        """The rows of a table with Arrow."""
        return read_files(self.location, table, self.files(table), columns)

    def read_rows(
        self,
        table: str,
        columns: Sequence[str] | None = None,
        days: Collection[str] | None = None,
    ) -> Table:
        """Rows of a table to compute with; names are dictionary-encoded, and the rows counted."""
        files = self.files(table, days)
        self.rows_read += sum(one.rows for one in files)
        schema = arrow_schema_of(self.schema(table))
        if files:
            encoded = [name for name in NAMES if name in schema.names]
            return read_files(self.location, table, files, columns, encoded=encoded)
        names = [name for name in schema.names if name not in partition_columns(table)]
        return schema.empty_table().select(names if columns is None else list(columns))

    # ---- writing --------------------------------------------------------------------------------

    def new_directory(self) -> str:
        """A name for a directory of files, of this write alone: a repeated run has its id again."""
        return f"{self.run_id}-{secrets.token_hex(4)}"

    def target(self, table: str, directory: str) -> str:
        """The absolute path or URI of a directory that this run writes to."""
        return self.location.child(f"{table}/{directory}")

    def scratch(self, name: str) -> Location:
        """A directory for files that no table needs; it goes with the run."""
        return Location(self.location.child(f"{SCRATCH}/{self.run_id}/{name}"))

    def written(self, table: str, directory: str) -> list[DataFile]:
        """The files in a directory that this run has written."""
        return written_files(self.location, table, directory, partition_columns(table))

    def append(self, table: str, files: Sequence[DataFile], schema: str) -> None:
        """Add files to a table."""
        change = self.changes.setdefault(table, TableChange(schema, partition_columns(table)))
        change.schema = schema
        change.added += files

    def replace(
        self,
        table: str,
        files: Sequence[DataFile],
        schema: str,
        days: Collection[str] | None = None,
    ) -> None:
        """Replace the files of a table, or of some of its days."""
        self.remove(table, self.files(table, days), schema)
        self.append(table, files, schema)

    def remove(self, table: str, files: Sequence[DataFile], schema: str = "") -> None:
        """Remove files of a table; without a schema, its columns stay."""
        found = schema or self.schema(table)
        change = self.changes.setdefault(table, TableChange(found, partition_columns(table)))
        gone, added = {one.path for one in files}, {one.path for one in change.added}
        change.added = [one for one in change.added if one.path not in gone]
        change.removed += [one for one in files if one.path not in added]

    def write_arrow(self, table: str, rows: Table, day: str | None = None) -> None:
        """Replace a table, or one of its days, by rows."""
        directory = self.new_directory()
        at = f"{table}/{directory}" + (f"/{DAY}={day}" if day else "") + "/part-0.parquet"
        with self.location.errors(table), self.location.open_output(at) as stream:
            parquet().write_table(rows, stream, compression="zstd")
        info = self.location.files.get_file_info([at])[0]
        file = data_file(self.location, table, info, partition_columns(table))
        self.replace(table, [file], delta_schema(rows.schema, table), [day] if day else None)

    def schema(self, table: str) -> str:
        """The columns of a table as JSON."""
        if table in self.changes:
            return self.changes[table].schema
        return open_version(self.location, table, self.versions[table]).schema().to_json()

    # ---- the end --------------------------------------------------------------------------------

    def commit_tables(self, *, every: bool = False) -> dict[str, int]:
        """Commit the changed tables; return the versions of all.

        With `every`, the other ones too are brought back to their version if a killed run has left
        a newer one.
        """
        note = {"run_id": self.run_id}
        versions = dict(self.versions)
        for table, change in self.changes.items():
            if change.added or change.removed or table not in versions:
                base = versions.get(table)
                versions[table] = commit(self.location, table, base, change, note)
        for table in versions.keys() - self.changes.keys() if every else ():
            versions[table] = restored(self.location, table, versions[table], note)
        return versions

    @property
    def rows_written(self) -> int:
        """The rows of all files that this run adds."""
        return sum(one.rows for change in self.changes.values() for one in change.added)

    def close(self) -> None:
        """Delete the scratch files of this run."""
        self.location.delete(f"{SCRATCH}/{self.run_id}")


def read_files(
    location: Location,
    table: str,
    files: Sequence[DataFile],
    columns: Sequence[str] | None = None,
    *,
    encoded: Sequence[str] = (),
) -> Table:
    """Rows of Parquet files of a table; those without a column have null there."""
    pa, found = arrow(), list[Table]()
    for one in files:
        path = f"{table}/{one.path}"
        try:
            with location.errors(path):
                read = (
                    parquet()
                    .ParquetFile(path, filesystem=location.files, read_dictionary=list(encoded))
                    .read(columns=None if columns is None else list(columns))
                )
        except pa.ArrowException as error:
            raise MalformedInput(
                "a file of the table is damaged", place=location.child(path)
            ) from error
        found.append(read)
    return pa.concat_tables(found, promote_options="default") if found else pa.table({})


def delta_schema(schema: Any, table: str = "") -> str:
    """An Arrow schema as JSON for Delta, with the columns that the table is partitioned by."""
    from deltalake import Schema

    pa = arrow()
    for name in partition_columns(table):
        if name not in schema.names:
            schema = schema.append(pa.field(name, pa.string()))
    return Schema.from_arrow(schema).to_json()


def arrow_schema_of(schema: str) -> Any:
    """The Arrow schema of columns as JSON for Delta."""
    from deltalake import Schema

    return arrow().schema(Schema.from_json(schema).to_arrow())
