"""Counts what a run has covered: faults, operations, yields, crashes, states and checks."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from kedge.controller.effects import Effect, RecordPartitions, RecordReplicas


@dataclass
class Coverage:
    """Counts of one run, or of many runs added up."""

    faults: Counter[str] = field(default_factory=Counter[str])
    work: Counter[str] = field(default_factory=Counter[str])
    yields: Counter[str] = field(default_factory=Counter[str])
    crashes: Counter[str] = field(default_factory=Counter[str])
    states: Counter[str] = field(default_factory=Counter[str])
    checks: Counter[str] = field(default_factory=Counter[str])
    counts: Counter[str] = field(default_factory=Counter[str])

    def yielded(self, place: str, effect: Effect) -> None:
        """Count a yield and the state changes of its effect."""
        self.yields[place] += 1
        if isinstance(effect, RecordPartitions | RecordReplicas):
            if effect.moved:
                self.states[effect.target.value] += len(effect.moved)
            if effect.refused:
                self.states[f"refused {effect.target.value}"] += len(effect.refused)

    def crashed(self, place: str) -> None:
        """Count a process that was killed at a yield."""
        self.crashes[place] += 1

    def add(self, other: Coverage) -> None:
        """Add the counts of another run."""
        for name in ("faults", "work", "yields", "crashes", "states", "checks", "counts"):
            getattr(self, name).update(getattr(other, name))
