"""The simulated network: calls between nodes that are delayed, lost or disconnected.

A call is a request and its response. It ends in exactly one way for a caller that stays up:
`answered`, or `failed` after a timeout or a broken connection. After a failure the caller does not
know whether the request was executed.

A call without a timeout may stay open at the destination for any time (a parked fetch costs
nothing); cutting the link or losing either node ends it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kedge.sim.clock import Clock
from kedge.sim.rng import SeededRng

Node = str
Reply = Callable[[Any], None]
Serve = Callable[[Reply], None]

CONTROLLER_TIMEOUT_MS = 30_000  # controller.socket.timeout.ms: a request without a response


@dataclass
class Conditions:
    """The current behaviour of the network."""

    delay_ms_min: int = 1
    delay_ms_max: int = 8
    loss: float = 0.0
    timeout_ms: int = 3_000
    refused_ms: int = 20  # delay until a caller sees a refused connection


class Call:
    """One call in progress."""

    __slots__ = ("answered", "destination", "failed", "is_open", "on_end", "source")

    def __init__(self, source: Node, destination: Node, answered: Reply, failed: Any) -> None:
        self.source = source
        self.destination = destination
        self.answered = answered
        self.failed: Callable[[], None] = failed
        self.is_open = True
        self.on_end: Callable[[], object] | None = None

    def crosses(self, one: Node, other: Node) -> bool:
        """Whether this call is between two nodes."""
        return {self.source, self.destination} == {one, other}


class Network:
    """The nodes, the links between them, and the open calls."""

    def __init__(self, clock: Clock, rng: SeededRng, conditions: Conditions) -> None:
        self._clock = clock
        self._rng = rng
        self.conditions = conditions
        self._up: set[Node] = set()
        self._cut: set[frozenset[Node]] = set()
        self._open: dict[Call, None] = {}
        self.lost = 0

    # ---- nodes and links ----

    def up(self, node: Node) -> None:
        """A node starts to listen."""
        self._up.add(node)

    def down(self, node: Node) -> None:
        """A node is down: its own calls end without a callback, calls to it fail soon."""
        self._up.discard(node)
        for call in list(self._open):
            if call.source == node:
                self._end(call)
            elif call.destination == node:
                self._fail(call, self.conditions.refused_ms)

    def cut(self, one: Node, other: Node) -> None:
        """Disconnect two nodes."""
        self._cut.add(frozenset((one, other)))
        for call in list(self._open):
            if call.crosses(one, other):
                self._fail(call, self.conditions.timeout_ms)

    def heal(self, one: Node, other: Node) -> None:
        """Connect two nodes again."""
        self._cut.discard(frozenset((one, other)))

    def heal_all(self) -> None:
        """Connect all nodes again."""
        self._cut.clear()

    def reaches(self, one: Node, other: Node) -> bool:
        """Whether two nodes are connected."""
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
        """Send a request to a node; `serve` runs there and gets the function that responds."""
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
        # a cut or a crash may still end the call before the response arrives
        self._clock.after(self._delay_ms(), lambda: self._deliver(call, value))

    def _deliver(self, call: Call, value: Any) -> None:
        if call.is_open:
            self._end(call)
            call.answered(value)

    def _fail(self, call: Call, delay_ms: int) -> None:
        if call.is_open:
            self._end(call)
            self._clock.after(delay_ms, lambda: self._report_failure(call))

    def _report_failure(self, call: Call) -> None:
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
        if self.conditions.loss and self._rng.chance(self.conditions.loss):
            self.lost += 1
            return True
        return False

    def _delay_ms(self) -> int:
        return self._rng.between(self.conditions.delay_ms_min, self.conditions.delay_ms_max)
