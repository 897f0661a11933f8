"""Run the roll-up on one engine in its own process, check its sums and return its cost."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bench.pipeline.processes import run_measured

ENGINES = {"spark": "pyspark", "duckdb": "duckdb", "polars": "polars"}
TITLES = {"spark": "Kedge on Spark", "duckdb": "DuckDB", "polars": "Polars"}
ROUNDS = 2
TIMEOUT_S = 3600


@dataclass(frozen=True, slots=True)
class Measured:
    """Cost of the roll-up of one size on one engine: seconds per round, and peak memory."""

    title: str
    size: str
    rows: int
    walls: tuple[float, ...]
    cpus: tuple[float, ...]
    rss_mb: float


class WrongAnswer(Exception):
    """The tables of an engine do not have the sums that the generator expects."""


def title_of(engine: str) -> str:
    """The engine with its version."""
    return f"{TITLES[engine]} {version(ENGINES[engine])}"


def rollup_command(
    engine: str, directory: Path, output: Path, *, rounds: int, heap: str
) -> list[str]:
    """The command that runs the roll-up on an engine."""
    module = f"bench.pipeline.{engine}_rollup"
    return [sys.executable, "-m", module, str(directory), str(output), str(rounds), heap]


def measured(
    engine: str, directory: Path, expected: Mapping[str, Any], *, heap: str, rounds: int = ROUNDS
) -> Measured:
    """Run the roll-up, check its tables and return the cost of each round."""
    output = directory / f"out-{engine}"
    command = rollup_command(engine, directory, output, rounds=rounds, heap=heap)
    printed, _ = run_measured(command, timeout_s=TIMEOUT_S)
    cost: dict[str, Any] = json.loads(printed.splitlines()[-1])
    check_rollup(output, expected, engine)
    shutil.rmtree(output)
    walls, cpus = tuple(cost["walls"]), tuple(cost["cpus"])
    rows = int(expected["rows_total"])
    return Measured(title_of(engine), str(expected["size"]), rows, walls, cpus, cost["rss_mb"])


def check_rollup(output: Path, expected: Mapping[str, Any], engine: str) -> None:
    """WrongAnswer unless the sums of both tables are those expected."""
    for table in ("rollup", "model"):
        check_sums(output / table, expected, f"{engine}, {table}")


def check_sums(table: Path, expected: Mapping[str, Any], what: str) -> None:
    """WrongAnswer unless rows, bytes in and bytes out of a table add up to those expected."""
    import duckdb

    wanted = [expected["clean_unique"], expected["clean_bytes_in"], expected["clean_bytes_out"]]
    with duckdb.connect() as database:
        sums = "sum(rows), sum(bytes_in), sum(bytes_out)"
        files = table if table.is_file() else f"{table}/**/*.parquet"
        found = database.execute(f"select {sums} from '{files}'").fetchall()
    if [int(value) for value in found[0]] != wanted:
        raise WrongAnswer(f"{what}: {found[0]}, not {wanted}")
