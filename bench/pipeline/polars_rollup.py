"""The roll-up on Polars with its streaming engine and lazy frames."""

from __future__ import annotations

import os
import sys
from pathlib import Path

os.environ["POLARS_MAX_THREADS"] = "2"  # read once, when the library is imported

import polars as pl

from bench.pipeline.processes import print_rounds

KEY = ["cluster", "topic", "partition", "broker"]
FIGURES = ["is_leader", "size_bytes", "bytes_in", "bytes_out", "isr"]


def samples(directory: Path) -> pl.LazyFrame:
    """The valid, deduplicated samples of all files with their replica numbers."""
    replicas = (
        pl.scan_parquet(directory / "assignment.parquet")
        .select("cluster", "topic", "partition", broker="replicas")
        .explode("broker")
        .with_row_index("replica")
    )
    behind = (pl.col("ingest_ts") - pl.col("ts")).dt.total_microseconds()
    good = (
        pl.col("ts").is_not_null()
        & (pl.col("topic") != "")
        & (pl.min_horizontal("size_bytes", "bytes_in", "bytes_out") >= 0)
        & (pl.col("isr") <= pl.col("rf"))
        & behind.is_between(-300_000_000, 1_800_000_000)
    )
    raw = pl.scan_parquet(directory / "raw_parquet/**/*.parquet", hive_partitioning=False)
    known = raw.filter(good).join(replicas, on=KEY).select("replica", "ts", "seq", *FIGURES)
    last = [pl.col(name).sort_by("seq").last() for name in FIGURES]
    return known.group_by("replica", "ts").agg(last)


def work(directory: Path, output: Path) -> None:
    """Scan, validate, deduplicate, roll up, model and write."""
    led = pl.col("is_leader")
    rollup = (
        samples(directory)
        .group_by("replica", window_start=pl.col("ts").dt.truncate("5m"))
        .agg(
            rows=pl.len(),
            bytes_in=pl.col("bytes_in").sum(),
            bytes_out=pl.col("bytes_out").sum(),
            leader_rows=led.sum(),
            leader_bytes_in=pl.col("bytes_in").filter(led).sum(),
            leader_bytes_out=pl.col("bytes_out").filter(led).sum(),
            last_ts=pl.col("ts").max(),
            last_size=pl.col("size_bytes").sort_by("ts").last(),
            max_size_bytes=pl.col("size_bytes").max(),
            min_isr=pl.col("isr").min(),
            max_isr=pl.col("isr").max(),
        )
    )
    for name in ("rollup", "model"):
        (output / name).mkdir()
    rollup.sink_parquet(output / "rollup/0.parquet", compression="zstd")
    model(output / "rollup/0.parquet").sink_parquet(output / "model/0.parquet")


def model(rollup: Path) -> pl.LazyFrame:
    """One row per replica with sums, percentiles and growth over its windows."""
    seconds, size = pl.col("window_start").dt.epoch("s"), pl.col("last_size")
    taken = pl.col("bytes_in")
    return (
        pl.scan_parquet(rollup)
        .group_by("replica")
        .agg(
            windows=pl.len(),
            rows=pl.col("rows").sum(),
            bytes_in=taken.sum(),
            bytes_out=pl.col("bytes_out").sum(),
            p50=taken.quantile(0.5, "equiprobable"),
            p95=taken.quantile(0.95, "equiprobable"),
            max=taken.max(),
            growth=pl.cov(size, seconds) / seconds.var() * 86_400,
        )
    )


def main(directory: Path, output: Path, rounds: int) -> None:
    """Measure the rounds and print their cost."""
    print_rounds(lambda: work(directory, output), output, rounds)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
