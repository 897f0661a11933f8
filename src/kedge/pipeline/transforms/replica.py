"""What each replica carries over its windows: the model that the roll-up alone gives."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from kedge.pipeline.schemas import REPLICA_KEY
from kedge.pipeline.transforms.robust import DAY_S, at_rank


def replica_load(rollup: DataFrame, *, by: Sequence[str] = REPLICA_KEY) -> DataFrame:
    """One row per replica: sums, exact percentiles of its windows by nearest rank, and growth.

    Growth is the slope of a straight line through the sizes, in bytes per day. Two passes, for sums
    and for percentiles: beside a list, Spark would interpret the sums instead of compiling them.
    """
    seconds = F.unix_seconds("window_start").cast("double")
    growth = F.regr_slope(F.col("last_size"), seconds) * DAY_S
    sums = rollup.groupBy(*by).agg(
        F.count(F.lit(1)).alias("windows"),
        F.sum("rows").alias("rows"),
        F.sum("bytes_in").alias("bytes_in"),
        F.sum("bytes_out").alias("bytes_out"),
        growth.alias("growth_bytes_per_day"),
    )
    lists = rollup.groupBy(*by).agg(F.sort_array(F.collect_list("bytes_in")).alias("ordered"))
    ranks = {"p50": 0.5, "p95": 0.95, "max": 1.0}
    at_ranks = [at_rank(F.col("ordered"), share).alias(name) for name, share in ranks.items()]
    return sums.join(lists.select(*by, *at_ranks), [*by])
