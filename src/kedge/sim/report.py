"""Summarises the outcomes of many runs as lines of text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from kedge.sim.coverage import Coverage
from kedge.sim.crash_sweep import CrashRun
from kedge.sim.run import Outcome, RunSettings

YIELDS_SHOWN = 12


class Tally:
    """The sum of the outcomes of many runs."""

    def __init__(self, settings: RunSettings | None = None) -> None:
        self.settings = settings or RunSettings()
        self.coverage = Coverage()
        self.runs = 0
        self.virtual_ms = 0
        self.converged_ms_max = 0
        self.failed: list[Outcome] = []
        self.crash_runs: Counter[str] = Counter()
        self.failed_crash_runs: list[CrashRun] = []

    def add_crash_run(self, crash_run: CrashRun) -> None:
        """Add one run of the crash sweep."""
        if crash_run.place:
            self.crash_runs[crash_run.scenario] += 1
        self.coverage.add(crash_run.coverage)
        if crash_run.violation:
            self.failed_crash_runs.append(crash_run)

    @property
    def violations(self) -> int:
        """The number of runs with a violation."""
        return len(self.failed) + len(self.failed_crash_runs)

    def add(self, outcome: Outcome) -> None:
        """Add one run."""
        self.runs += 1
        self.virtual_ms += outcome.virtual_ms
        self.converged_ms_max = max(self.converged_ms_max, outcome.converged_ms)
        self.coverage.add(outcome.coverage)
        if outcome.violation:
            self.failed.append(outcome)

    def lines(self) -> Iterator[str]:
        """The report."""
        seen = self.coverage
        hours = self.virtual_ms / 3_600_000
        yield f"{self.runs} runs, {hours:.1f} simulated hours, {self.violations} violations"
        yield f"slowest convergence: {self.converged_ms_max / 1000:.0f} simulated seconds"
        yield from _table("killed at every yield of the script of", self.crash_runs)
        yield from _table("faults injected", seen.faults)
        yield from _table("operations", seen.work)
        yield from self._crashes()
        yield from _table("states reached", seen.states)
        yield from _table("responses and records", seen.counts)
        yield from _table("invariants checked", seen.checks)
        yield from self._failures()

    def _crashes(self) -> Iterator[str]:
        seen = self.coverage
        missed = sorted(set(seen.yields) - set(seen.crashes))
        yield ""
        yield (
            f"controllers killed {seen.crashes.total()} times, at {len(seen.crashes)} of the "
            f"{len(seen.yields)} yields that scripts have reached"
        )
        by_script: Counter[str] = Counter()
        for place, times in seen.crashes.items():
            by_script[place.split(" › ")[0]] += times
        yield from _table("killed in script", by_script)
        if missed:
            yield ""
            yield f"never killed at {len(missed)} of them, for example"
            yield from (f"  {seen.yields[place]:8}  {place}" for place in missed[:YIELDS_SHOWN])

    def _failures(self) -> Iterator[str]:
        for crash_run in self.failed_crash_runs:
            when = "after" if crash_run.after_effect else "before"
            yield ""
            yield f"{crash_run.scenario}, killed {when} yield {crash_run.at} ({crash_run.place}):"
            yield f"  {crash_run.violation}"
        for outcome in sorted(self.failed, key=lambda outcome: outcome.seed):
            yield ""
            yield f"seed {outcome.seed}: {outcome.violation}"
            yield f"  replay it: {replay_command(outcome.seed, self.settings)}"


def replay_command(seed: int, settings: RunSettings) -> str:
    """The command that repeats a run, with its trace."""
    usual, options = RunSettings(), ""
    if settings.steps != usual.steps:
        options += f" --steps {settings.steps}"
    if settings.mutation:
        options += f" --broken {settings.mutation}"
    if options:
        return f"python -m kedge.sim --seed {seed} --trace{options}"
    return f"make sim SEED={seed}"


def _table(title: str, counts: Counter[str]) -> Iterator[str]:
    if counts:
        yield ""
        yield title
        for name, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
            yield f"  {count:8}  {name}"
