"""The deadline of a call, and the time that is left until it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import TypeVar

from kedge.errors import RequestTimedOut

SHARES_MAX = 6

T = TypeVar("T")


class Deadline:
    """The moment at which a call must have ended."""

    def __init__(self, timeout_ms: float) -> None:
        self._timeout_ms = timeout_ms
        self._at = time.monotonic() + timeout_ms / 1000

    def left_s(self, doing: str = "waiting for a response") -> float:
        """The seconds that are left; raises RequestTimedOut when none are."""
        left = self._at - time.monotonic()
        if left <= 0:
            raise RequestTimedOut(f"no end of {doing} within {self._timeout_ms:.0f} ms")
        return left

    def left_ms(self) -> int:
        """The milliseconds that are left, at least one."""
        return max(1, int(self.left_s() * 1000))

    def within(self, timeout_ms: float) -> Deadline:
        """The sooner of this one and so many milliseconds from now."""
        return Deadline(min(timeout_ms, self.left_s() * 1000))

    def shares(self, parts: Sequence[T]) -> Iterator[tuple[T, Deadline]]:
        """Each part of a call with a deadline of its own: none uses up the time of those after it.

        Of many parts most take moments, so that each has a sixth of what is left, or more.
        """
        for left, part in zip(range(len(parts), 0, -1), parts, strict=True):
            left_ms = max(0.0, self._at - time.monotonic()) * 1000
            yield part, Deadline(left_ms / min(left, SHARES_MAX))

    def pause(self, pause_s: float) -> None:
        """Sleep, but not beyond the deadline."""
        time.sleep(min(pause_s, self.left_s()))
