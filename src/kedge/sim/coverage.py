"""What a run has been through: faults, yields and crashes at them, states, events, work."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from kedge.controller.effects import Effect, RecordPartitions, RecordReplicas


@dataclass
class Coverage:
    """Counts that can be added up over many runs."""

    faults: Counter[str] = field(default_factory=Counter[str])
    work: Counter[str] = field(default_factory=Counter[str])
    yields: Counter[str] = field(default_factory=Counter[str])
    crashes: Counter[str] = field(default_factory=Counter[str])
    states: Counter[str] = field(default_factory=Counter[str])
    checks: Counter[str] = field(default_factory=Counter[str])
    counts: Counter[str] = field(default_factory=Counter[str])

    def saw(self, place: str, effect: Effect) -> None:
        """A script stood at a yield."""
        self.yields[place] += 1
        if isinstance(effect, RecordPartitions | RecordReplicas):
            if effect.moved:
                self.states[effect.target.value] += len(effect.moved)
            if effect.refused:
                self.states[f"refused {effect.target.value}"] += len(effect.refused)

    def crashed(self, place: str) -> None:
        """A process was killed at a yield."""
        self.crashes[place] += 1

    def add(self, other: Coverage) -> None:
        """Take in what another run has been through."""
        for name in ("faults", "work", "yields", "crashes", "states", "checks", "counts"):
            getattr(self, name).update(getattr(other, name))
