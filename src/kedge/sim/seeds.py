"""Luck from one number: every component draws from a child seed of its own.

So a component that draws once more does not change what all the others draw, and a failing run
stays the same run while the code around the fault is being read and changed.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar
from zlib import crc32

T = TypeVar("T")


class Luck:
    """The random numbers of one component."""

    def __init__(self, seed: int, component: str) -> None:
        # the name is hashed by a fixed function: Python's own hash differs from run to run
        self._random = random.Random(seed * 2**32 + crc32(component.encode()))

    def draw(self, bound: int) -> int:
        """A whole number from 0 up to, not including, the bound."""
        return int(self._random.random() * bound)

    def between(self, low: int, high: int) -> int:
        """A whole number from low to high, both included."""
        return low + self.draw(high - low + 1)

    def chance(self, probability: float) -> bool:
        """True so often."""
        return self._random.random() < probability

    def bytes(self, count: int) -> bytes:
        """So many bytes."""
        return self._random.randbytes(count)

    def pick(self, choices: Sequence[T]) -> T:
        """One of them."""
        return choices[self.draw(len(choices))]

    def sample(self, choices: Sequence[T], count: int) -> list[T]:
        """So many different ones, in random order."""
        return self._random.sample(list(choices), count)

    def weighted(self, weights: dict[T, int]) -> T:
        """One key, as likely as its weight."""
        place = self.draw(sum(weights.values()))
        for choice, weight in weights.items():
            place -= weight
            if place < 0:
                return choice
        raise AssertionError("the weights sum up to more than they are")
