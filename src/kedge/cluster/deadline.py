"""The deadline of a call, and the time that is left until it."""

from __future__ import annotations

import time

from kedge.errors import RequestTimedOut


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

    def pause(self, pause_s: float) -> None:
        """Sleep, but not beyond the deadline."""
        time.sleep(min(pause_s, self.left_s()))
