"""A controller process of the simulator: the real loop in virtual time, killed at any yield.

Each effect of a script may take some milliseconds, in which other components run: leaders change
ISRs, operators write, brokers crash, another controller is elected. The process may be killed at
any yield, before or after the effect is executed; a new process starts some time later.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kedge.controller import effects as f
from kedge.controller import events as e
from kedge.controller.effects import Script
from kedge.model import BrokerId
from kedge.runtime.event_queue import QueuedEvent
from kedge.runtime.loop import Loop, Replied
from kedge.sim.broker_links import SimulatedLinks
from kedge.sim.broker_machine import reconnect
from kedge.sim.checked_cluster import CheckedCluster
from kedge.sim.mutations import MUTATIONS
from kedge.sim.rng import SeededRng
from kedge.sim.simulated_cluster import ObservedReply
from kedge.store.memory import MemoryStore
from kedge.store.port import Answer, Listener, Request, Session, SessionChanged, StoreEvent

POLL_MS = 500  # interval at which a process checks its timers and its connection to the store
EFFECT_MS_MAX = 6
PAUSE_MS_MAX = 4_000
SLOW_EFFECT_PROBABILITY = 0.25


def controller_node(controller: BrokerId) -> str:
    """A controller's name on the network."""
    return f"controller {controller}"


class ProcessCrashed(BaseException):
    """The process was killed. Not an Exception, so that no handler catches it."""


class AttributedStore:
    """A session of the store whose writes are attributed to one controller."""

    def __init__(self, cluster: CheckedCluster, node: str, session: MemoryStore) -> None:
        self.cluster = cluster
        self.node = node
        self.session = session

    def listen(self, listener: Listener) -> None:
        self.session.listen(listener)

    def batch(self, requests: Sequence[Request]) -> list[Answer]:
        return self.cluster.batch(self.node, self.session, requests)

    def renew_session(self) -> None:
        self.session.renew_session()

    def close(self) -> None:
        self.session.close()


class ControllerMachine:
    """One controller candidate, across restarts of its process.

    `delete_controller_node` is called when it pauses, so that another controller is elected.
    """

    def __init__(
        self,
        cluster: CheckedCluster,
        controller: BrokerId,
        delete_controller_node: Callable[[], None],
    ) -> None:
        self.cluster = cluster
        self.id = controller
        self.node = controller_node(controller)
        self.loop: SimulatedLoop | None = None
        self.store: MemoryStore | None = None
        self.yields_until_crash: int | None = None
        self.crash_in_event: str = (
            ""  # counts yields of this event's scripts; empty: of all scripts
        )
        self.crash_after_effect: bool | None = None  # or before it; None: random
        self.yields_until_pause: int | None = None
        self.skew_ms = 0
        self.cut_off_until_ms = 0
        # one generator for all restarts: no topic id is created twice
        self.ids = SeededRng(cluster.seed, f"ids of {self.node}")
        self._rng = SeededRng(cluster.seed, self.node)
        self._delete_controller_node = delete_controller_node
        self._is_busy = False
        self._is_scheduled = False

    # ---- life ----

    @property
    def is_up(self) -> bool:
        """Whether the process runs."""
        return self.loop is not None

    def start(self) -> None:
        """Start a new process."""
        if self.loop is not None or self._is_busy:
            return
        self.store = self.cluster.new_session()
        self.loop = SimulatedLoop(self, AttributedStore(self.cluster, self.node, self.store))
        self.cluster.network.up(self.node)
        self.put(e.Started())
        self._poll_later(self.loop)

    def crash(self, *, session_ends_ms: int) -> None:
        """End the process at once; its session with the store ends after a delay."""
        store = self.store
        if self.loop is None or store is None:
            return
        self.cluster.network.down(self.node)
        self.loop = self.store = None
        self.yields_until_crash = self.crash_after_effect = None
        store.listen(lambda _: None)
        self.cluster.clock.after(session_ends_ms, store.close)

    def _poll_later(self, loop: SimulatedLoop) -> None:
        def poll() -> None:
            if self.loop is loop:
                reconnect(self, self.cluster.clock.now_ms)
                self.schedule()
                self._poll_later(loop)

        self.cluster.clock.after(POLL_MS, poll)

    # ---- running ----

    def put(self, event: e.Event, replied: Replied | None = None) -> None:
        """Queue an event, if the process is running."""
        if self.loop is not None:
            self.loop.put(event, replied)

    def schedule(self) -> None:
        """Run the loop after a short random delay."""
        if not self._is_scheduled and not self._is_busy:
            self._is_scheduled = True
            self.cluster.clock.after(self._rng.draw(3), self._run)

    def _run(self) -> None:
        self._is_scheduled = False
        loop = self.loop
        if loop is None or self._is_busy:
            return
        self._is_busy = True
        try:
            progressed = loop.step()
        except ProcessCrashed:
            progressed = False
        finally:
            self._is_busy = False
        if progressed and loop.is_connected:
            self.schedule()

    def at_yield(self, loop: SimulatedLoop, effect: f.Effect) -> None:
        """A script has yielded an effect: time may pass, and the process may be killed here."""
        self._maybe_crash(loop)
        self._maybe_pause()
        if self._rng.chance(SLOW_EFFECT_PROBABILITY):
            end_ms = self.cluster.clock.now_ms + self._rng.between(1, EFFECT_MS_MAX)
            self.cluster.run_until(end_ms)
        self._raise_if_crashed(loop)
        self.cluster.coverage.yielded(loop.place(), effect)

    def after_effect(self, loop: SimulatedLoop) -> None:
        """The effect was executed; the process may be killed before the script continues."""
        self._raise_if_crashed(loop)
        if self.yields_until_crash == 0 and self.crash_after_effect:
            self._crash_here(loop)

    def _maybe_crash(self, loop: SimulatedLoop) -> None:
        if self.yields_until_crash is None or (
            self.crash_in_event and self.crash_in_event != loop.event_name
        ):
            return
        self.yields_until_crash -= 1
        if self.yields_until_crash == 0 and self.crash_after_effect is None:
            self.crash_after_effect = self._rng.chance(0.5)
        if self.yields_until_crash == 0 and not self.crash_after_effect:
            self._crash_here(loop)

    def _maybe_pause(self) -> None:
        """Pause in the middle of a script while another controller is elected."""
        if self.yields_until_pause is None:
            return
        self.yields_until_pause -= 1
        if self.yields_until_pause == 0:
            self.yields_until_pause = None
            self._delete_controller_node()
            self.cluster.run_until(self.cluster.clock.now_ms + self._rng.between(200, PAUSE_MS_MAX))

    def _crash_here(self, loop: SimulatedLoop) -> None:
        place = loop.place()
        self.cluster.coverage.crashed(place)
        self.cluster.trace_line(f"{self.node} is killed in {place}")
        ends = 0 if self._rng.chance(0.5) else self._rng.between(0, 6_000)
        self.crash(session_ends_ms=ends)
        self.cluster.clock.after(self._rng.between(200, 15_000), self.start)
        raise ProcessCrashed

    def _raise_if_crashed(self, loop: SimulatedLoop) -> None:
        if self.loop is not loop:
            raise ProcessCrashed


