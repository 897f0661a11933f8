"""Section `pipeline`: the whole command `kedge pipeline ingest`, in a fresh process.

Kedge's time is that of the command as a user runs it, from the start of Python to its exit:
validation of every row, bronze, silver, quarantine, late, all tables of gold, findings and
snapshots. Few rows of Parquet files it merges without Spark; the same rows as JSON lines, which
Spark parses, are measured too. Its peers, each in a fresh process and from start to exit too:

- a bare Spark script, which starts, counts, copies and aggregates the same rows once;
- for the second ingest, the same script: the tables have all rows but a few thousand already, and
  the command adds a small file with these;
- the roll-up of `bench.pipeline.rollup` on DuckDB and on Polars: validation, deduplication, roll-up
  and a model of each replica, written as two tables. That is a part of what `ingest` does.

The sums of all tables are checked against those of the generator before a time counts.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.pipeline.engines import (
    TIMEOUT_S,
    WrongAnswer,
    check_rollup,
    check_sums,
    rollup_command,
    title_of,
)
from bench.pipeline.processes import CommandCost, run_measured
from bench.report import BenchRow, BenchSection, Timing
from kedge.files import parquet
from kedge.pipeline.generator import generate
from kedge.pipeline.table_reader import Tables

ROUNDS = {"S": 2}  # of each size; M takes minutes per round: `python -m bench.pipeline --ingest M`
HEAP = "2g"
SMALL_FILE_ROWS = 5_000
SECOND = "second ingest of a small file"

Check = Callable[[str, Path, Mapping[str, Any]], None]


@dataclass(frozen=True, slots=True)
class Contender:
    """A command to measure: its title, its arguments, and the check of what it wrote."""

    title: str
    command: Callable[[Path, Path], list[str]]
    check: Check


def run(rounds: Mapping[str, int] = ROUNDS) -> BenchSection:
    """Measure `kedge pipeline ingest` and its peers on each size."""
    rows, notes = list[BenchRow](), list[str]()
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="kedge-bench-") as scratch:
        for size, count in rounds.items():
            directory = Path(scratch) / size
            expected = generate(directory, size=size, formats=("parquet", "jsonl"))
            costs = _measure(directory, expected, count)
            rows += _rows(size, costs)
            costs[SECOND] = _second_ingest(directory, expected, count)
            rows.append(_second_row(size, costs))
            notes += [_note(size, title, found) for title, found in costs.items()]
            notes.append(_by_cpu(size, costs))
            shutil.rmtree(directory)
    if load > 1:
        notes.append(f"The load average of the machine was {load:.1f} before the first run.")
    return BenchSection(
        "pipeline",
        "Pipeline: `kedge pipeline ingest`",
        "The whole command in a fresh process, from start to exit: validation, bronze, silver, "
        "quarantine, late, gold, findings and snapshots. S is 146 thousand rows of metrics, so "
        "that fixed costs dominate. From Parquet files Kedge merges so few rows without Spark; "
        "JSON lines it parses with Spark, which starts, plans and compiles queries. The "
        f"second ingest adds a file of {SMALL_FILE_ROWS:,} rows to tables with all the others. The "
        "peers are fresh processes too. The bare Spark script starts, counts the rows, copies them "
        "and aggregates them once: the least that any Spark job on these rows takes. DuckDB and "
        "Polars run the roll-up of the next section, a part of what `ingest` does. Two threads "
        "each, Spark with a heap of 2 GiB; the best of the rounds, which the commands run in "
        "turns. A ratio of 0.5 means that Kedge takes twice the time.",
        tuple(rows),
        tuple(notes),
    )


def _measure(
    directory: Path, expected: Mapping[str, Any], rounds: int
) -> dict[str, list[CommandCost]]:
    """The costs of each contender, one round of all after the other."""
    costs: dict[str, list[CommandCost]] = {each.title: [] for each in CONTENDERS}
    for _ in range(rounds):
        for each in CONTENDERS:
            output = directory / "out"
            shutil.rmtree(output, ignore_errors=True)
            command = each.command(directory, output)
            printed, cost = run_measured(command, timeout_s=TIMEOUT_S)
            each.check(printed, output, expected)
            costs[each.title].append(cost)
            print(_note(str(expected["size"]), each.title, [cost]), file=sys.stderr, flush=True)
    return costs


# ---- the contenders -----------------------------------------------------------------------------


def kedge_options(directory: Path, output: Path, form: str = "parquet") -> list[str]:
    """The options of `kedge pipeline ingest` for generated metrics."""
    options = {
        "--input": directory / f"raw_{form}",
        "--format": form,
        "--brokers": directory / "brokers.parquet",
        "--assignment": directory / "assignment.parquet",
        "--tables": output,
        "--driver-memory": HEAP,
    }
    return [str(word) for pair in options.items() for word in pair]


def _kedge(directory: Path, output: Path) -> list[str]:
    program = str(Path(sys.executable).with_name("kedge"))
    return [program, "pipeline", "ingest", *kedge_options(directory, output)]


def _kedge_jsonl(directory: Path, output: Path) -> list[str]:
    program = str(Path(sys.executable).with_name("kedge"))
    return [program, "pipeline", "ingest", *kedge_options(directory, output, "jsonl")]


def _check_tables(printed: str, output: Path, expected: Mapping[str, Any]) -> None:
    check_sums(output / "gold" / "broker_load", expected, "kedge, broker_load")


def _bare_spark(directory: Path, output: Path) -> list[str]:
    source = str(directory / "raw_parquet")
    return [sys.executable, "-m", "bench.pipeline.bare_spark", source, str(output), HEAP]


def _check_count(printed: str, output: Path, expected: Mapping[str, Any]) -> None:
    if int(printed.split()[-1]) != expected["rows_total"]:
        raise WrongAnswer(f"bare Spark: {printed.split()[-1]} rows, not {expected['rows_total']}")


def _rollup_on(engine: str) -> Contender:
    def command(directory: Path, output: Path) -> list[str]:
        return rollup_command(engine, directory, output, rounds=1, heap=HEAP)

    def check(printed: str, output: Path, expected: Mapping[str, Any]) -> None:
        check_rollup(output, expected, engine)

    return Contender(f"{title_of(engine)}, roll-up alone", command, check)


KEDGE = "kedge pipeline ingest"
JSONL = "kedge pipeline ingest of JSON lines"
BARE = "bare Spark script"
CONTENDERS = (
    Contender(KEDGE, _kedge, _check_tables),
    Contender(JSONL, _kedge_jsonl, _check_tables),
    Contender(BARE, _bare_spark, _check_count),
    _rollup_on("duckdb"),
    _rollup_on("polars"),
)


# ---- the second ingest ---------------------------------------------------------------------------


def _second_ingest(directory: Path, expected: Mapping[str, Any], rounds: int) -> list[CommandCost]:
    """Ingest all rows but a small file, and then measure the ingest of that file."""
    first, both = directory / "first", directory / "both"
    split_off(directory / "raw_parquet", first / "raw_parquet", both / "raw_parquet")
    for name in ("brokers.parquet", "assignment.parquet"):
        for place in (first, both):
            shutil.copy(directory / name, place / name)
    tables, output = directory / "tables", directory / "out"
    run_measured(_kedge(first, tables), timeout_s=TIMEOUT_S)
    costs: list[CommandCost] = []
    for _ in range(rounds):
        shutil.rmtree(output, ignore_errors=True)
        shutil.copytree(tables, output)
        printed, cost = run_measured(_kedge(both, output), timeout_s=TIMEOUT_S)
        check_last_tables(printed, output, expected)
        costs.append(cost)
        print(_note(str(expected["size"]), SECOND, [cost]), file=sys.stderr, flush=True)
    return costs


def split_off(source: Path, first: Path, both: Path) -> None:
    """Copy files to both directories; the last rows go to a file of the second one alone."""
    # the largest file comes last: others may have fewer rows than are split off
    files = sorted(source.rglob("*.parquet"), key=lambda file: file.stat().st_size)
    for place in (first, both):
        place.mkdir(parents=True)
        for file in files[:-1]:
            shutil.copy(file, place / file.name)
    last = parquet().read_table(files[-1])
    cut = len(last) - SMALL_FILE_ROWS
    for place in (first, both):
        parquet().write_table(last.slice(0, cut), place / files[-1].name)
    parquet().write_table(last.slice(cut), both / "small.parquet")


def check_last_tables(printed: str, output: Path, expected: Mapping[str, Any]) -> None:
    """WrongAnswer unless the sums of the last run's table are those expected."""
    files = Tables(output).open("gold/broker_load").file_uris()
    if len(files) != 1:
        raise WrongAnswer(f"kedge, broker_load: {len(files)} files")
    check_sums(Path(files[0].removeprefix("file://")), expected, "kedge, second ingest")


