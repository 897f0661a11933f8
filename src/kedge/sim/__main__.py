"""Run simulations: `python -m kedge.sim --seeds 2000`, or one with its trace: `--seed 81276`."""

from __future__ import annotations

import argparse
import os
import secrets
import sys
import time
from functools import partial
from multiprocessing import get_context

from kedge.sim.crash_sweep import SCENARIOS, sweep_all
from kedge.sim.mutations import MUTATIONS
from kedge.sim.report import Tally
from kedge.sim.run import RunSettings, run_seed

RANDOM_SEEDS_MAX = 1_000_000_000
EXIT_BROKEN_PIPE = 141  # what shells report for a command that SIGPIPE has ended


def main(arguments: list[str] | None = None) -> int:
    """The command; returns 1 if there was a violation, else 0.

    Ends without a message when the reader of its output has ended (`… | head`).
    """
    options = _parser().parse_args(arguments)
    try:
        code = _run(options)
        sys.stdout.flush()
    except BrokenPipeError:
        # what is still buffered goes nowhere, so that closing the stream at exit cannot fail
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_BROKEN_PIPE
    return code


def _run(options: argparse.Namespace) -> int:
    settings = RunSettings(mutation=options.broken, steps=options.steps)
    if options.seed is not None:
        return _run_one(options.seed, settings, trace=options.trace)
    return _run_many(options, settings)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m kedge.sim", description=__doc__)
    parser.add_argument("--seeds", type=int, default=100, help="number of seeds")
    parser.add_argument(
        "--first-seed",
        type=_first_seed,
        default=1,
        metavar="N",
        help="the first seed; 'random' chooses it (it is printed)",
    )
    parser.add_argument("--seed", type=int, help="run only this seed")
    parser.add_argument("--trace", action="store_true", help="print the events (with --seed)")
    parser.add_argument(
        "--steps", type=int, default=RunSettings().steps, help="operations and faults per run"
    )
    parser.add_argument("--jobs", type=int, default=2, help="number of processes")
    parser.add_argument(
        "--broken",
        default="",
        choices=[name for name in MUTATIONS],
        help="run mutated controllers that violate this rule, to test the checkers",
    )
    parser.add_argument("--no-sweep", action="store_true", help="skip the crash sweep")
    parser.add_argument("--stop-at-first", action="store_true", help="stop at the first violation")
    return parser


def _first_seed(text: str) -> int:
    return secrets.randbelow(RANDOM_SEEDS_MAX) if text == "random" else int(text)


def _run_one(seed: int, settings: RunSettings, *, trace: bool) -> int:
    print(f"seed {seed}", flush=True)
    outcome = run_seed(seed, settings, print if trace else None)
    tally = Tally(settings)
    tally.add(outcome)
    print("\n".join(tally.lines()))
    return 1 if outcome.violation else 0


def _run_many(options: argparse.Namespace, settings: RunSettings) -> int:
    first, count = options.first_seed, options.seeds
    print(f"seeds {first} to {first + count - 1}", flush=True)
    began, tally = time.monotonic(), Tally(settings)
    # spawned interpreters: a run depends on no state of this process
    with get_context("spawn").Pool(options.jobs) as pool:
        if not options.no_sweep and not settings.mutation:
            for crash_runs in pool.imap(sweep_all, SCENARIOS):
                for crash_run in crash_runs:
                    tally.add_crash_run(crash_run)
        work = partial(run_seed, settings=settings)
        for outcome in pool.imap_unordered(work, range(first, first + count), chunksize=4):
            tally.add(outcome)
            if outcome.violation:
                print(f"seed {outcome.seed}: {outcome.violation}", file=sys.stderr, flush=True)
                if options.stop_at_first:
                    break
    print("\n".join(tally.lines()))
    print(f"\n{time.monotonic() - began:.0f} s")
    return 1 if tally.violations else 0


if __name__ == "__main__":
    sys.exit(main())
