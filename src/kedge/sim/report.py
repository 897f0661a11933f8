"""What many runs have shown, as lines to read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from kedge.sim.coverage import Coverage
from kedge.sim.run import Outcome
from kedge.sim.sweep import Killing

YIELDS_SHOWN = 12


class Tally:
    """Outcomes added up."""

    def __init__(self) -> None:
        self.coverage = Coverage()
        self.runs = 0
        self.virtual_ms = 0
        self.settled_ms_max = 0
        self.failed: list[Outcome] = []
        self.killings: Counter[str] = Counter()
        self.failed_killings: list[Killing] = []

    def add_killing(self, killing: Killing) -> None:
        """Take in one run of the sweep."""
        if killing.place:
            self.killings[killing.scenario] += 1
        self.coverage.add(killing.coverage)
        if killing.violation:
            self.failed_killings.append(killing)

    @property
    def violations(self) -> int:
        """How many runs broke a rule."""
        return len(self.failed) + len(self.failed_killings)

    def add(self, outcome: Outcome) -> None:
        """Take in one run."""
        self.runs += 1
        self.virtual_ms += outcome.virtual_ms
        self.settled_ms_max = max(self.settled_ms_max, outcome.settled_ms)
        self.coverage.add(outcome.coverage)
        if outcome.violation:
            self.failed.append(outcome)

    def lines(self) -> Iterator[str]:
        """The whole story, in order of interest."""
        seen = self.coverage
        hours = self.virtual_ms / 3_600_000
        yield f"{self.runs} runs, {hours:.1f} simulated hours, {self.violations} violations"
        yield f"slowest to settle: {self.settled_ms_max / 1000:.0f} simulated seconds"
        yield from _table("killed at every yield of the script of", self.killings)
        yield from _table("faults injected", seen.faults)
        yield from _table("work done", seen.work)
        yield from self._crashes()
        yield from _table("states reached", seen.states)
        yield from _table("answers and records", seen.counts)
        yield from _table("rules checked", seen.checks)
        yield from self._failures()

    def _crashes(self) -> Iterator[str]:
        seen = self.coverage
        missed = sorted(set(seen.yields) - set(seen.crashes))
        yield ""
        yield (
            f"controllers killed {seen.crashes.total()} times, at {len(seen.crashes)} of the "
            f"{len(seen.yields)} yields that scripts have stood at"
        )
        by_script: Counter[str] = Counter()
        for place, times in seen.crashes.items():
            by_script[place.split(" › ")[0]] += times
        yield from _table("killed in script", by_script)
        if missed:
            yield ""
            yield f"never killed at {len(missed)} of them, such as"
            yield from (f"  {seen.yields[place]:8}  {place}" for place in missed[:YIELDS_SHOWN])

    def _failures(self) -> Iterator[str]:
        for killing in self.failed_killings:
            when = "after" if killing.after_effect else "before"
            yield ""
            yield f"{killing.scenario}, killed {when} yield {killing.at} ({killing.place}):"
            yield f"  {killing.violation}"
        for outcome in sorted(self.failed, key=lambda outcome: outcome.seed):
            yield ""
            yield f"seed {outcome.seed}: {outcome.violation}"
            yield f"  replay it: make sim SEED={outcome.seed}"


def _table(title: str, counts: Counter[str]) -> Iterator[str]:
    if counts:
        yield ""
        yield title
        for name, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
            yield f"  {count:8}  {name}"