# ---- what the page says -------------------------------------------------------------------------


def _rows(size: str, costs: Mapping[str, list[CommandCost]]) -> list[BenchRow]:
    ours = _timing(costs[KEDGE])
    peers = {title: found for title, found in costs.items() if title not in (KEDGE, JSONL)}
    lines = _timing(costs[JSONL])
    return [
        *(
            BenchRow(f"{size}, whole command", ours, title, _timing(found))
            for title, found in peers.items()
        ),
        BenchRow(f"{size}, JSON lines", lines, BARE, _timing(costs[BARE])),
    ]


def _second_row(size: str, costs: Mapping[str, list[CommandCost]]) -> BenchRow:
    return BenchRow(f"{size}, {SECOND}", _timing(costs[SECOND]), BARE, _timing(costs[BARE]))


def _timing(costs: Sequence[CommandCost]) -> Timing:
    walls = sorted(cost.wall for cost in costs)
    return Timing(walls[len(walls) // 2], walls[0])


def _note(size: str, title: str, costs: Sequence[CommandCost]) -> str:
    walls = " and ".join(f"{cost.wall:.1f}" for cost in costs)
    cpus = " and ".join(f"{cost.cpu:.1f}" for cost in costs)
    peak = max(cost.rss_mb for cost in costs)
    return f"{size}, {title}: {walls} s, {cpus} CPU s, at most {peak:,.0f} MB."


def _by_cpu(size: str, costs: Mapping[str, list[CommandCost]]) -> str:
    """Other work on the machine stretches times; CPU seconds it stretches less."""
    least = {title: min(cost.cpu for cost in found) for title, found in costs.items()}
    ratios = ", ".join(
        f"{title} {cpu / least[KEDGE]:.2f}"
        for title, cpu in least.items()
        if title not in (KEDGE, JSONL, SECOND)
    )
    return f"{size}, ratios by CPU seconds in place of time: {ratios}."
