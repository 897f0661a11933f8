"""Simulate quorums: `python -m kedge.sim.quorum --seeds 2000`, or one: `--seed 3 --trace`."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from functools import partial
from multiprocessing import get_context

from kedge.sim.quorum.mutations import MUTATIONS
from kedge.sim.quorum.run import Outcome, RunSettings, crash_sweep, run_seed

SWEEP_STEPS = 30


def main(arguments: list[str] | None = None) -> int:
    """The command; returns 1 if there was a violation, else 0."""
    options = _parser().parse_args(arguments)
    settings = RunSettings(steps=options.steps, mutation=options.broken)
    if options.seed is not None:
        print(f"seed {options.seed}", flush=True)
        outcome = run_seed(options.seed, settings, print if options.trace else None)
        return _report([outcome], 0, 0.0)
    first, count = options.first_seed, options.seeds
    print(f"seeds {first} to {first + count - 1}", flush=True)
    began = time.monotonic()
    outcomes = [] if options.broken else list(crash_sweep(first, RunSettings(steps=SWEEP_STEPS)))
    swept = len(outcomes)
    # spawned interpreters: a run depends on no state of this process
    with get_context("spawn").Pool(options.jobs) as pool:
        work = partial(run_seed, settings=settings)
        for outcome in pool.imap_unordered(work, range(first, first + count), chunksize=8):
            outcomes.append(outcome)
            if outcome.violation:
                print(f"seed {outcome.seed}: {outcome.violation}", file=sys.stderr, flush=True)
    return _report(outcomes, swept, time.monotonic() - began)


def _report(outcomes: list[Outcome], swept: int, took: float) -> int:
    counts: Counter[str] = Counter()
    for outcome in outcomes:
        counts.update(outcome.counts)
    failed = [outcome for outcome in outcomes if outcome.violation]
    hours = sum(outcome.virtual_ms for outcome in outcomes) / 3_600_000
    slowest = max((outcome.converged_ms for outcome in outcomes), default=0)
    print(f"{len(outcomes)} runs, {hours:.1f} simulated hours, {len(failed)} violations")
    print(f"{swept} of them with a node that dies at one certain durable write")
    print(f"slowest convergence: {slowest / 1000:.1f} simulated seconds\n")
    for name, number in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        print(f"  {number:9}  {name}")
    for outcome in failed:
        print(f"\nseed {outcome.seed}: {outcome.violation}")
        print(f"  replay it: python -m kedge.sim.quorum --seed {outcome.seed} --trace")
    if took:
        print(f"\n{took:.0f} s")
    return 1 if failed else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m kedge.sim.quorum", description=__doc__)
    parser.add_argument("--seeds", type=int, default=200, help="number of seeds")
    parser.add_argument("--first-seed", type=int, default=1, metavar="N", help="the first seed")
    parser.add_argument("--seed", type=int, help="run only this seed")
    parser.add_argument("--trace", action="store_true", help="print the events (with --seed)")
    parser.add_argument(
        "--steps", type=int, default=RunSettings().steps, help="operations and faults per run"
    )
    parser.add_argument("--jobs", type=int, default=2, help="number of processes")
    parser.add_argument(
        "--broken",
        default="",
        choices=list(MUTATIONS),
        help="run nodes that violate this rule, to test the checkers",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
