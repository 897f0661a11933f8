"""The one queue: events from any thread, taken by one, in the order in which they came."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from threading import Condition
from typing import Any, NamedTuple

from kedge.controller import events as e
from kedge.errors import Unavailable
from kedge.runtime.watch_events import DEDUPLICATED_EVENTS

Replied = Callable[[Any], None]

QUEUED_REQUESTS_MAX = 10_000  # callers that may wait at the same time

_REQUESTS = (
    e.ElectionRequested,
    e.ReassignmentRequested,
    e.ReassignmentsListed,
    e.IsrChangeRequested,
    e.ShutdownRequested,
    e.ProducerIdsRequested,
)


class QueuedEvent(NamedTuple):
    """An event in the queue, who asked, and since when it waits."""

    event: e.Event
    replied: Replied | None
    since_ms: int


class EventQueue:
    """Bounded by what it holds: of events that say "look again" one of each kind waits, of callers
    so many and no more."""

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms
        self._events: deque[QueuedEvent] = deque()
        self._deduplicated: set[e.Event] = set()  # "look again" events that wait
        self._requests = 0
        self._changed = Condition()

    def put(self, event: e.Event, replied: Replied | None = None) -> None:
        """Queue an event; a request is refused when too many callers wait already."""
        with self._changed:
            if isinstance(event, DEDUPLICATED_EVENTS) and replied is None:
                if event in self._deduplicated:
                    return
                self._deduplicated.add(event)
            elif isinstance(event, _REQUESTS):
                if self._requests >= QUEUED_REQUESTS_MAX:
                    raise Unavailable("the controller is busy", hint="ask again later")
                self._requests += 1
            self._events.append(QueuedEvent(event, replied, self._now_ms()))
            self._changed.notify_all()

    def __len__(self) -> int:
        """How many events wait."""
        return len(self._events)

    def take(self) -> QueuedEvent | None:
        """The next event, if any waits."""
        with self._changed:
            if not self._events:
                return None
            queued = self._events.popleft()
            if isinstance(queued.event, DEDUPLICATED_EVENTS):
                # from here on a new notice is news again
                self._deduplicated.discard(queued.event)
            self._requests -= isinstance(queued.event, _REQUESTS)
            return queued

    def drain(self, instead: e.Event | None = None) -> list[QueuedEvent]:
        """Take everything out at once, and put one event in its place."""
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
        """Let `wait` return."""
        with self._changed:
            self._changed.notify_all()

    def wait(self, timeout_s: float, unless: Callable[[], bool]) -> None:
        """Sleep until an event waits, the time is up, or there is a reason not to."""
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
