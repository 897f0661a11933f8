"""The command line of the simulators of KRaft: many seeds, or one with its trace."""

from __future__ import annotations

import argparse
import secrets
import sys
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from typing import Any

from kedge.sim.quorum.two_phases import Outcome

SWEEP_STEPS = 30
DRAWN_SEEDS = 10**8


@dataclass(frozen=True, slots=True)
class Simulation:
    """What a command runs. `settings` makes the settings of a run of steps and a mutation."""

    program: str
    description: str | None
    steps: int
    mutations: Collection[str]
    settings: Callable[[int, str], Any]
    run_seed: Callable[..., Outcome]
    crash_sweep: Callable[[int, Any], Iterator[Outcome]]

    def main(self, arguments: list[str] | None) -> int:
        """The command; returns 1 if there was a violation, else 0."""
        options = self._parser().parse_args(arguments)
        settings = self.settings(options.steps, options.broken)
        if options.seed is not None:
            print(f"seed {options.seed}", flush=True)
            trace = print if options.trace else None
            return self._report([self.run_seed(options.seed, settings, trace)], 0, 0.0)
        first = options.first_seed
        first = secrets.randbelow(DRAWN_SEEDS) if first == "random" else int(first)
        print(f"seeds {first} to {first + options.seeds - 1}", flush=True)
        began = time.monotonic()
        sweep = () if options.broken else self.crash_sweep(first, self.settings(SWEEP_STEPS, ""))
        # spawned interpreters: a run depends on no state of this process
        with get_context("spawn").Pool(options.jobs) as pool:
            work = partial(self.run_seed, settings=settings)
            seeds = range(first, first + options.seeds)
            running = pool.imap_unordered(work, seeds, chunksize=8)
            outcomes = list(sweep)  # while the pool is at work: each run decides on the next one
            swept = len(outcomes)
            for outcome in running:
                outcomes.append(outcome)
                if outcome.violation:
                    print(f"seed {outcome.seed}: {outcome.violation}", file=sys.stderr, flush=True)
        return self._report(outcomes, swept, time.monotonic() - began)

    def _report(self, outcomes: list[Outcome], swept: int, took: float) -> int:
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
            print(f"  replay it: {self.program} --seed {outcome.seed} --trace")
        if took:
            print(f"\n{took:.0f} s")
        return 1 if failed else 0

    def _parser(self) -> argparse.ArgumentParser:
        parser = argparse.ArgumentParser(prog=self.program, description=self.description)
        parser.add_argument("--seeds", type=int, default=200, help="number of seeds")
        parser.add_argument(
            "--first-seed", default="1", metavar="N", help="the first seed; `random` draws it"
        )
        parser.add_argument("--seed", type=int, help="run only this seed")
        parser.add_argument("--trace", action="store_true", help="print the events (with --seed)")
        parser.add_argument(
            "--steps", type=int, default=self.steps, help="operations and faults per run"
        )
        parser.add_argument("--jobs", type=int, default=2, help="number of processes")
        parser.add_argument(
            "--broken",
            default="",
            choices=list(self.mutations),
            help="run nodes that violate this rule, to test the checkers",
        )
        return parser
