"""A controller's machine: the real loop of `runtime`, run in virtual time and killed at any yield.

Each effect of a script may take a few milliseconds, in which the rest of the world goes on: leaders
change ISRs, operators write, brokers die, another controller is elected. At any yield the process
may be killed, before its effect was carried out or after it; a new one starts some time later.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from kedge.controller import effects as f
from kedge.controller import events as e
from kedge.controller.effects import Script
from kedge.model import BrokerId
from kedge.runtime.event_queue import QueuedEvent
from kedge.runtime.loop import Loop, Replied
from kedge.sim.broken import BROKEN_RULES
from kedge.sim.links import SimulatedLinks
from kedge.sim.machines import reconnect
from kedge.sim.seeds import Luck
from kedge.store.memory import MemoryStore
from kedge.store.port import Answer, Listener, Request, Session, SessionChanged, StoreEvent

if TYPE_CHECKING:
    from kedge.sim.world import World

LOOK_MS = 500  # how often a process looks after what nobody tells it: the store is back, timers
EFFECT_MS_MAX = 6
PAUSE_MS_MAX = 4_000
SLOW_EFFECTS = 0.25


def controller_node(controller: BrokerId) -> str:
    """A controller's name on the network."""
    return f"controller {controller}"


class Crashed(BaseException):
    """The process is gone. Not an Exception, so that nobody on the way handles it."""


class ObservedReply:
    """The reply to a request, and what to call when a controller begins to process the request."""

    def __init__(self, reply: Replied, begun: Callable[[], None]) -> None:
        self.reply = reply
        self.begun = begun

    def __call__(self, answer: Any) -> None:
        self.reply(answer)


class NamedStore:
    """A session whose writes are known as those of one controller."""

    def __init__(self, world: World, node: str, session: MemoryStore) -> None:
        self.world = world
        self.node = node
        self.session = session

    def listen(self, listener: Listener) -> None:
        self.session.listen(listener)

    def batch(self, requests: Sequence[Request]) -> list[Answer]:
        return self.world.batch(self.node, self.session, requests)

    def renew_session(self) -> None:
        self.session.renew_session()

    def close(self) -> None:
        self.session.close()


