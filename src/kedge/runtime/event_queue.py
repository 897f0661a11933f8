"""The event queue: events from any thread, taken by one thread in FIFO sequence."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from threading import Condition
from typing import Any, NamedTuple

from kedge.controller import events as e
from kedge.errors import Unavailable
from kedge.runtime.watch_events import DEDUPLICATED_EVENTS

Replied = Callable[[Any], None]

QUEUED_REQUESTS_MAX = 10_000  # more are rejected

_REQUESTS = (
    e.ElectionRequested,
    e.ReassignmentRequested,
    e.ReassignmentsListed,
    e.IsrChangeRequested,
    e.ShutdownRequested,
    e.ProducerIdsRequested,
)


class QueuedEvent(NamedTuple):
    """An event in the queue, the caller's callback, and the time since when it waits."""

    event: e.Event
    replied: Replied | None
    since_ms: int


class EventQueue:
    """A bounded queue: one of each deduplicated event, and a limited number of requests."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms
        self._events: deque[QueuedEvent] = deque()
        self._deduplicated: set[e.Event] = set()  # queued events that need no duplicate
        self._requests = 0
        self._changed = Condition()

    def put(self, event: e.Event, replied: Replied | None = None) -> None:
        """Queue an event; raise Unavailable for a request when too many are queued."""
        with self._changed:
            if isinstance(event, DEDUPLICATED_EVENTS) and replied is None:
                if event in self._deduplicated:
                    return
                self._deduplicated.add(event)
            elif isinstance(event, _REQUESTS):
                if self._requests >= QUEUED_REQUESTS_MAX:
                    raise Unavailable("the controller is busy", hint="try again later")
                self._requests += 1
            self._events.append(QueuedEvent(event, replied, self._now_ms()))
            self._changed.notify_all()

    def __len__(self) -> int:
        """Return the number of queued events."""
        return len(self._events)

    def take(self) -> QueuedEvent | None:
        """Return the next event, or None."""
        with self._changed:
            if not self._events:
                return None
            queued = self._events.popleft()
            if isinstance(queued.event, DEDUPLICATED_EVENTS):
                # from here on a new event must be queued again
                self._deduplicated.discard(queued.event)
            self._requests -= isinstance(queued.event, _REQUESTS)
            return queued

    def drain(self, instead: e.Event | None = None) -> list[QueuedEvent]:
        """Remove all events, and put one event in their place."""
        with self._changed:
            drained = list(self._events)
            self._events.clear()
            self._deduplicated.clear()
            self._requests = 0
            if instead is not None:
                self._events.append(QueuedEvent(instead, None, self._now_ms()))
            self._changed.notify_all()
        return drained

    def wake(self) -> None:
        """Make `wait` return."""
        with self._changed:
            self._changed.notify_all()

    def wait(self, timeout_s: float, unless: Callable[[], bool]) -> None:
        """Sleep until an event is queued, the time is up, or `unless` holds."""
        with self._changed:
            if not self._events and not unless():
                self._changed.wait(timeout_s)


# ---- replies ---------------------------------------------------------------------------------


def no_reply(_answer: Any) -> None:
    """The callback of an event without a caller."""


class OnceReply:
    """A caller's callback, called at most once.

    An exception of the callback does not end the loop; it is passed to `failed`.
    """

    def __init__(self, replied: Replied, failed: Callable[[Exception], None]) -> None:
        self._replied: Replied | None = replied
        self._failed = failed

    def __call__(self, answer: Any) -> None:
        replied, self._replied = self._replied, None
        if replied is not None:
            try:
                replied(answer)
            except Exception as error:
                self._failed(error)
