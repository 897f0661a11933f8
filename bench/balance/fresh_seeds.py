"""`python -m bench.balance.fresh_seeds`: plans of small clusters from seeds that are drawn anew.

Printed are the seeds, and for each scenario how many plans reach their tolerance within 3 % of the
bytes bound, and the CPU seconds of bounds and search.
"""

from __future__ import annotations

import argparse
import secrets
import sys
import time
from statistics import fmean
from typing import NamedTuple

from bench.balance.clusters import SCENARIOS, SIZES, cluster
from kedge.balance.bounds import bounds_of
from kedge.balance.search.solver import search
from kedge.balance.warm_up import warm_up

NEAR = 1.03  # times the bytes bound
DEFAULT = "skew,grow,drain,rf,kafka"


class Run(NamedTuple):
    """One plan: bytes ÷ bound, infinite where the tolerance was missed, and its CPU seconds."""

    ratio: float
    bounds_seconds: float
    search_seconds: float


def main() -> int:
    """Measure and print."""
    options = argparse.ArgumentParser(prog="python -m bench.balance.fresh_seeds")
    options.add_argument("--size", choices=sorted(SIZES), default="S")
    options.add_argument("--tolerance", type=float, default=0.02)
    options.add_argument("--scenarios", default=DEFAULT, help=", ".join(SCENARIOS))
    options.add_argument("--count", type=int, default=20, help="of seeds")
    options.add_argument("--seeds", help="these instead of new ones, separated by commas")
    asked = options.parse_args()
    drawn = [secrets.randbelow(10**9) for _ in range(asked.count)]
    seeds = [int(seed) for seed in asked.seeds.split(",")] if asked.seeds else drawn
    print("seeds", ",".join(map(str, seeds)), flush=True)
    warm_up()
    for scenario in asked.scenarios.split(","):
        runs = [measured(asked.size, scenario, seed, asked.tolerance) for seed in seeds]
        print(line_of(f"{asked.size} {scenario} {asked.tolerance:.0%}", runs), flush=True)
    return 0


def measured(size: str, scenario: str, seed: int, tolerance: float) -> Run:
    """Bounds and search of one cluster."""
    problem = cluster(size, scenario, seed).problem(tolerance)
    start = time.process_time()
    bounds = bounds_of(problem)
    between = time.process_time()
    found = search(problem, bounds)
    end = time.process_time()
    ratio = found.bytes_moved / bounds.bytes_lower_bound if found.balanced else float("inf")
    return Run(ratio, between - start, end - between)


def line_of(name: str, runs: list[Run]) -> str:
    """The figures of one scenario."""
    near = sum(run.ratio <= NEAR for run in runs)
    missed = sum(run.ratio == float("inf") for run in runs)
    return (
        f"{name}: {near} of {len(runs)} within {NEAR} of the bound, {missed} tolerances missed, "
        f"CPU seconds: bounds {fmean(run.bounds_seconds for run in runs):.2f}, "
        f"search {fmean(run.search_seconds for run in runs):.2f} "
        f"(most {max(run.search_seconds for run in runs):.2f}); "
        f"ratios {' '.join(f'{run.ratio:.4f}' for run in runs)}"
    )


if __name__ == "__main__":
    sys.exit(main())
