"""Simulate the watch loop: `python -m kedge.sim.watch --seeds 1000`, or one: `--seed 3 --trace`."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from multiprocessing import get_context
from secrets import randbelow

from kedge.sim.watch.mutations import MUTATIONS
from kedge.sim.watch.run import Outcome, RunSettings, crash_settings, run_seed, run_settings

SWEEP_ROUNDS = 30


def main(arguments: list[str] | None = None) -> int:
    """The command; returns 1 if there was a violation, else 0."""
    options = _parser().parse_args(arguments)
    settings = RunSettings(rounds=options.rounds, mutation=options.broken)
    if options.seed is not None:
        print(f"seed {options.seed}", flush=True)
        return _report([run_seed(options.seed, settings, print if options.trace else None)], 0.0)
    first = options.first_seed or 1 + randbelow(10**9)
    print(f"seeds {first} to {first + options.seeds - 1}", flush=True)
    began, outcomes = time.monotonic(), list[Outcome]()
    work = [(seed, settings) for seed in range(first, first + options.seeds)]
    if not options.broken:
        sweep = crash_settings(first, RunSettings(rounds=SWEEP_ROUNDS))
        print(f"{len(sweep)} runs with a server that dies at one certain yield", flush=True)
        work = [*((first, each) for each in sweep), *work]
    # spawned interpreters: a run depends on no state of this process
    with get_context("spawn").Pool(options.jobs) as pool:
        for outcome in pool.imap_unordered(run_settings, work, chunksize=8):
            outcomes.append(outcome)
            if outcome.violation:
                print(f"seed {outcome.seed}: {outcome.violation}", file=sys.stderr, flush=True)
    return _report(outcomes, time.monotonic() - began)


def _report(outcomes: list[Outcome], took: float) -> int:
    counts: Counter[str] = Counter()
    for outcome in outcomes:
        counts.update(outcome.counts)
    failed = [outcome for outcome in outcomes if outcome.violation]
    days = sum(outcome.virtual_s for outcome in outcomes) / 86_400
    slowest = max((outcome.converged_s for outcome in outcomes), default=0.0) / 3600
    print(f"{len(outcomes)} runs, {days:.0f} simulated days, {len(failed)} violations")
    print(f"slowest convergence: {slowest:.1f} simulated hours\n")
    for name, number in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        print(f"  {number:9}  {name}")
    for outcome in failed:
        print(f"\nseed {outcome.seed}: {outcome.violation}")
        print(f"  replay it: python -m kedge.sim.watch --seed {outcome.seed} --trace")
    if took:
        print(f"\n{took:.0f} s")
    return 1 if failed else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m kedge.sim.watch", description=__doc__)
    parser.add_argument("--seeds", type=int, default=200, help="number of seeds")
    parser.add_argument("--first-seed", type=int, metavar="N", help="the first seed; else drawn")
    parser.add_argument("--seed", type=int, help="run only this seed")
    parser.add_argument("--trace", action="store_true", help="print the events (with --seed)")
    parser.add_argument("--rounds", type=int, default=RunSettings().rounds, help="samples per run")
    parser.add_argument("--jobs", type=int, default=2, help="number of processes")
    parser.add_argument(
        "--broken",
        default="",
        choices=list(MUTATIONS),
        help="run a loop that breaks this rule, to test the checkers",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
