"""A bare Spark script: start a session, count the rows, copy them and aggregate them once.

It validates nothing, removes no duplicates and keeps no history. Its time is a lower bound for any
Spark job that reads and rewrites the same rows.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F


def main(source: str, output: Path, heap: str) -> None:
    """Count, copy and aggregate the Parquet files below a directory; print the count."""
    builder = SparkSession.builder.master("local[2]").config("spark.driver.memory", heap)
    session = builder.config("spark.ui.enabled", "false").getOrCreate()
    rows = session.read.option("recursiveFileLookup", "true").parquet(source)
    count = rows.count()
    rows.write.parquet(str(output / "copy"))
    window = F.window("ts", "300 seconds")
    sums = (
        F.count(F.lit(1)).alias("rows"),
        F.sum("bytes_in").alias("bytes_in"),
        F.sum("bytes_out").alias("bytes_out"),
        F.max("size_bytes").alias("max_size_bytes"),
    )
    grouped = rows.groupBy("cluster", "broker", "topic", "partition", window).agg(*sums)
    grouped.write.parquet(str(output / "rollup"))
    session.stop()
    print(count)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3])
