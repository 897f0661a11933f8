"""What a command imports: a plan needs no pandas, no Spark and no plotting."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kedge.files import write_snapshot
from tests.balance.snapshots import lopsided

LATER = {"pandas", "pyspark", "plotly", "matplotlib", "polars", "kazoo", "kafka"}
NUMERIC = {"numpy", "numba", "pyarrow", "highspy"}


def imported_by(*arguments: str) -> set[str]:
    """The modules in memory after a command."""
    probe = (
        "import sys; from kedge.cli.app import run; code = run(sys.argv[1:]);"
        "print(*sorted(sys.modules), file=sys.stderr); sys.exit(code)"
    )
    command = [sys.executable, "-c", probe, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(done.stderr.split())


@pytest.mark.parametrize("arguments", [("--help",), ("topics", "--help"), ("plan", "--help")])
def test_help_imports_no_large_library(arguments: tuple[str, ...]) -> None:
    assert imported_by(*arguments) & (LATER | NUMERIC) == set()


@pytest.mark.parametrize("name", ["cluster.json", "cluster"])
def test_a_plan_imports_neither_pandas_nor_spark_nor_plotting(name: str, tmp_path: Path) -> None:
    file = tmp_path / name
    write_snapshot(lopsided(), file)
    plan = tmp_path / "plan.json"
    imported = imported_by("plan", "--snapshot", str(file), "--out", str(plan))
    assert "numba" in imported
    assert imported & LATER == set()
    assert plan.exists()