class ControllerMachine:
    """One candidate for the role, through all its restarts."""

    def __init__(self, world: World, controller: BrokerId) -> None:
        self.world = world
        self.id = controller
        self.node = controller_node(controller)
        self.loop: SimulatedLoop | None = None
        self.store: MemoryStore | None = None
        self.crash_at: int | None = None  # in so many yields
        self.crash_in: str = ""  # in a script of this event, if not in any
        self.crash_after: bool | None = None  # the effect or before it; None leaves it to luck
        self.pause_at: int | None = None  # in so many yields
        self.skew_ms = 0
        self.cut_off_until_ms = 0
        self.ids = Luck(world.seed, f"ids of {self.node}")  # one for all restarts: no id twice
        self._luck = Luck(world.seed, self.node)
        self._is_busy = False
        self._is_awake = False

    # ---- life ----

    @property
    def is_up(self) -> bool:
        """Whether the process runs."""
        return self.loop is not None

    def start(self) -> None:
        """Run a new process."""
        if self.loop is not None or self._is_busy:
            return
        self.store = self.world.new_session(self.node)
        self.loop = SimulatedLoop(self, NamedStore(self.world, self.node, self.store))
        self.world.network.up(self.node)
        self.put(e.Started())
        self._look_later(self.loop)

    def crash(self, *, session_ends_ms: int) -> None:
        """The process is gone at once; the store notices when the session ends."""
        store = self.store
        if self.loop is None or store is None:
            return
        self.world.network.down(self.node)
        self.loop = self.store = None
        self.crash_at = self.crash_after = None
        store.listen(lambda _: None)
        self.world.clock.after(session_ends_ms, store.close)

    def _look_later(self, loop: SimulatedLoop) -> None:
        def look() -> None:
            if self.loop is loop:
                reconnect(self)
                self.wake()
                self._look_later(loop)

        self.world.clock.after(LOOK_MS, look)

    # ---- running ----

    def put(self, event: e.Event, replied: Replied | None = None) -> None:
        """Queue an event, if there is a process to take it."""
        if self.loop is not None:
            self.loop.put(event, replied)

    def wake(self) -> None:
        """Let the loop run soon."""
        if not self._is_awake and not self._is_busy:
            self._is_awake = True
            self.world.clock.after(self._luck.draw(3), self._run)

    def _run(self) -> None:
        self._is_awake = False
        loop = self.loop
        if loop is None or self._is_busy:
            return
        self._is_busy = True
        try:
            progressed = loop.step()
        except Crashed:
            progressed = False
        finally:
            self._is_busy = False
        if progressed and loop.is_connected:
            self.wake()

    def at_yield(self, loop: SimulatedLoop, effect: f.Effect) -> None:
        """A script has ordered something: time may pass, and the process may end here."""
        self._maybe_crash(loop)
        self._maybe_pause()
        if self._luck.chance(SLOW_EFFECTS):
            end_ms = self.world.clock.now_ms + self._luck.between(1, EFFECT_MS_MAX)
            self.world.run_until(end_ms)
        self._die_if_gone(loop)
        self.world.coverage.saw(loop.place(), effect)

    def after_effect(self, loop: SimulatedLoop) -> None:
        """The order was carried out; the process may end before the script hears of it."""
        self._die_if_gone(loop)
        if self.crash_at == 0 and self.crash_after:
            self._crash_here(loop)

    def _maybe_crash(self, loop: SimulatedLoop) -> None:
        if self.crash_at is None or (self.crash_in and self.crash_in != loop.event_name):
            return
        self.crash_at -= 1
        if self.crash_at == 0 and self.crash_after is None:
            self.crash_after = self._luck.chance(0.5)
        if self.crash_at == 0 and not self.crash_after:
            self._crash_here(loop)

    def _maybe_pause(self) -> None:
        """Stand still in the middle of a script while another process is given the role."""
        if self.pause_at is None:
            return
        self.pause_at -= 1
        if self.pause_at == 0:
            self.pause_at = None
            self.world.drop_claim()
            self.world.run_until(self.world.clock.now_ms + self._luck.between(200, PAUSE_MS_MAX))

    def _crash_here(self, loop: SimulatedLoop) -> None:
        place = loop.place()
        self.world.coverage.crashed(place)
        self.world.say(f"{self.node} is killed in {place}")
        ends = 0 if self._luck.chance(0.5) else self._luck.between(0, 6_000)
        self.crash(session_ends_ms=ends)
        self.world.clock.after(self._luck.between(200, 15_000), self.start)
        raise Crashed

    def _die_if_gone(self, loop: SimulatedLoop) -> None:
        if self.loop is not loop:
            raise Crashed


class SimulatedLoop(Loop):
    """The loop, with the simulator at every yield."""

    def __init__(self, machine: ControllerMachine, store: NamedStore) -> None:
        world = machine.world
        self.machine = machine
        self.event_name = ""
        self.is_connected = True  # without the store there is nothing to hurry for
        self.scripts: list[Script[Any]] = []
        self.breaks = BROKEN_RULES[world.shape.broken]
        super().__init__(
            machine.id,
            self.breaks.store(store),
            SimulatedLinks(world, machine.id, machine.node),
            now_ms=lambda: world.clock.now_ms + machine.skew_ms,
            settings=world.settings,
            draw_bytes=machine.ids.bytes,
        )

    def put(self, event: e.Event, replied: Replied | None = None) -> None:
        super().put(event, replied)
        self.machine.wake()

    def on_store_event(self, event: StoreEvent) -> None:
        super().on_store_event(event)
        if isinstance(event, SessionChanged):
            self.is_connected = event.state is not Session.SUSPENDED
        self.machine.wake()

    def place(self) -> str:
        """Where the script stands: its name, and the function and line of the innermost yield."""
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
        answer = super()._execute(name, self.breaks.effect(self.machine.world, effect), reply)
        self.machine.after_effect(self)
        return answer
