"""Random numbers from one seed, with an independent generator per component.

A component that draws one more number does not change the numbers of the others, so a failing run
stays nearly the same while the code around the fault is changed.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar
from zlib import crc32

T = TypeVar("T")


class SeededRng:
    """The random number generator of one component."""

    def __init__(self, seed: int, component: str) -> None:
        # crc32, because Python's own hash of a string differs between processes
        self._random = random.Random(seed * 2**32 + crc32(component.encode()))

    def draw(self, bound: int) -> int:
        """An integer from 0 to the bound, exclusive."""
        return int(self._random.random() * bound)

    def between(self, low: int, high: int) -> int:
        """An integer from low to high, inclusive."""
        return low + self.draw(high - low + 1)

    def chance(self, probability: float) -> bool:
        """True with a probability."""
        return self._random.random() < probability

    def bytes(self, count: int) -> bytes:
        """Random bytes."""
        return self._random.randbytes(count)

    def pick(self, choices: Sequence[T]) -> T:
        """One of the choices."""
        return choices[self.draw(len(choices))]

    def sample(self, choices: Sequence[T], count: int) -> list[T]:
        """Distinct choices, in random order."""
        return self._random.sample(list(choices), count)

    def weighted(self, weights: dict[T, int]) -> T:
        """One key, with a probability proportional to its weight."""
        place = self.draw(sum(weights.values()))
        for choice, weight in weights.items():
            place -= weight
            if place < 0:
                return choice
        raise AssertionError("unreachable: the draw is below the sum of the weights")
