"""The network between nodes: calls that are delayed, lost, cut off, or answered late.

A call is a request and its answer. It ends in exactly one way for a caller that lives on:
`answered`, or `failed` once the caller's timeout has passed or the connection broke. What the other
side did before a failure is unknown to the caller, as on any network.

A call without a timeout of its own may stay open at the other side for any length of time (a parked
fetch costs nothing); cutting the link or losing either node ends it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kedge.sim.clock import Clock
from kedge.sim.seeds import Luck

Node = str
Reply = Callable[[Any], None]
Serve = Callable[[Reply], None]

CONTROLLER_TIMEOUT_MS = 30_000  # controller.socket.timeout.ms: a request that gets no answer


@dataclass
class Conditions:
    """How the network behaves at the moment."""

    delay_ms_min: int = 1
    delay_ms_max: int = 8
    loss: float = 0.0
    timeout_ms: int = 3_000
    refused_ms: int = 20  # how soon a caller learns that nobody listens


class Call:
    """One call under way."""

    __slots__ = ("answered", "destination", "failed", "is_open", "on_end", "source")

    def __init__(self, source: Node, destination: Node, answered: Reply, failed: Any) -> None:
        self.source = source
        self.destination = destination
        self.answered = answered
        self.failed: Callable[[], None] = failed
        self.is_open = True
        self.on_end: Callable[[], object] | None = None

    def crosses(self, one: Node, other: Node) -> bool:
        """Whether this call runs between two nodes."""
        return {self.source, self.destination} == {one, other}


class Network:
    """Who reaches whom, and how fast."""

    def __init__(self, clock: Clock, luck: Luck, conditions: Conditions) -> None:
        self._clock = clock
        self._luck = luck
        self.conditions = conditions
        self._up: set[Node] = set()
        self._cut: set[frozenset[Node]] = set()
        self._open: dict[Call, None] = {}
        self.lost = 0

    # ---- the state of things ----

    def up(self, node: Node) -> None:
        """A node begins to listen."""
        self._up.add(node)

    def down(self, node: Node) -> None:
        """A node is gone: its own calls end unheard, calls to it fail soon."""
        self._up.discard(node)
        for call in list(self._open):
            if call.source == node:
                self._end(call)
            elif call.destination == node:
                self._fail(call, self.conditions.refused_ms)

    def cut(self, one: Node, other: Node) -> None:
        """Let nothing pass between two nodes."""
        self._cut.add(frozenset((one, other)))
        for call in list(self._open):
            if call.crosses(one, other):
                self._fail(call, self.conditions.timeout_ms)

    def heal(self, one: Node, other: Node) -> None:
        """Let two nodes talk again."""
        self._cut.discard(frozenset((one, other)))

    def heal_all(self) -> None:
        """Let everybody talk."""
        self._cut.clear()

    def reaches(self, one: Node, other: Node) -> bool:
        """Whether the link between two nodes is whole."""
        return frozenset((one, other)) not in self._cut

    # ---- calls ----

    def call(
        self,
        source: Node,
        destination: Node,
        serve: Serve,
        answered: Reply,
        failed: Callable[[], None],
        *,
        timeout_ms: int | None = None,
    ) -> Call:
        """Send a request to a node: `serve` runs there and is handed the way to answer."""
        call = Call(source, destination, answered, failed)
        self._open[call] = None
        if timeout_ms is not None:
            self._clock.after(timeout_ms, lambda: self._fail(call, 0))
        if self._is_lost(call):
            self._fail(call, self.conditions.timeout_ms)
        else:
            self._clock.after(self._delay_ms(), lambda: self._arrive(call, serve))
        return call

    def _arrive(self, call: Call, serve: Serve) -> None:
        if not call.is_open:
            return
        if call.destination not in self._up:
            self._fail(call, self.conditions.refused_ms)
        else:
            serve(lambda value: self._answer(call, value))

    def _answer(self, call: Call, value: Any) -> None:
        if not call.is_open:
            return
        if self._is_lost(call):
            self._fail(call, self.conditions.timeout_ms)
            return
        # on its way back the answer can still be overtaken by a cut or a crash
        self._clock.after(self._delay_ms(), lambda: self._deliver(call, value))

    def _deliver(self, call: Call, value: Any) -> None:
        if call.is_open:
            self._end(call)
            call.answered(value)

    def _fail(self, call: Call, delay_ms: int) -> None:
        if call.is_open:
            self._end(call)
            self._clock.after(delay_ms, lambda: self._tell_failure(call))

    def _tell_failure(self, call: Call) -> None:
        if call.source in self._up:
            call.failed()

    def _end(self, call: Call) -> None:
        call.is_open = False
        self._open.pop(call, None)
        if call.on_end is not None:
            call.on_end()

    def _is_lost(self, call: Call) -> bool:
        if not self.reaches(call.source, call.destination):
            return True
        if self.conditions.loss and self._luck.chance(self.conditions.loss):
            self.lost += 1
            return True
        return False

    def _delay_ms(self) -> int:
        return self._luck.between(self.conditions.delay_ms_min, self.conditions.delay_ms_max)
