"""The roll-up of metrics, beside DuckDB and Polars on the same files in the same run.

Work, the same for all: scan the Parquet files, judge every row by the rules of a sample (with the
table of brokers), leave out late rows, let the highest `seq` of each sample win, sum by replica and
window of five minutes, model each replica over its windows (sums, exact p50 and p95, growth), and
write both tables as Parquet. Two threads each. The answers are checked against what the generator
foretold before a time counts.

Spark runs the pipeline's own transforms. Each engine has a process of its own, so that its memory
can be told: the greatest resident size, of Spark's JVM and Python together. Each does the work
twice: cold (the first time in its process, without the start of the session) and warm.

    python -m bench pipeline                    50 million rows, beside DuckDB and Polars
    python -m bench.pipeline --sizes S,M        print smaller ones, change no page
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench.pipeline.sides import SIDES, Measured, measured
from bench.report import BenchRow, BenchSection, Timing
from kedge.pipeline.generator import generate

SIZE = "L"
SMALLER = ("S", "M")
HEAP = "2g"
TURNS = ("first time", "second time")


def run(size: str = SIZE) -> BenchSection:
    """Measure the three on one size, and Spark alone on smaller ones."""
    with tempfile.TemporaryDirectory(prefix="kedge-bench-") as scratch:
        growth = [_of_size(Path(scratch), smaller, ("spark",))["spark"] for smaller in SMALLER]
        return section(_of_size(Path(scratch), size, tuple(SIDES)), growth)


def section(found: Mapping[str, Measured], growth: Sequence[Measured]) -> BenchSection:
    """What the page says: the engines on one size, and Spark's growth up to it."""
    spark = found["spark"]
    rows = [
        _row(f"{spark.size}, {TURNS[turn]}", spark, peer, turn)
        for name, peer in found.items()
        if name != "spark"
        for turn in range(len(spark.walls))
    ]
    return BenchSection(
        "pipeline",
        "Pipeline: the roll-up of metrics",
        f"{spark.rows:,} rows of metrics by replica and window, with every rule, beside DuckDB and "
        "Polars on the same files: two threads each, Spark with a heap of 2 GiB. A ratio of 0.5 "
        "means half the rows in a second.",
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


def _row(what: str, spark: Measured, peer: Measured, turn: int) -> BenchRow:
    ours, theirs = spark.walls[turn], peer.walls[turn]
    return BenchRow(what, Timing(ours, ours), peer.title, Timing(theirs, theirs))


def _figures(each: Measured) -> str:
    cpu = " then ".join(f"{seconds:.0f}" for seconds in each.cpus)
    rate = " then ".join(f"{each.rows / wall / 1e6:.2f}" for wall in each.walls)
    return f"{each.title}: {rate} million rows/s, {cpu} CPU s, at most {each.rss_mb:,.0f} MB."


def _by_cpu(spark: Measured, peers: Sequence[Measured]) -> str:
    """A machine that others use, too, stretches times, but CPU seconds less."""
    ratios = ", ".join(
        f"{peer.title} " + " then ".join(f"{theirs / ours:.2f}" for ours, theirs in turns)
        for peer in peers
        for turns in [list(zip(spark.cpus, peer.cpus, strict=True))]
    )
    return f"By CPU seconds in place of time, the ratios are: {ratios}."


def _growth(each: list[Measured]) -> str:
    parts = ", ".join(f"{one.size} {1e6 * one.cpus[-1] / one.rows:.1f}" for one in each)
    return f"Spark's CPU seconds for a million rows, last round: {parts}."
