"""Section `rollup`: the hot path of the pipeline alone, beside DuckDB and Polars on the same files.

The work is the same for all: scan the Parquet files, validate every row (with the table of
brokers), leave out late rows, keep the highest `seq` of each sample, sum by replica and window of
five minutes, model each replica over its windows (sums, exact p50 and p95, growth), and write both
tables as Parquet, with two threads. The sums are checked against those of the generator before a
time counts. Bronze, silver, quarantine, findings and snapshots are not part of it: what a whole run
takes is measured by `bench.pipeline.ingest`.

Spark runs the pipeline's own functions in its workers. Each engine runs in its own process and does
the work twice: cold (the first time in its process, without the start of the session) and warm.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.pipeline.engines import ENGINES, Measured, measured
from bench.report import BenchRow, BenchSection, Timing
from kedge.pipeline.generator import generate

SIZE = "L"
SMALLER = ("S", "M")
HEAP = "2g"
ROUND_NAMES = ("cold", "warm")


def run(size: str = SIZE) -> BenchSection:
    """Measure all engines on one size, and Spark alone on smaller ones."""
    with tempfile.TemporaryDirectory(prefix="kedge-bench-") as scratch:
        growth = [_of_size(Path(scratch), smaller, ("spark",))["spark"] for smaller in SMALLER]
        return section(_of_size(Path(scratch), size, tuple(ENGINES)), growth)


def section(found: Mapping[str, Measured], growth: Sequence[Measured]) -> BenchSection:
    """The section of the page: all engines on one size, and Spark's CPU cost by size."""
    spark = found["spark"]
    rows = [
        _row(f"{spark.size}, {ROUND_NAMES[number]}", spark, peer, number)
        for name, peer in found.items()
        if name != "spark"
        for number in range(len(spark.walls))
    ]
    return BenchSection(
        "rollup",
        "Pipeline: the roll-up alone",
        f"The hot path of the pipeline without the rest of a run: {spark.rows:,} rows of metrics "
        "are validated, deduplicated and summed by replica and window, and each replica is "
        "modelled. Not measured here: start-up of the process and of Spark, bronze, silver, "
        "quarantine, findings, snapshots. DuckDB and Polars do the same work on the same files: "
        "two threads each, Spark with a heap of 2 GiB. Cold is the first round in a process, warm "
        "the second. A ratio of 0.5 means half the rows per second.",
        tuple(rows),
        (
            *(_figures(each) for each in found.values()),
            _by_cpu(spark, [peer for name, peer in found.items() if name != "spark"]),
            _growth([*growth, spark]),
        ),
    )


def _of_size(scratch: Path, size: str, names: tuple[str, ...]) -> dict[str, Measured]:
    directory = scratch / size
    expected = generate(directory, size=size)
    return {name: measured(name, directory, expected, heap=HEAP) for name in names}


def _row(what: str, spark: Measured, peer: Measured, number: int) -> BenchRow:
    ours, theirs = spark.walls[number], peer.walls[number]
    return BenchRow(what, Timing(ours, ours), peer.title, Timing(theirs, theirs))


def _figures(each: Measured) -> str:
    cpu = " then ".join(f"{seconds:.0f}" for seconds in each.cpus)
    rate = " then ".join(f"{each.rows / wall / 1e6:.2f}" for wall in each.walls)
    return f"{each.title}: {rate} million rows/s, {cpu} CPU s, at most {each.rss_mb:,.0f} MB."


def _by_cpu(spark: Measured, peers: Sequence[Measured]) -> str:
    """Other work on the machine stretches times; CPU seconds it stretches less."""
    ratios = ", ".join(
        f"{peer.title} " + " then ".join(f"{theirs / ours:.2f}" for ours, theirs in turns)
        for peer in peers
        for turns in [list(zip(spark.cpus, peer.cpus, strict=True))]
    )
    return f"By CPU seconds in place of time, the ratios are: {ratios}."


def _growth(each: list[Measured]) -> str:
    parts = ", ".join(f"{one.size} {1e6 * one.cpus[-1] / one.rows:.1f}" for one in each)
    return f"Spark's CPU seconds per million rows, warm: {parts}."
