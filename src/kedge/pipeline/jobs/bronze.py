"""Writes bronze: the rows of a run as they arrived, with their provenance.

Parquet files are copied without Spark; columns with the provenance are added, and columns are cast
to wider types of the table. Later stages read the source files. JSON lines, CSV and Kafka records
are parsed once: bronze stores the columns, and later stages read bronze.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from kedge.files import parquet
from kedge.model.arrow import arrow
from kedge.pipeline import sinks
from kedge.pipeline.schemas import ATTRIBUTION_COLUMNS, BRONZE, RAW_TEXT, SAMPLE_COLUMNS
from kedge.pipeline.sources.file_reader import read_raw_rows
from kedge.pipeline.sources.sample_files import Format, SampleFile, row_batches
from kedge.pipeline.tables.data_files import DataFile, latest
from kedge.pipeline.tables.staged_run import ARRIVAL, StagedRun

ROWS_PER_BATCH = 500_000
TABLE = "bronze"


@dataclass(frozen=True, slots=True)
class BronzeRows:
    """The rows of a batch in bronze: their count, files, and frames with and without provenance.

    `sources` are the files that the rows arrived in, if they are files of samples in Parquet.
    """

    count: int
    files: Sequence[DataFile]
    with_provenance: DataFrame
    without_provenance: DataFrame
    sources: Sequence[SampleFile] = ()


def partition_of(files: Sequence[DataFile]) -> Mapping[str, str | None]:
    """The day on which the last row arrived, by which rows of a run are kept or removed."""
    return files[0].partition if files else {ARRIVAL: None}


WriteBronze = Callable[[StagedRun], BronzeRows]


class ParquetCopy:
    """Copies Parquet files in the background: Spark takes seconds to start, and needs no bronze."""

    def __init__(self, files: Sequence[SampleFile], staged: StagedRun, pool: Executor) -> None:
        self._files = files
        self._directory = staged.new_directory()
        self._done = pool.submit(self._copy_all, staged)

    def _copy_all(self, staged: StagedRun) -> None:
        for file in self._files:
            _copy(file, staged, f"{TABLE}/{self._directory}/{file.sha256[:32]}.parquet")

    def finish(self, staged: StagedRun) -> list[DataFile]:
        """Wait for the copies, and add them to the table."""
        self._done.result()
        return _append(staged, self._directory)

    def writer(self, session: SparkSession) -> WriteBronze:
        """Wait for the copies; the row count is that of the footers of the files."""

        def write(staged: StagedRun) -> BronzeRows:
            written = self.finish(staged)
            frames = (
                read_raw_rows(session, self._files, Format.PARQUET, provenance=p)
                for p in (True, False)
            )
            count = sum(file.rows for file in self._files)
            return BronzeRows(count, written, *frames, sources=self._files)

        return write


def _copy(file: SampleFile, staged: StagedRun, target: str) -> None:
    pa = arrow()
    added = {
        "source": str(Format.PARQUET),
        "file": file.path.uri,
        "run_id": staged.run_id,
    }
    names = [name for name, _ in file.layout]
    schema = sinks.arrow_schema(
        {f.name: f.dataType.simpleString() for f in BRONZE.fields if f.name in (*names, *added)}
    )
    with (
        staged.location.open_output(target) as stream,
        parquet().ParquetWriter(stream, schema, compression="zstd") as writer,
    ):
        for rows in row_batches(file, ROWS_PER_BATCH):
            columns = [_column(rows, field, added) for field in schema]
            writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema))


def _column(rows: Any, field: Any, added: dict[str, str]) -> Any:
    if field.name in added:
        return arrow().repeat(arrow().scalar(added[field.name]), len(rows))
    column = rows.column(field.name)
    # nanoseconds are truncated; integers only become wider
    return column if column.type == field.type else column.cast(field.type, safe=False)


def write_parsed_rows(raw: DataFrame, provenance: Sequence[str]) -> WriteBronze:
    """Write parsed rows, and count them while they are written."""

    def write(staged: StagedRun) -> BronzeRows:
        counted, directory = Observation("read"), staged.new_directory()
        rows = raw.withColumn("run_id", F.lit(staged.run_id))
        rows = rows.observe(counted, F.count(F.lit(1)).alias("rows"))
        sinks.write(rows, staged.target(TABLE, directory))
        written = _append(staged, directory)
        stored = raw.sparkSession.read.schema(raw.schema).parquet(staged.target(TABLE, directory))
        attributed = [name for name in ATTRIBUTION_COLUMNS if name in raw.columns]
        columns = (*SAMPLE_COLUMNS, *attributed, RAW_TEXT)
        bare = stored.select(*columns)
        count = int(counted.get["rows"])
        return BronzeRows(count, written, stored.select(*columns, *provenance), bare)

    return write


def _append(staged: StagedRun, directory: str) -> list[DataFile]:
    files = staged.written(TABLE, directory)
    last = latest(files, "ingest_ts")
    day = None if last is None else last.date().isoformat()
    placed = sinks.with_partition(files, {ARRIVAL: day})
    staged.append(TABLE, placed, sinks.table_schema(TABLE, BRONZE))
    return placed
