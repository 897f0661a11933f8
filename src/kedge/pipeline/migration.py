"""Copies tables of the former layout into Delta tables: the work of `kedge pipeline migrate`.

The former layout had plain Parquet files below `current/`, a symbolic link to the newest version,
and `manifest.json` beside them. All tables are copied; the former directory stays as it is.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import orjson

from kedge.errors import InvalidRequest
from kedge.files import parquet, read_bytes, with_path_context
from kedge.model.arrow import Table, arrow
from kedge.pipeline.derived_files import write_derived_files
from kedge.pipeline.manifest import Manifest, parse_manifest
from kedge.pipeline.tables.data_files import latest
from kedge.pipeline.tables.staged_run import ARRIVAL, BY_ARRIVAL, BY_DAY, StagedRun, delta_schema
from kedge.pipeline.warehouse import FORMER_FORMAT, MARKER, Place, open_warehouse

ROWS_PER_BATCH: Final = 500_000
SINGLE: Final = {  # table: path of its files below the version
    "reference/brokers": "reference/brokers.parquet",
    "reference/assignment": "reference/assignment.parquet",
    "reference/replicas": "reference/replicas.parquet",
    "measurements/leaders": "measurements/leaders.parquet",
    **{
        f"gold/{name}": f"gold/{name}"
        for name in (
            *("window_load", "broker_load", "partition_load", "findings", "finding_history"),
            "broker_health",
        )
    },
}


@dataclass(frozen=True, slots=True)
class MigrationResult:
    """Tables and rows that were copied."""

    tables: int
    rows: int


def migrate(former: Path, tables: Place, run_id: str) -> MigrationResult:
    """Copy the newest version of the former tables into new ones, as their first run."""
    version, manifest = _former_version(former)
    with open_warehouse(tables, run_id) as warehouse:
        if warehouse.last is not None:
            hint = "migrate into a new directory"
            raise InvalidRequest(f"{warehouse.location}: has runs already", hint=hint)
        with warehouse.stage() as staged:
            for table, path in SINGLE.items():
                _copy_table(staged, table, version / path)
            for table in (*BY_DAY, *BY_ARRIVAL):
                _copy_parts(staged, table, version / table)
            warehouse.publish(staged, replace(manifest, run_id=run_id), "migrate")
        write_derived_files(warehouse)
    return MigrationResult(len(staged.changes), staged.rows_written)


def _former_version(former: Path) -> tuple[Path, Manifest]:
    with with_path_context(former):
        marker: Any = orjson.loads(read_bytes(former / MARKER))
        if not isinstance(marker, dict) or marker.get("format") != FORMER_FORMAT:
            hint = "name a directory that an earlier release of Kedge has written"
            raise InvalidRequest("not tables of the former layout", hint=hint)
        version = Path(os.path.realpath(former / "current"))
        if not version.is_dir():
            raise InvalidRequest("no run has finished there")
        return version, parse_manifest(read_bytes(version / "manifest.json"))


def _copy_table(staged: StagedRun, table: str, path: Path) -> None:
    files = sorted(path.rglob("*.parquet")) if path.is_dir() else [path]
    if not files or not path.exists():
        return
    read = [parquet().ParquetFile(file).read() for file in files]
    staged.write_arrow(table, arrow().concat_tables(read, promote_options="default"))


def _copy_parts(staged: StagedRun, table: str, path: Path) -> None:
    """Copy a table of one directory per day or per run; the id of a run becomes a column."""
    directory, schema = staged.new_directory(), None
    for file in sorted(path.rglob("*.parquet")) if path.is_dir() else ():
        part = file.parent.name
        run_id = part.removeprefix("run_id=") if part.startswith("run_id=") else None
        source = parquet().ParquetFile(file)
        target = f"{table}/{directory}/{part}/{file.name}"
        found = _with_run(source.schema_arrow.empty_table(), run_id).schema
        schema = found if schema is None else _wider(schema, found)
        with (
            staged.location.open_output(target) as stream,
            parquet().ParquetWriter(stream, found, compression="zstd") as writer,
        ):
            for rows in source.iter_batches(ROWS_PER_BATCH):
                writer.write_table(_with_run(arrow().Table.from_batches([rows]), run_id))
    if schema is not None:
        files = staged.written(table, directory)
        if table in BY_ARRIVAL:
            files = [replace(one, partition={ARRIVAL: _arrival(one)}) for one in files]
        staged.append(table, files, delta_schema(schema, table))


def _with_run(rows: Table, run_id: str | None) -> Table:
    """The rows with the id of their run, and times as Delta has them."""
    pa = arrow()
    for number, field in enumerate(rows.schema):
        if pa.types.is_timestamp(field.type):
            utc = rows.column(number).cast(pa.timestamp("us", tz="UTC"), safe=False)
            rows = rows.set_column(number, field.name, utc)
    if run_id is None or "run_id" in rows.column_names:
        return rows
    return rows.append_column("run_id", pa.repeat(pa.scalar(run_id), len(rows)))


def _wider(one: Any, other: Any) -> Any:
    """The columns of both schemas."""
    known = set(one.names)
    for field in other:
        if field.name not in known:
            one = one.append(field)
    return one


def _arrival(file: Any) -> str | None:
    last = latest([file], "ingest_ts")
    return None if last is None else last.date().isoformat()
