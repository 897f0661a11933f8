"""Which rows are samples to count with, which are late, and which are nothing of the kind.

A row is judged alone, so that batches and streams judge alike however the rows are cut up. A row
with several faults gets the first reason of `REASONS`, in which broken text comes first.

| verdict     | what becomes of the row                                             |
|-------------|---------------------------------------------------------------------|
| good        | a sample for silver                                                 |
| late        | `ingest_ts - ts` is over the allowed lateness: to the late table    |
| quarantined | it has a reason, and goes to quarantine with its raw text           |
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

# `topic`, `ts` and `broker` have reasons of their own; without one of these a row says nothing
NEEDED: Final = tuple(c for c in SAMPLE_COLUMNS if c not in ("topic", "ts", "broker"))


@dataclass(frozen=True, slots=True)
class Rules:
    """How late a row may be, and how far ahead of its arrival its time may lie."""

    allowed_lateness_s: int = 1800
    future_tolerance_s: int = 300


def good(rows: DataFrame, *, rules: Rules) -> DataFrame:
    """The rows that are samples to count with.

    Raw rows have the columns of a sample, `raw`, `known` (whether their broker is), and any
    others, which are kept.
    """
    return rows.where(is_good(rules))


def refused(rows: DataFrame, *, rules: Rules) -> DataFrame:
    """All other rows with their `verdict`, and a `reason` where that is quarantine."""
    reason = reason_of(rules)
    verdict = F.when(F.col("reason").isNotNull(), QUARANTINED).otherwise(LATE)
    others = rows.where(~F.coalesce(is_good(rules), F.lit(False)))
    return others.withColumn("reason", reason).withColumn("verdict", verdict)


def is_good(rules: Rules) -> Column:
    """Whether a row has no fault and is not late; null is no.

    It says what `reason_of` says, but in a form that a scan can use: most rows are good.
    """
    told = [F.col(name).isNotNull() for name in (*NEEDED, "ts", "broker")]
    lag_us = F.unix_micros("ingest_ts") - F.unix_micros("ts")
    figures = [F.col(name) >= 0 for name in ("size_bytes", "bytes_in", "bytes_out")]
    in_time = [
        lag_us >= -rules.future_tolerance_s * MICROS,
        lag_us <= rules.allowed_lateness_s * MICROS,
    ]
    text = [F.col(RAW_TEXT).isNull(), F.col("topic") != ""]
    return all_of(*text, *told, *figures, *in_time, F.col("isr") <= F.col("rf"), F.col("known"))


def reason_of(rules: Rules) -> Column:
    """The first fault of a row, null if it has none."""
    unreadable = F.col(RAW_TEXT).isNotNull() | any_of(*(F.col(c).isNull() for c in NEEDED))
    ahead_us = F.unix_micros("ts") - F.unix_micros("ingest_ts")
    faults = {
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
    return F.coalesce(*(F.when(fault, name) for name, fault in faults.items()))


REASONS: Final = (
    *("unparsable", "null_ts", "null_broker", "empty_topic", "negative_size", "negative_bytes"),
    *("unknown_broker", "future_ts", "isr_gt_rf"),
)


def quarantine(rows: DataFrame, *provenance: str) -> DataFrame:
    """Refused rows as quarantine keeps them: reason, raw text, and where they came from."""
    as_json = F.to_json(F.struct(*SAMPLE_COLUMNS))
    raw = F.coalesce(F.col(RAW_TEXT), as_json).alias(RAW_TEXT)
    return rows.select("reason", raw, *provenance)


def all_of(*conditions: Column) -> Column:
    """Whether all of these hold."""
    return reduce(lambda a, b: a & b, conditions)


def any_of(*conditions: Column) -> Column:
    """Whether one of these holds."""
    return reduce(lambda a, b: a | b, conditions)
