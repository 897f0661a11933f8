"""Virtual time in milliseconds: a heap of timers that run in a deterministic order.

The clock jumps from one timer to the next. Timers due at the same instant run in the order of their
creation, so a run is the same on every machine.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush

Action = Callable[[], object]


class Timer:
    """A scheduled action."""

    __slots__ = ("action", "due_ms")

    def __init__(self, due_ms: int, action: Action) -> None:
        self.due_ms = due_ms
        self.action: Action | None = action

    def cancel(self) -> None:
        """Drop the action; cancelling twice or too late has no effect."""
        self.action = None


class Clock:
    """The clock of a simulated cluster."""

    def __init__(self, now_ms: int = 0) -> None:
        self.now_ms = now_ms
        self._heap: list[tuple[int, int, Timer]] = []
        self._created = 0

    def at(self, due_ms: int, action: Action) -> Timer:
        """Schedule an action at an instant; an instant in the past means now."""
        timer = Timer(max(due_ms, self.now_ms), action)
        self._created += 1
        heappush(self._heap, (timer.due_ms, self._created, timer))
        return timer

    def after(self, delay_ms: int, action: Action) -> Timer:
        """Schedule an action after a delay."""
        return self.at(self.now_ms + delay_ms, action)

    def next_due_ms(self) -> int | None:
        """When the next timer is due; None if there is none."""
        heap = self._heap
        while heap and heap[0][2].action is None:
            heappop(heap)
        return heap[0][0] if heap else None

    def step(self) -> bool:
        """Run the next timer; False if there is none."""
        due_ms = self.next_due_ms()
        if due_ms is None:
            return False
        timer = heappop(self._heap)[2]
        self.now_ms = due_ms
        action, timer.action = timer.action, None
        assert action is not None
        action()
        return True

    def run_until(self, end_ms: int) -> None:
        """Run all timers that are due up to an instant, and set the time to it."""
        due_ms = self.next_due_ms()
        while due_ms is not None and due_ms <= end_ms:
            self.step()
            due_ms = self.next_due_ms()
        self.now_ms = max(self.now_ms, end_ms)
