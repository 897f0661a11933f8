"""Files of samples as raw rows: the columns of a sample, `raw`, `source` and `file`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import groupby
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType, TimestampType

from kedge.pipeline.schemas import RAW_TEXT, SAMPLE, SAMPLE_COLUMNS
from kedge.pipeline.sources.files import Format, Layout, SampleFile
from kedge.pipeline.transforms.parse import CORRUPT, parse_json

PROVENANCE = ("source", "file")


def raw_rows(
    session: SparkSession, files: Sequence[SampleFile], form: Format, *, traced: bool = True
) -> DataFrame:
    """The rows of these files, each kind of layout read by itself.

    Rows of Parquet need not be `traced` to their files: to do so is work for every row.
    """
    by_layout = sorted(files, key=lambda one: (one.layout, one.path))
    frames = [
        _rows(session, [str(one.path) for one in same], form, layout, traced=traced)
        for layout, same in groupby(by_layout, key=lambda one: one.layout)
    ]
    every = reduce(DataFrame.unionByName, frames)
    columns = [F.col(name) for name in (*SAMPLE_COLUMNS, RAW_TEXT)]
    if not traced:
        return every.select(*columns)
    return every.select(*columns, F.lit(str(form)).alias("source"), "file")


def _rows(
    session: SparkSession, paths: list[str], form: Format, layout: Layout, *, traced: bool
) -> DataFrame:
    if form is Format.PARQUET:
        return _parquet_rows(session, paths, layout, traced=traced)
    if form is Format.CSV:
        return _csv_rows(session, paths, layout)
    lines = session.read.text([_uri(path) for path in paths]).select("value", file_path())
    return parse_json(lines.where(F.trim("value") != ""))


def _parquet_rows(
    session: SparkSession, paths: list[str], layout: Layout, *, traced: bool
) -> DataFrame:
    declared = ", ".join(f"`{name}` {kind}" for name, kind in layout)
    rows = session.read.schema(declared).parquet(*[_uri(path) for path in paths])
    kinds = dict(layout)
    fields = [_field(f, kinds[f.name]).alias(f.name) for f in SAMPLE.fields]
    place = [file_path()] if traced else []
    return rows.select(*fields, F.lit(None).cast("string").alias(RAW_TEXT), *place)


def _field(field: StructField, kind: str) -> Column:
    if field.dataType == TimestampType() and kind == "bigint":
        return F.timestamp_micros(F.floor(F.col(field.name) / 1000))  # nanoseconds
    return F.col(field.name).try_cast(field.dataType)


def _csv_rows(session: SparkSession, paths: list[str], layout: Layout) -> DataFrame:
    fields = [SAMPLE[name] for name, _ in layout]
    schema = StructType([*fields, StructField(CORRUPT, StringType())])
    rows = session.read.csv(
        [_uri(path) for path in paths],
        schema=schema,
        header=True,
        mode="PERMISSIVE",
        columnNameOfCorruptRecord=CORRUPT,
    )
    return rows.select(*SAMPLE_COLUMNS, F.col(CORRUPT).alias(RAW_TEXT), file_path())


def _uri(path: str) -> str:
    """A path that Spark takes as it stands, whatever signs are in it (globs, blanks)."""
    escaped = "".join(f"\\{sign}" if sign in "{}[]*?\\" else sign for sign in path)
    return escaped if path.startswith("/") else str(Path.cwd() / escaped)


def file_path() -> Column:
    """The file that a row came from, as the URI that Spark knows it by: no work for each row."""
    return F.col("_metadata.file_path").alias("file")
