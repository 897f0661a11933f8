"""Controller candidates of a lab: one per broker, as in Kafka's ZooKeeper mode.

A `ControllerCandidate` survives the restarts of its broker; the controller loop inside does not.
The endpoint sends its requests to the candidate.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kedge.brokers.port import Brokers
from kedge.controller.events import Event, Started
from kedge.controller.settings import Settings
from kedge.errors import NotController
from kedge.lab.lab_cluster import LabCluster
from kedge.model import BrokerId
from kedge.runtime import ControllerView
from kedge.runtime.loop import Loop, Replied
from kedge.sim.broker_links import SimulatedLinks
from kedge.sim.broker_machine import broker_node
from kedge.store.memory import MemoryStore
from kedge.store.port import StoreEvent

POLL_MS = 2_000  # interval at which a candidate checks its timers and its connection to the store


class CandidateLoop(Loop):
    """A controller loop that runs on the lab's thread whenever events are queued."""

    def __init__(
        self, cluster: LabCluster, me: BrokerId, store: MemoryStore, brokers: Brokers
    ) -> None:
        self.cluster = cluster
        self.is_over = False
        self._is_scheduled = False
        clock, settings = cluster.clock, cluster.settings
        super().__init__(me, store, brokers, now_ms=lambda: clock.now_ms, settings=settings)

    def put(self, event: Event, replied: Replied | None = None) -> None:
        """Queue an event, from any thread."""
        super().put(event, replied)
        self.schedule()

    def on_store_event(self, event: StoreEvent) -> None:
        """Queue an event of the store."""
        super().on_store_event(event)
        self.schedule()

    def schedule(self) -> None:
        """Run the loop on the lab's thread soon."""
        if not self._is_scheduled:
            self._is_scheduled = True
            self.cluster.thread.post(self._work)

    def _work(self) -> None:
        self._is_scheduled = False
        while not self.is_over and self.step():
            pass


class ControllerCandidate:
    """The controller candidate of one broker, with the interface that the endpoint needs."""

    def __init__(
        self,
        cluster: LabCluster,
        broker: BrokerId,
        wrap_brokers: Callable[[Brokers], Brokers],
        settings: Settings,
    ) -> None:
        self.id = broker
        self._cluster = cluster
        self._wrap_brokers = wrap_brokers
        self._empty_view = ControllerView(settings)
        self.loop: CandidateLoop | None = None
        self.store: MemoryStore | None = None
        self.is_cut_off = False  # from the store
        cluster.candidate_inbox[broker] = self.put

    @property
    def view(self) -> ControllerView:
        """The controller state of the loop; an empty one while the broker is down."""
        loop = self.loop
        return self._empty_view if loop is None else loop.view

    def put(self, event: Event, replied: Callable[[Any], None] | None = None) -> None:
        """Queue an event, from any thread."""
        loop = self.loop
        if loop is None:
            raise NotController(f"broker {self.id} is down")
        loop.put(event, replied)

    # ---- life ----

    def start(self) -> None:
        """Start a loop, which tries to become the controller."""
        if self.loop is not None:
            return
        self.store = self._cluster.new_session()
        links = SimulatedLinks(self._cluster, self.id, broker_node(self.id))
        self.loop = CandidateLoop(self._cluster, self.id, self.store, self._wrap_brokers(links))
        self.loop.put(Started())
        self._poll_later(self.loop)

    def crash(self, *, session_ends_ms: int) -> None:
        """End the loop at once; its session with the store ends after a delay."""
        loop, store = self.loop, self.store
        if loop is None or store is None:
            return
        loop.is_over = True
        loop.executor.leave_role()
        self.loop = self.store = None
        store.listen(_ignore)
        if session_ends_ms:
            self._cluster.clock.after(session_ends_ms, store.close)
        else:
            store.close()

    def _poll_later(self, loop: CandidateLoop) -> None:
        def poll() -> None:
            if self.loop is loop and self.store is not None:
                if not self.is_cut_off:
                    self.store.reconnect()
                loop.schedule()
                self._poll_later(loop)

        self._cluster.clock.after(POLL_MS, poll)


def _ignore(_notice: StoreEvent) -> None:
    """A notification for a loop that has ended."""
