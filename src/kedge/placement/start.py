"""The two numbers that a placement starts from: index of the first broker, and shift."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kedge.errors import InvalidRequest

Draw = Callable[[int], int]  # draw(n) is one of 0 … n-1


@dataclass(frozen=True, slots=True)
class Start:
    """Where on the ring partition 0 is led from, and how far its followers are shifted.

    Neither is reduced to the number of brokers: a start of 12 among 5 brokers is legal.
    """

    start: int
    shift: int

    def __post_init__(self) -> None:
        if self.start < 0 or self.shift < 0:
            raise InvalidRequest(
                f"start {self.start}, shift {self.shift}", hint="both count from 0"
            )


def fixed(start: int) -> Start:
    """A fixed start: one number serves as both, as in Kafka's own."""
    return Start(start, start)


def drawn(draw: Draw, brokers: int) -> Start:
    """A random start: two independent draws, the start and then the shift.

    With no broker nothing is drawn: the placement itself then says what is wrong.
    """
    if brokers <= 0:
        return Start(0, 0)
    start = draw(brokers)
    return Start(start, draw(brokers))
