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
from pathlib import Path

from bench.pipeline.sides import SIDES, Measured, measured
from bench.report import BenchRow, BenchSection, Timing
from kedge.pipeline.generator import generate

SIZE = "L"
SMALLER = ("S", "M")
HEAP = "2g"


def run(size: str = SIZE) -> BenchSection:
    """Measure the three on one size, and Spark alone on smaller ones."""
    with tempfile.TemporaryDirectory(prefix="kedge-bench-") as scratch:
        growth = [_of_size(Path(scratch), smaller, ("spark",))["spark"] for smaller in SMALLER]
        found = _of_size(Path(scratch), size, tuple(SIDES))
    spark = found["spark"]
    rows = [
        row
        for name in ("duckdb", "polars")
        for row in (
            _row(f"{size}, first time", spark, found[name], 0),
            _row(f"{size}, second time", spark, found[name], 1),
        )
    ]
    return BenchSection(
        "pipeline",
        "Pipeline: the roll-up of metrics",
        f"{spark.rows:,} rows of metrics by replica and window, with every rule, beside DuckDB and "
        "Polars on the same files: two threads each, Spark with a heap of 2 GiB. A ratio of 0.5 "
        "means half the rows in a second.",
        tuple(rows),
        (*(_figures(each) for each in found.values()), _growth([*growth, spark])),
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


def _growth(each: list[Measured]) -> str:
    parts = ", ".join(f"{one.size} {1e6 * one.cpus[1] / one.rows:.1f}" for one in each)
    return f"Spark's CPU seconds for a million rows, second time: {parts}."
