"""Validates rows one by one: valid, late or quarantined with a reason.

The verdict depends on the row alone, so batch and stream agree however the rows are split. A row
with several errors gets the first reason of `REASONS`; `unparsable` comes first.

| verdict     | meaning                                                             |
|-------------|---------------------------------------------------------------------|
| valid       | goes to silver                                                      |
| late        | `ingest_ts - ts` exceeds the allowed lateness: to the late table    |
| quarantined | has a reason, and goes to quarantine with its raw text              |
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from kedge.pipeline.schemas import RAW_TEXT, SAMPLE_COLUMNS

LATE: Final = "late"
QUARANTINED: Final = "quarantined"

MICROS: Final = 1_000_000

# null in one of these is `unparsable`; null `topic`, `ts` and `broker` have their own reasons
REQUIRED: Final = tuple(c for c in SAMPLE_COLUMNS if c not in ("topic", "ts", "broker"))


@dataclass(frozen=True, slots=True)
class ValidationRules:
    """How late a row may arrive, and how far `ts` may be ahead of `ingest_ts`."""

    allowed_lateness_s: int = 1800
    future_tolerance_s: int = 300


def valid_rows(rows: DataFrame, *, rules: ValidationRules) -> DataFrame:
    """The valid rows.

    The input has the columns of a sample, `raw` and `known` (see `with_known_broker`); other
    columns are kept.
    """
    return rows.where(is_valid(rules))


def rejected_rows(rows: DataFrame, *, rules: ValidationRules) -> DataFrame:
    """All other rows with their `verdict`, and the `reason` of quarantined ones."""
    reason = rejection_reason(rules)
    verdict = F.when(F.col("reason").isNotNull(), QUARANTINED).otherwise(LATE)
    others = rows.where(~F.coalesce(is_valid(rules), F.lit(False)))
    return others.withColumn("reason", reason).withColumn("verdict", verdict)


def is_valid(rules: ValidationRules) -> Column:
    """Whether a row is valid; null counts as False.

    Equivalent to no `rejection_reason` and not late, in a form that Spark can push into the scan.
    """
    present = [F.col(name).isNotNull() for name in (*REQUIRED, "ts", "broker")]
    lag_us = F.unix_micros("ingest_ts") - F.unix_micros("ts")
    amounts = [F.col(name) >= 0 for name in ("size_bytes", "bytes_in", "bytes_out")]
    in_time = [
        lag_us >= -rules.future_tolerance_s * MICROS,
        lag_us <= rules.allowed_lateness_s * MICROS,
    ]
    text = [F.col(RAW_TEXT).isNull(), F.col("topic") != ""]
    return all_of(*text, *present, *amounts, *in_time, F.col("isr") <= F.col("rf"), F.col("known"))


def rejection_reason(rules: ValidationRules) -> Column:
    """The first reason to quarantine a row; null if there is none."""
    unreadable = F.col(RAW_TEXT).isNotNull() | any_of(*(F.col(c).isNull() for c in REQUIRED))
    ahead_us = F.unix_micros("ts") - F.unix_micros("ingest_ts")
    reasons = {
        "unparsable": unreadable,
        "null_ts": F.col("ts").isNull(),
        "null_broker": F.col("broker").isNull(),
        "empty_topic": F.col("topic").isNull() | (F.col("topic") == ""),
        "negative_size": F.col("size_bytes") < 0,
        "negative_bytes": (F.col("bytes_in") < 0) | (F.col("bytes_out") < 0),
        "unknown_broker": ~F.col("known"),
        "future_ts": ahead_us > rules.future_tolerance_s * MICROS,
        "isr_gt_rf": F.col("isr") > F.col("rf"),
    }
    return F.coalesce(*(F.when(condition, name) for name, condition in reasons.items()))


REASONS: Final = (
    *("unparsable", "null_ts", "null_broker", "empty_topic", "negative_size", "negative_bytes"),
    *("unknown_broker", "future_ts", "isr_gt_rf"),
)


def with_raw_text(rows: DataFrame) -> DataFrame:
    """Rejected rows with `raw` set for all quarantined ones: parsed rows are encoded as JSON."""
    as_json = F.when(F.col("verdict") == QUARANTINED, F.to_json(F.struct(*SAMPLE_COLUMNS)))
    return rows.withColumn(RAW_TEXT, F.coalesce(F.col(RAW_TEXT), as_json))


def all_of(*conditions: Column) -> Column:
    """The conjunction of conditions."""
    return reduce(lambda a, b: a & b, conditions)


def any_of(*conditions: Column) -> Column:
    """The disjunction of conditions."""
    return reduce(lambda a, b: a | b, conditions)
