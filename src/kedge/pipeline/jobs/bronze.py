"""Keeping rows as they arrived, and handing them on.

Parquet files are copied, with two more columns that say where their rows come from, and nothing
of theirs changed; Spark need not see them for that, and what follows reads them from their source.
Texts and records of Kafka are parsed once: bronze has them in columns, and what follows reads
bronze. `bronze/run_id=…` has the files of a run.
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
from kedge.pipeline.schemas import RAW_TEXT, SAMPLE_COLUMNS
from kedge.pipeline.sources.files import Format, SampleFile
from kedge.pipeline.sources.frames import raw_rows

ROWS_AT_ONCE = 500_000


@dataclass(frozen=True, slots=True)
class Kept:
    """Rows that bronze has: how many were read, as frames with and without their provenance."""

    read: int
    traced: DataFrame
    bare: DataFrame


Keep = Callable[[Path], Kept]


def keep_files(session: SparkSession, files: Sequence[SampleFile]) -> Keep:
    """Keep Parquet files; their footers tell how many rows there are."""

    def keep(directory: Path) -> Kept:
        directory.mkdir(parents=True)
        for file in files:
            _copy(file, directory / f"{file.content[:32]}.parquet")
        frames = (raw_rows(session, files, Format.PARQUET, traced=t) for t in (True, False))
        return Kept(sum(file.rows for file in files), *frames)

    return keep


def _copy(file: SampleFile, target: Path) -> None:
    pa, source = arrow(), parquet().ParquetFile(file.path)
    place = {"source": str(Format.PARQUET), "file": file.path.absolute().as_uri()}
    schema = source.schema_arrow
    for name in place:
        schema = schema.append(pa.field(name, pa.string()))
    with parquet().ParquetWriter(target, schema, compression="zstd") as writer:
        for rows in source.iter_batches(ROWS_AT_ONCE):
            told = [pa.repeat(pa.scalar(text), len(rows)) for text in place.values()]
            writer.write_batch(pa.RecordBatch.from_arrays([*rows.columns, *told], schema=schema))


def keep_rows(raw: DataFrame, provenance: Sequence[str]) -> Keep:
    """Keep parsed rows; they are counted on their way."""

    def keep(directory: Path) -> Kept:
        seen = Observation("read")
        sinks.write(raw.observe(seen, F.count(F.lit(1)).alias("rows")), directory)
        kept = raw.sparkSession.read.schema(raw.schema).parquet(str(directory))
        columns = (*SAMPLE_COLUMNS, RAW_TEXT)
        bare = kept.select(*columns)
        return Kept(int(seen.get["rows"]), kept.select(*columns, *provenance), bare)

    return keep
