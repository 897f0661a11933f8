"""Candidates for the controller's role: one on every broker, as with Kafka's own in ZooKeeper mode.

A seat is where a broker's candidate sits, through all its restarts. The endpoint asks seats, never
the loops themselves: a loop ends with its broker, a seat does not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kedge.brokers.port import Brokers
from kedge.controller.events import Event, Started
from kedge.controller.settings import Settings
from kedge.errors import NotController
from kedge.lab.world import LabWorld
from kedge.model import BrokerId
from kedge.runtime import ControllerView
from kedge.runtime.loop import Loop, Replied
from kedge.sim.links import SimulatedLinks
from kedge.sim.machines import broker_node
from kedge.store.memory import MemoryStore
from kedge.store.port import StoreEvent

LOOK_MS = 2_000  # how often a candidate looks after what nobody tells it: timers, a store come back


class CandidateLoop(Loop):
    """The controller's loop, run on the lab's thread whenever something waits."""

    def __init__(self, world: LabWorld, me: BrokerId, store: MemoryStore, brokers: Brokers) -> None:
        self.world = world
        self.is_over = False
        self._is_awake = False
        clock = world.clock
        super().__init__(me, store, brokers, now_ms=lambda: clock.now_ms, settings=world.settings)

    def put(self, event: Event, replied: Replied | None = None) -> None:
        """Queue an event, from any thread."""
        super().put(event, replied)
        self.rouse()

    def on_store_event(self, event: StoreEvent) -> None:
        """Take a event of the store."""
        super().on_store_event(event)
        self.rouse()

    def rouse(self) -> None:
        """Have the loop run soon."""
        if not self._is_awake:
            self._is_awake = True
            self.world.engine.post(self._work)

    def _work(self) -> None:
        self._is_awake = False
        while not self.is_over and self.step():
            pass


class Seat:
    """One broker's place among the candidates. Looks like a controller to the endpoint."""

    def __init__(
        self,
        world: LabWorld,
        broker: BrokerId,
        ports: Callable[[Brokers], Brokers],
        settings: Settings,
    ) -> None:
        self.id = broker
        self._world = world
        self._ports = ports
        self._no_view = ControllerView(settings)
        self.loop: CandidateLoop | None = None
        self.store: MemoryStore | None = None
        self.is_cut_off = False  # from the store
        world.ask_candidate[broker] = self.put

    @property
    def view(self) -> ControllerView:
        """What the candidate knows; nothing while it is not there."""
        loop = self.loop
        return self._no_view if loop is None else loop.view

    def put(self, event: Event, replied: Callable[[Any], None] | None = None) -> None:
        """Queue an event, from any thread."""
        loop = self.loop
        if loop is None:
            raise NotController(f"broker {self.id} is not there")
        loop.put(event, replied)

    # ---- life ----

    def start(self) -> None:
        """Run for the role."""
        if self.loop is not None:
            return
        self.store = self._world.new_session(broker_node(self.id))
        links = SimulatedLinks(self._world, self.id, broker_node(self.id))
        self.loop = CandidateLoop(self._world, self.id, self.store, self._ports(links))
        self.loop.put(Started())
        self._look_later(self.loop)

    def crash(self, *, session_ends_ms: int) -> None:
        """Be gone at once; the store notices when the session ends."""
        loop, store = self.loop, self.store
        if loop is None or store is None:
            return
        loop.is_over = True
        loop.executor.leave_role()
        self.loop = self.store = None
        store.listen(_ignore)
        if session_ends_ms:
            self._world.clock.after(session_ends_ms, store.close)
        else:
            store.close()

    def _look_later(self, loop: CandidateLoop) -> None:
        def look() -> None:
            if self.loop is loop and self.store is not None:
                if not self.is_cut_off:
                    self.store.reconnect()
                loop.rouse()
                self._look_later(loop)

        self._world.clock.after(LOOK_MS, look)


def _ignore(_notice: StoreEvent) -> None:
    """Nobody is left to hear it."""
