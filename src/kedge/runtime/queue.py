"""The one queue: events from any thread, taken by one, in the order in which they came."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from threading import Condition
from typing import NamedTuple

from kedge.controller import events as e
from kedge.errors import Unavailable
from kedge.runtime.notices import LOOK_AGAIN
from kedge.runtime.replies import Replied

REQUESTS_MAX = 10_000  # callers that may wait at the same time

_REQUESTS = (
    e.ElectionRequested,
    e.ReassignmentRequested,
    e.ReassignmentsListed,
    e.IsrChangeRequested,
    e.ShutdownRequested,
    e.ProducerIdsRequested,
)


class Waiting(NamedTuple):
    """An event in the queue, who asked, and since when it waits."""

    event: e.Event
    replied: Replied | None
    since_ms: int


class EventQueue:
    """Bounded by what it holds: of events that say "look again" one of each kind waits, of callers
    so many and no more."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms
        self._waiting: deque[Waiting] = deque()
        self._looking: set[e.Event] = set()  # "look again" events that wait
        self._requests = 0
        self._changed = Condition()

    def put(self, event: e.Event, replied: Replied | None = None) -> None:
        """Queue an event; a request is refused when too many callers wait already."""
        with self._changed:
            if isinstance(event, LOOK_AGAIN) and replied is None:
                if event in self._looking:
                    return
                self._looking.add(event)
            elif isinstance(event, _REQUESTS):
                if self._requests >= REQUESTS_MAX:
                    raise Unavailable("the controller is busy", hint="ask again later")
                self._requests += 1
            self._waiting.append(Waiting(event, replied, self._now_ms()))
            self._changed.notify_all()

    def __len__(self) -> int:
        """How many events wait."""
        return len(self._waiting)

    def take(self) -> Waiting | None:
        """The next event, if any waits."""
        with self._changed:
            if not self._waiting:
                return None
            waiting = self._waiting.popleft()
            if isinstance(waiting.event, LOOK_AGAIN):
                # from here on a new notice is news again
                self._looking.discard(waiting.event)
            self._requests -= isinstance(waiting.event, _REQUESTS)
            return waiting

    def drain(self, instead: e.Event | None = None) -> list[Waiting]:
        """Take everything out at once, and put one event in its place."""
        with self._changed:
            drained = list(self._waiting)
            self._waiting.clear()
            self._looking.clear()
            self._requests = 0
            if instead is not None:
                self._waiting.append(Waiting(instead, None, self._now_ms()))
            self._changed.notify_all()
        return drained

    def wake(self) -> None:
        """Let `wait` return."""
        with self._changed:
            self._changed.notify_all()

    def wait(self, timeout_s: float, unless: Callable[[], bool]) -> None:
        """Sleep until an event waits, the time is up, or there is a reason not to."""
        with self._changed:
            if not self._waiting and not unless():
                self._changed.wait(timeout_s)
