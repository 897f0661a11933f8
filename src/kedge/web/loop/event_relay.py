"""What the loops have stored, as events for browsers: on every server, whichever one leads."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from threading import Event as Signal
from threading import Thread
from typing import Any

from kedge.database import Database
from kedge.watch.messages import Event, EventKind
from kedge.watch_runtime.watch_records import events_after, last_event, observed_at
from kedge.web.events import Broadcaster

EVERY_S = 1.0
OVERLAP = 100  # events of other servers may become visible later than newer ones
log = logging.getLogger("kedge.web")
LoopState = Callable[[str], Mapping[str, Any]]


class EventRelay:
    """A thread that reads new events and publishes them to the channels of their clusters."""

    def __init__(
        self,
        database: Database,
        broadcaster: Broadcaster,
        clusters: Collection[str],
        state: LoopState,
    ) -> None:
        self._database, self._broadcaster = database, broadcaster
        self._clusters, self._state = clusters, state
        self._last = 0
        self._seen: set[int] = set()
        self._observed: dict[str, float] = {}
        self._stopping = Signal()
        self._thread = Thread(target=self._run, name="event-relay", daemon=True)

    def start(self) -> None:
        """Begin with the events that are stored from now on."""
        self._last = last_event(self._database)
        self._seen = {number for number, _ in self._recent()}
        self._observed = observed_at(self._database)
        self._thread.start()

    def stop(self) -> None:
        """End the thread."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._stopping.wait(EVERY_S):
            try:
                self.pass_on()
            except Exception:
                log.exception("events of the loops were not read; it is tried again")

    def pass_on(self) -> None:
        """Publish what is new."""
        for number, event in self._recent():
            if number not in self._seen:
                self._seen.add(number)
                self._last = max(self._last, number)
                self._publish(event)
        self._seen = {number for number in self._seen if number > self._last - OVERLAP}
        observed = observed_at(self._database)
        for cluster, at in observed.items():
            if cluster in self._clusters and self._observed.get(cluster) != at:
                self._broadcaster.publish(f"cluster:{cluster}", "loop", self._state(cluster))
        self._observed = observed

    def _recent(self) -> list[tuple[int, Event]]:
        return events_after(self._database, max(self._last - OVERLAP, 0))

    def _publish(self, event: Event) -> None:
        kind = "proposal" if event.kind is EventKind.PROPOSAL else "finding"
        document = {
            **event.fields,
            "at": event.at,
            "title": event.title,
            "lines": list(event.lines),
            "gone": event.kind is EventKind.GONE,
        }
        self._broadcaster.publish(f"cluster:{event.cluster}", kind, document)
