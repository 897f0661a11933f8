"""`kedge pipeline ingest` beside the same command of another checkout, in turns."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

from bench.pipeline.engines import TIMEOUT_S
from bench.pipeline.ingest import check_last_tables, kedge_options
from bench.pipeline.processes import CommandCost, run_measured
from kedge.pipeline.generator import generate


def compared(checkout: Path, size: str, rounds: int) -> str:
    """The times of both on one size, and their ratio, as a text."""
    costs: dict[str, list[CommandCost]] = {"this": [], "former": []}
    sources = {"this": Path(__file__).parents[2] / "src", "former": checkout.absolute() / "src"}
    with tempfile.TemporaryDirectory(prefix="kedge-bench-") as scratch:
        directory = Path(scratch)
        expected = generate(directory, size=size)
        for _ in range(rounds):
            for name, found in costs.items():
                output = directory / "out"
                shutil.rmtree(output, ignore_errors=True)
                options = kedge_options(directory, output)
                command = [sys.executable, "-m", "kedge", "pipeline", "ingest", *options]
                environment = {**os.environ, "PYTHONPATH": str(sources[name])}
                printed, cost = run_measured(command, timeout_s=TIMEOUT_S, environment=environment)
                if name == "this":
                    check_last_tables(printed, output, expected)
                found.append(cost)
                print(f"{size}, {name}: {_text([cost])}", file=sys.stderr, flush=True)
    walls = {name: min(cost.wall for cost in found) for name, found in costs.items()}
    ratio = walls["this"] / walls["former"]
    return f"{size}: {_text(costs['this'])}; former {_text(costs['former'])}; {ratio:.2f} of it"


def _text(costs: list[CommandCost]) -> str:
    walls = " and ".join(f"{cost.wall:.1f}" for cost in costs)
    cpus = " and ".join(f"{cost.cpu:.1f}" for cost in costs)
    return f"{walls} s, {cpus} CPU s, at most {max(cost.rss_mb for cost in costs):,.0f} MB"
