"""Reads files of samples as raw rows with Spark: Parquet, JSON lines and CSV."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import groupby

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType, TimestampType

from kedge.pipeline.schemas import RAW_TEXT, SAMPLE, SAMPLE_COLUMNS
from kedge.pipeline.sources.sample_files import Format, Layout, SampleFile
from kedge.pipeline.transforms.parse import CORRUPT, parse_json

PROVENANCE = ("source", "file")


def read_raw_rows(
    session: SparkSession, files: Sequence[SampleFile], format: Format, *, provenance: bool = True
) -> DataFrame:
    """The rows of these files; files with the same layout are read together.

    Without `provenance`, the columns `source` and `file` are left out: they cost work per row.
    """
    by_layout = sorted(files, key=lambda one: (one.layout, one.path))
    frames = [
        _rows(session, [one.path.spark_path for one in same], format, layout, provenance=provenance)
        for layout, same in groupby(by_layout, key=lambda one: one.layout)
    ]
    every = reduce(DataFrame.unionByName, frames)
    columns = [F.col(name) for name in (*SAMPLE_COLUMNS, RAW_TEXT)]
    if not provenance:
        return every.select(*columns)
    return every.select(*columns, F.lit(str(format)).alias("source"), "file")


def _rows(
    session: SparkSession, paths: list[str], format: Format, layout: Layout, *, provenance: bool
) -> DataFrame:
    if format is Format.PARQUET:
        return _parquet_rows(session, paths, layout, provenance=provenance)
    if format is Format.CSV:
        return _csv_rows(session, paths, layout)
    lines = session.read.text([_escaped(path) for path in paths]).select("value", source_file())
    return parse_json(lines.where(F.trim("value") != ""))


def _parquet_rows(
    session: SparkSession, paths: list[str], layout: Layout, *, provenance: bool
) -> DataFrame:
    declared = ", ".join(f"`{name}` {kind}" for name, kind in layout)
    rows = session.read.schema(declared).parquet(*[_escaped(path) for path in paths])
    kinds = dict(layout)
    fields = [_field(f, kinds[f.name]).alias(f.name) for f in SAMPLE.fields]
    file = [source_file()] if provenance else []
    return rows.select(*fields, F.lit(None).cast("string").alias(RAW_TEXT), *file)


def _field(field: StructField, kind: str) -> Column:
    if field.dataType == TimestampType() and kind == "bigint":
        # nanoseconds; as a fraction they would lose digits
        return F.expr(f"timestamp_micros((`{field.name}` - pmod(`{field.name}`, 1000L)) div 1000L)")
    return F.col(field.name).try_cast(field.dataType)


def _csv_rows(session: SparkSession, paths: list[str], layout: Layout) -> DataFrame:
    fields = [SAMPLE[name] for name, _ in layout]
    schema = StructType([*fields, StructField(CORRUPT, StringType())])
    rows = session.read.csv(
        [_escaped(path) for path in paths],
        schema=schema,
        header=True,
        mode="PERMISSIVE",
        columnNameOfCorruptRecord=CORRUPT,
    )
    return rows.select(*SAMPLE_COLUMNS, F.col(CORRUPT).alias(RAW_TEXT), source_file())


def _escaped(path: str) -> str:
    """A path with the characters of globs escaped, as Spark expects it."""
    return "".join(f"\\{char}" if char in "{}[]*?\\" else char for char in path)


def source_file() -> Column:
    """The URI of the file that a row was read from."""
    return F.col("_metadata.file_path").alias("file")
