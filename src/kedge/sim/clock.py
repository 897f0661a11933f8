"""Virtual time: a heap of things to do, in milliseconds, in one fixed order.

Nothing ever waits. The clock jumps to the next thing to do, and things due at the same instant
happen in the order in which they were planned, so a run is the same wherever it is repeated.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush

Action = Callable[[], object]


class Timer:
    """Something planned; cancelling it is forgetting what was to be done."""

    __slots__ = ("action", "due_ms")

    def __init__(self, due_ms: int, action: Action) -> None:
        self.due_ms = due_ms
        self.action: Action | None = action

    def cancel(self) -> None:
        """Do not do it; cancelling twice, or too late, changes nothing."""
        self.action = None


class Clock:
    """The one clock of a simulated world."""

    def __init__(self) -> None:
        self.now_ms = 0
        self._heap: list[tuple[int, int, Timer]] = []
        self._planned = 0

    def at(self, due_ms: int, action: Action) -> Timer:
        """Do something at an instant; the past means now."""
        timer = Timer(max(due_ms, self.now_ms), action)
        self._planned += 1
        heappush(self._heap, (timer.due_ms, self._planned, timer))
        return timer

    def after(self, delay_ms: int, action: Action) -> Timer:
        """Do something so many milliseconds from now."""
        return self.at(self.now_ms + delay_ms, action)

    def next_due_ms(self) -> int | None:
        """When the next thing happens; None when nothing is planned."""
        heap = self._heap
        while heap and heap[0][2].action is None:
            heappop(heap)
        return heap[0][0] if heap else None

    def step(self) -> bool:
        """Do the next thing, and say whether there was one."""
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
        """Do everything that is due up to an instant, and be at that instant."""
        due_ms = self.next_due_ms()
        while due_ms is not None and due_ms <= end_ms:
            self.step()
            due_ms = self.next_due_ms()
        self.now_ms = max(self.now_ms, end_ms)
