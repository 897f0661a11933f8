"""Section `metrics`: answers of Prometheus through `kedge pipeline ingest`, beside DuckDB.

Kedge's time is that of the whole command in a fresh process: parsing JSON, attribution of topics'
bytes to partitions, and all tables with one sample of each partition and minute. DuckDB does the
attribution of bytes in alone, from Parquet files of the same points. Memory is that of all
processes of the command: the JVM, and the Python processes that parse and attribute.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from bench.metrics.generated_answers import CLUSTER, Generated, Size, generate
from bench.pipeline.processes import CommandCost, run_measured
from bench.report import BenchRow, BenchSection, Timing

SMALL = Size(topics=5, days=7)  # 500 partitions; `python -m bench.metrics --topics 100` for all
HEAP = "2g"
TIMEOUT_S = 14_400


def run(size: Size = SMALL, scratch: Path | None = None) -> BenchSection:
    """Measure both sides once; sums are compared before times count."""
    with tempfile.TemporaryDirectory(prefix="kedge-bench-", dir=scratch) as directory:
        made = generate(Path(directory) / "generated", size)
        duckdb = _duckdb(made, Path(directory) / "duckdb")
        kedge = _kedge(made, Path(directory) / "tables")
    partitions = size.topics * 100
    what = f"{partitions:,} partitions × {size.days} days, {size.points / 1e6:,.0f} M points"
    ours, theirs = (Timing(cost.wall, cost.wall) for cost in (kedge, duckdb))
    rate = size.points / kedge.wall
    return BenchSection(
        "metrics",
        "Metrics: answers of Prometheus to tables",
        "`kedge pipeline ingest --source prometheus` in a fresh process on two cores: it parses "
        "the JSON of `query_range` at steps of 60 s, splits the bytes of topics by growth of end "
        "offsets, and writes raw measurements, a sample of each partition and minute, load "
        "models, findings and snapshots. DuckDB splits bytes in alone, from Parquet files of the "
        "same points: a part of the work, without parsing. Sums of both are those of the counters.",
        (BenchRow(what, ours, "DuckDB, attribution alone", theirs),),
        (
            f"Kedge: {rate:,.0f} points per second, {_cost(kedge)}.",
            f"DuckDB: {_cost(duckdb)}.",
        ),
    )


def _cost(cost: CommandCost) -> str:
    return f"{cost.wall:.0f} s, {cost.cpu:.0f} CPU s, at most {cost.rss_mb:,.0f} MB"


def _duckdb(made: Generated, output: Path) -> CommandCost:
    module = [sys.executable, "-m", "bench.metrics.duckdb_attribution"]
    printed, cost = run_measured([*module, str(made.directory), str(output)], timeout_s=TIMEOUT_S)
    _check("DuckDB", int(printed.split()[-1]), made)
    shutil.rmtree(output)
    print(f"DuckDB: {_cost(cost)}", file=sys.stderr, flush=True)
    return cost


def _kedge(made: Generated, tables: Path) -> CommandCost:
    options = {
        "--source": "prometheus",
        "--input": made.directory / "prometheus",
        "--metadata": made.directory / "metadata.json",
        "--leaders": made.directory / "leaders.json",
        "--tables": tables,
        "--driver-memory": HEAP,
    }
    program = str(Path(sys.executable).with_name("kedge"))
    words = [str(word) for pair in options.items() for word in pair]
    _, cost = run_measured([program, "pipeline", "ingest", *words], timeout_s=TIMEOUT_S)
    print(f"Kedge: {_cost(cost)}", file=sys.stderr, flush=True)
    _check("Kedge", _bytes_in(tables), made)
    return cost


def _bytes_in(tables: Path) -> int:
    from kedge.pipeline.rates_reader import read_rates

    rates = read_rates(tables, CLUSTER)
    return round(sum(rate.in_bytes_per_s for rate in rates))


def _check(name: str, found: int, made: Generated) -> None:
    """Sums of bytes, or for Kedge the mean rate, are those of the counters."""
    seconds = (made.size.steps - 1) * 60
    wanted = made.bytes_in if name == "DuckDB" else made.bytes_in / seconds
    if abs(found - wanted) > max(1e-6 * wanted, 1):
        raise AssertionError(f"{name}: {found:,} and not {wanted:,.0f}")
