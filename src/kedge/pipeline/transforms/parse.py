"""Parses JSON lines as raw rows; text that is not a sample is kept in `raw`."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from kedge.pipeline.schemas import RAW_TEXT, SAMPLE, SAMPLE_COLUMNS

CORRUPT = "_corrupt"
WITH_CORRUPT = StructType([*SAMPLE.fields, StructField(CORRUPT, StringType())])


def parse_json(lines: DataFrame, *, text: str = "value") -> DataFrame:
    """Replace the text column by the columns of a sample and `raw`; other columns stay.

    A line is not a sample if a field has the wrong type, if it has an unknown field, or if it is
    not a JSON object (null too: Kafka's tombstones).
    """
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT}
    others = [name for name in lines.columns if name != text]
    parsed = lines.select(*others, text, F.from_json(text, WITH_CORRUPT, options).alias("row"))
    malformed = (
        F.col("row").isNull() | F.col(f"row.{CORRUPT}").isNotNull() | _has_unknown_fields(text)
    )
    raw = F.when(malformed, F.coalesce(F.col(text), F.lit("")))
    fields = [F.when(~malformed, F.col(f"row.{name}")).alias(name) for name in SAMPLE_COLUMNS]
    return parsed.select(*others, *fields, raw.alias(RAW_TEXT))


def _has_unknown_fields(text: str) -> Column:
    """Whether a JSON object has unknown fields; True if the text is not an object."""
    expected = F.array(*(F.lit(name) for name in SAMPLE_COLUMNS))
    unknown = F.array_except(F.json_object_keys(F.col(text)), expected)
    return F.coalesce(F.size(unknown) > 0, F.lit(True))
