"""The network between the nodes: delays, losses, and cuts in either direction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from kedge.sim.clock import Clock
from kedge.sim.rng import SeededRng


@dataclass(slots=True)
class Network:
    """Carries messages; a lost one leaves no trace, and its sender waits for its own timeout."""

    clock: Clock
    rng: SeededRng
    loss: float = 0.0
    delay_ms_max: int = 5
    cuts: set[tuple[int, int]] = field(default_factory=set[tuple[int, int]])
    carried: int = 0
    lost: int = 0

    def carry(self, source: int, target: int, deliver: Callable[[], object]) -> None:
        """Deliver a message after a delay, or lose it."""
        if (source, target) in self.cuts or (self.loss and self.rng.chance(self.loss)):
            self.lost += 1
            return
        self.carried += 1
        delay = self.rng.between(1, self.delay_ms_max)
        if self.rng.draw(200) == 0:
            delay += self.rng.between(100, 3_000)  # one that overtakes no other any more
        self.clock.after(delay, deliver)

    def isolate(self, nodes: set[int], everyone: set[int], *, one_way: bool) -> None:
        """Cut some nodes off from the others; one-way, only what they send is lost."""
        for a in nodes:
            for b in everyone - nodes:
                self.cuts.add((a, b))
                if not one_way:
                    self.cuts.add((b, a))

    def heal(self) -> None:
        """Carry everything again."""
        self.cuts.clear()
        self.loss, self.delay_ms_max = 0.0, 5
