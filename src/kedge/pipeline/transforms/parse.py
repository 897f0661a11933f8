"""Texts as raw rows: a text that is no sample is kept whole, in `raw`."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from kedge.pipeline.schemas import RAW_TEXT, SAMPLE, SAMPLE_COLUMNS

CORRUPT = "_corrupt"
WITH_CORRUPT = StructType([*SAMPLE.fields, StructField(CORRUPT, StringType())])


def parse_json(lines: DataFrame, *, text: str = "value") -> DataFrame:
    """Lines of JSON as raw rows, in place of their text; other columns stay.

    A field of the wrong type, a field that no sample has, and a text that is no object at all
    (null too: Kafka's tombstones) make a line one that is no sample.
    """
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT}
    others = [name for name in lines.columns if name != text]
    parsed = lines.select(*others, text, F.from_json(text, WITH_CORRUPT, options).alias("row"))
    broken = F.col("row").isNull() | F.col(f"row.{CORRUPT}").isNotNull() | _has_other_fields(text)
    raw = F.when(broken, F.coalesce(F.col(text), F.lit("")))
    fields = [F.when(~broken, F.col(f"row.{name}")).alias(name) for name in SAMPLE_COLUMNS]
    return parsed.select(*others, *fields, raw.alias(RAW_TEXT))


def _has_other_fields(text: str) -> Column:
    """Whether an object has a field that no sample has; null where it is no object."""
    known = F.array(*(F.lit(name) for name in SAMPLE_COLUMNS))
    others = F.array_except(F.json_object_keys(F.col(text)), known)
    return F.coalesce(F.size(others) > 0, F.lit(True))
