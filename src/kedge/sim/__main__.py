"""Run simulations: `python -m kedge.sim --seeds 2000`, or one with its trace: `--seed 81276`."""

from __future__ import annotations

import argparse
import secrets
import sys
import time
from functools import partial
from multiprocessing import get_context

from kedge.sim.broken import BROKEN_RULES
from kedge.sim.report import Tally
from kedge.sim.run import Plan, run_seed
from kedge.sim.sweep import SCENARIOS, sweep_all

DRAWN_SEEDS = 1_000_000_000


def main(arguments: list[str] | None = None) -> int:
    """The command; 0 when no rule was broken, 1 when one was."""
    options = _parser().parse_args(arguments)
    plan = Plan(broken=options.broken, steps=options.steps)
    if options.seed is not None:
        return _run_one(options.seed, plan, trace=options.trace)
    return _run_many(options, plan)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m kedge.sim", description=__doc__)
    parser.add_argument("--seeds", type=int, default=100, help="how many seeds to run")
    parser.add_argument(
        "--first-seed",
        type=_first_seed,
        default=1,
        metavar="N",
        help="the first of them; 'random' draws it (it is printed)",
    )
    parser.add_argument("--seed", type=int, help="run this one seed alone")
    parser.add_argument("--trace", action="store_true", help="tell what happens (with --seed)")
    parser.add_argument("--steps", type=int, default=Plan().steps, help="work and faults per run")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument(
        "--broken",
        default="",
        choices=[name for name in BROKEN_RULES],
        help="break this rule, to see whether it is noticed",
    )
    parser.add_argument("--no-sweep", action="store_true", help="leave the killings out")
    parser.add_argument("--stop-at-first", action="store_true", help="end with the first violation")
    return parser


def _first_seed(text: str) -> int:
    return secrets.randbelow(DRAWN_SEEDS) if text == "random" else int(text)


def _run_one(seed: int, plan: Plan, *, trace: bool) -> int:
    print(f"seed {seed}", flush=True)
    outcome = run_seed(seed, plan, print if trace else None)
    tally = Tally()
    tally.add(outcome)
    print("\n".join(tally.lines()))
    return 1 if outcome.violation else 0


def _run_many(options: argparse.Namespace, plan: Plan) -> int:
    first, count = options.first_seed, options.seeds
    print(f"seeds {first} to {first + count - 1}", flush=True)
    began, tally = time.monotonic(), Tally()
    # fresh interpreters: no state of this process can leak into a run
    with get_context("spawn").Pool(options.jobs) as pool:
        if not options.no_sweep and not plan.broken:
            for killings in pool.imap(sweep_all, SCENARIOS):
                for killing in killings:
                    tally.add_killing(killing)
        work = partial(run_seed, plan=plan)
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
