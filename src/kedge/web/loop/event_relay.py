"""What the loops have stored, as events for browsers: on every server, whichever one leads."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from kedge.database import Database
from kedge.watch.messages import Event, EventKind
from kedge.watch_runtime.watch_records import events_after, last_event, observed_at
from kedge.web.events import Broadcaster
from kedge.web.periodic import PeriodicTask

EVERY_S = 1.0
OVERLAP = 100  # events of other servers may become visible later than newer ones
LoopState = Callable[[str], Mapping[str, Any]]


class EventRelay(PeriodicTask):
    """Reads new events and publishes them to the channels of their clusters."""

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
        super().__init__("event-relay", EVERY_S, self.pass_on)

    def start(self) -> None:
        """Begin with the events that are stored from now on."""
        self._last = last_event(self._database)
        self._seen = {number for number, _ in self._recent()}
        self._observed = observed_at(self._database)
        super().start()

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
            "cluster": event.cluster,
            "at": event.at,
            "title": event.title,
            "lines": list(event.lines),
            "gone": event.kind is EventKind.GONE,
        }
        self._broadcaster.publish(f"cluster:{event.cluster}", kind, document)
