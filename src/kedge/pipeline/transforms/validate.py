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

from kedge.pipeline.schemas import BROKER_KEY, RAW_TEXT, SAMPLE_COLUMNS

GOOD: Final = "good"
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


def judge(rows: DataFrame, *, brokers: DataFrame, rules: Rules) -> DataFrame:
    """The rows with their `verdict`, and a `reason` where that is quarantine.

    Raw rows have the columns of a sample, `raw`, and any others, which are kept.
    """
    known = brokers.select(*BROKER_KEY).distinct().withColumn("known", F.lit(True))
    joined = rows.join(F.broadcast(known), list(BROKER_KEY), "left")
    reason = reason_of(rules)
    verdict = F.when(F.col("reason").isNotNull(), QUARANTINED)
    verdict = verdict.when(is_late(rules), LATE).otherwise(GOOD)
    judged = joined.select(*(F.col(name) for name in rows.columns), reason.alias("reason"))
    return judged.withColumn("verdict", verdict)


def reason_of(rules: Rules) -> Column:
    """The first fault of a row, null if it has none; `known` tells whether its broker is."""
    unreadable = F.col(RAW_TEXT).isNotNull() | any_of(*(F.col(c).isNull() for c in NEEDED))
    ahead_us = F.unix_micros("ts") - F.unix_micros("ingest_ts")
    faults = {
        "unparsable": unreadable,
        "null_ts": F.col("ts").isNull(),
        "null_broker": F.col("broker").isNull(),
        "empty_topic": F.col("topic").isNull() | (F.col("topic") == ""),
        "negative_size": F.col("size_bytes") < 0,
        "negative_bytes": (F.col("bytes_in") < 0) | (F.col("bytes_out") < 0),
        "unknown_broker": F.col("known").isNull(),
        "future_ts": ahead_us > rules.future_tolerance_s * MICROS,
        "isr_gt_rf": F.col("isr") > F.col("rf"),
    }
    return F.coalesce(*(F.when(fault, name) for name, fault in faults.items()))


REASONS: Final = (
    *("unparsable", "null_ts", "null_broker", "empty_topic", "negative_size", "negative_bytes"),
    *("unknown_broker", "future_ts", "isr_gt_rf"),
)


def is_late(rules: Rules) -> Column:
    """Whether a row came after more than the allowed lateness."""
    behind_us = F.unix_micros("ingest_ts") - F.unix_micros("ts")
    return behind_us > rules.allowed_lateness_s * MICROS


def quarantine(judged: DataFrame, *provenance: str) -> DataFrame:
    """The rows that are no samples: reason, raw text, and where they came from."""
    kept = judged.where(F.col("verdict") == QUARANTINED)
    as_json = F.to_json(F.struct(*SAMPLE_COLUMNS))
    raw = F.coalesce(F.col(RAW_TEXT), as_json).alias(RAW_TEXT)
    return kept.select("reason", raw, *provenance)


def any_of(*conditions: Column) -> Column:
    """Whether one of these holds."""
    return reduce(lambda a, b: a | b, conditions)