class SimulatedLoop(Loop):
    """The controller loop, with the simulator called at every yield."""

    def __init__(self, machine: ControllerMachine, store: AttributedStore) -> None:
        cluster = machine.cluster
        self.machine = machine
        self.event_name = ""
        self.is_connected = True  # without the store, the loop only polls
        self.scripts: list[Script[Any]] = []
        self.mutation = MUTATIONS[cluster.shape.mutation]
        super().__init__(
            machine.id,
            self.mutation.store(store),
            SimulatedLinks(cluster, machine.id, machine.node),
            now_ms=lambda: cluster.clock.now_ms + machine.skew_ms,
            settings=cluster.settings,
            draw_bytes=machine.ids.bytes,
        )

    def put(self, event: e.Event, replied: Replied | None = None) -> None:
        super().put(event, replied)
        self.machine.schedule()

    def on_store_event(self, event: StoreEvent) -> None:
        super().on_store_event(event)
        if isinstance(event, SessionChanged):
            self.is_connected = event.state is not Session.SUSPENDED
        self.machine.schedule()

    def place(self) -> str:
        """The position of the script: its name, and function and line of the innermost yield."""
        script = self.scripts[-1]
        inner: Any = script
        while getattr(inner, "gi_yieldfrom", None) is not None:
            inner = inner.gi_yieldfrom
        name = getattr(script, "__name__", "script")
        return f"{name} › {inner.__name__}:{inner.gi_frame.f_lineno if inner.gi_frame else 0}"

    def _process(self, queued_event: QueuedEvent) -> None:
        if self.context.active and isinstance(queued_event.replied, ObservedReply):
            queued_event.replied.begun()
        super()._process(queued_event)

    def _run(self, name: str, script: Script[Any], reply: Replied) -> Any:
        self.event_name = name
        self.scripts.append(script)
        try:
            return super()._run(name, script, reply)
        finally:
            self.scripts.pop()

    def _execute(self, name: str, effect: f.Effect, reply: Replied) -> Any:
        self.machine.at_yield(self, effect)
        answer = super()._execute(name, self.mutation.effect(self.machine.cluster, effect), reply)
        self.machine.after_effect(self)
        return answer
