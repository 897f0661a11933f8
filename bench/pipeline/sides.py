"""Running an engine in a process of its own, and what it cost there."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

SIDES = {"spark": "pyspark", "duckdb": "duckdb", "polars": "polars"}
TITLES = {"spark": "Kedge on Spark", "duckdb": "DuckDB", "polars": "Polars"}
ROUNDS = 2
LONGEST_S = 3600


@dataclass(frozen=True, slots=True)
class Measured:
    """What an engine took for one size: seconds of each round, and its greatest memory."""

    title: str
    size: str
    rows: int
    walls: tuple[float, ...]
    cpus: tuple[float, ...]
    rss_mb: float


class WrongAnswer(Exception):
    """An engine gave another answer than the generator foretold."""


def measured(
    name: str, directory: Path, expected: Mapping[str, Any], *, heap: str, rounds: int = ROUNDS
) -> Measured:
    """Let an engine do the work, judge its answers, and tell its cost."""
    output = directory / f"out-{name}"
    command = [sys.executable, "-m", f"bench.pipeline.{name}_side", str(directory), str(output)]
    done = subprocess.run(
        [*command, str(rounds), heap],
        stdout=subprocess.PIPE,
        check=True,
        text=True,
        timeout=LONGEST_S,
    )
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    check(output, expected, name)
    shutil.rmtree(output)
    title = f"{TITLES[name]} {version(SIDES[name])}"
    walls, cpus = tuple(told["walls"]), tuple(told["cpus"])
    rows = int(expected["rows_total"])
    return Measured(title, str(expected["size"]), rows, walls, cpus, told["rss_mb"])


def check(output: Path, expected: Mapping[str, Any], name: str) -> None:
    """WrongAnswer unless both tables add up to what was foretold."""
    import duckdb

    wanted = [expected["clean_unique"], expected["clean_bytes_in"], expected["clean_bytes_out"]]
    with duckdb.connect() as database:
        for table in ("rollup", "model"):
            sums = "sum(rows), sum(bytes_in), sum(bytes_out)"
            files = f"'{output}/{table}/*.parquet'"
            found = database.execute(f"select {sums} from {files}").fetchall()
            if [int(value) for value in found[0]] != wanted:
                raise WrongAnswer(f"{name}, {table}: {found[0]}, not {wanted}")
