"""Writes bronze: the rows of a run as they arrived, with their provenance.

Parquet files are copied without Spark; two columns with the provenance are added and nothing else
is changed. Later stages read the source files. JSON lines, CSV and Kafka records are parsed once:
bronze stores the columns, and later stages read bronze. `bronze/run_id=…` has the files of a run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from kedge.files import parquet
from kedge.model.arrow import arrow
from kedge.pipeline import sinks
from kedge.pipeline.schemas import ATTRIBUTION_COLUMNS, RAW_TEXT, SAMPLE_COLUMNS
from kedge.pipeline.sources.file_reader import read_raw_rows
from kedge.pipeline.sources.sample_files import Format, SampleFile

ROWS_PER_BATCH = 500_000


@dataclass(frozen=True, slots=True)
class BronzeRows:
    """The rows of a batch in bronze: their count, and frames with and without provenance."""

    count: int
    with_provenance: DataFrame
    without_provenance: DataFrame


WriteBronze = Callable[[Path], BronzeRows]


def copy_parquet_files(session: SparkSession, files: Sequence[SampleFile]) -> WriteBronze:
    """Copy Parquet files; the row count is that of their footers."""

    def write(directory: Path) -> BronzeRows:
        directory.mkdir(parents=True)
        for file in files:
            _copy(file, directory / f"{file.sha256[:32]}.parquet")
        frames = (
            read_raw_rows(session, files, Format.PARQUET, provenance=p) for p in (True, False)
        )
        return BronzeRows(sum(file.rows for file in files), *frames)

    return write


def _copy(file: SampleFile, target: Path) -> None:
    pa, source = arrow(), parquet().ParquetFile(file.path)
    provenance = {"source": str(Format.PARQUET), "file": file.path.absolute().as_uri()}
    schema = source.schema_arrow
    for name in provenance:
        schema = schema.append(pa.field(name, pa.string()))
    with parquet().ParquetWriter(target, schema, compression="zstd") as writer:
        for rows in source.iter_batches(ROWS_PER_BATCH):
            added = [pa.repeat(pa.scalar(text), len(rows)) for text in provenance.values()]
            writer.write_batch(pa.RecordBatch.from_arrays([*rows.columns, *added], schema=schema))


def write_parsed_rows(raw: DataFrame, provenance: Sequence[str]) -> WriteBronze:
    """Write parsed rows, and count them while they are written."""

    def write(directory: Path) -> BronzeRows:
        counted = Observation("read")
        sinks.write(raw.observe(counted, F.count(F.lit(1)).alias("rows")), directory)
        stored = raw.sparkSession.read.schema(raw.schema).parquet(str(directory))
        attributed = [name for name in ATTRIBUTION_COLUMNS if name in raw.columns]
        columns = (*SAMPLE_COLUMNS, *attributed, RAW_TEXT)
        bare = stored.select(*columns)
        return BronzeRows(int(counted.get["rows"]), stored.select(*columns, *provenance), bare)

    return write
