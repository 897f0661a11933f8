"""A process of the simulation across restarts: its disk, its clock, and its messages.

What runs inside is a raft node, alone or with a controller above it: a subclass says how an event
is handled. The process can be killed and paused, and its messages go over the network.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Protocol

from kedge.quorum.messages import (
    AddVoterResponse,
    ApiVersionsRequest,
    ApiVersionsResponse,
    DescribeQuorumResponse,
    FetchSnapshotResponse,
    InboundResponse,
    RemoveVoterResponse,
    ResponseMessage,
)
from kedge.quorum.node import Event, Failed, Node, Request, Response, Send, Tick
from kedge.quorum.values import QuorumConfig, VoterSet
from kedge.sim.clock import Clock, Timer
from kedge.sim.quorum.checkers import Checkers
from kedge.sim.quorum.disk import Disk
from kedge.sim.quorum.mutations import Mutation
from kedge.sim.quorum.network import Network
from kedge.sim.rng import SeededRng


class Environment(Protocol):
    """What a process knows of the cluster around it."""

    @property
    def clock(self) -> Clock: ...
    @property
    def network(self) -> Network: ...
    @property
    def checkers(self) -> Checkers: ...
    @property
    def processes(self) -> Mapping[int, NodeProcess]: ...
    @property
    def first_voters(self) -> VoterSet: ...
    def note(self, line: str) -> None:
        """Add a line to the trace."""
        ...


class NodeProcess(ABC):
    """A node that can be killed, paused and started again."""

    def __init__(
        self, environment: Environment, config: QuorumConfig, rng: SeededRng, mutation: Mutation
    ) -> None:
        self.environment = environment
        self.config = config
        self.disk = Disk()
        self.disk.is_synced_always = mutation.syncs
        self.incarnation: int = 0
        self.paused_until = 0
        self.skew_ms = rng.between(0, 100_000)
        self.rate = 1 + rng.between(-50, 50) / 1000
        self.rng = rng
        self._timer: Timer | None = None
        self._held: list[Any] = []
        self._requests: dict[int, tuple[int, int, int]] = {}  # token → who waits for the answer
        self._next_token = 0

    @property
    def id(self) -> int:
        """The node id."""
        return self.config.node_id

    @property
    def local_ms(self) -> int:
        """The time on this node's clock."""
        return self.skew_ms + int(self.environment.clock.now_ms * self.rate)

    @property
    @abstractmethod
    def node(self) -> Node | None:
        """The raft node; None while the process is down."""

    @abstractmethod
    def start(self) -> None:
        """Start from the disk."""

    @abstractmethod
    def _stop(self) -> None:
        """Drop everything that is in memory."""

    @abstractmethod
    def _handle(self, event: Any) -> Any:
        """Handle an event, if the process is up and not paused."""

    # ------------------------------------------------------------------------------ life

    def kill(self) -> None:
        """End without a word."""
        self._stop()
        self.incarnation += 1
        self._held, self._requests = [], {}
        self.disk.lose_power()
        if self._timer:
            self._timer.cancel()
        self.environment.note(f"node {self.id} dies")

    @property
    def is_paused(self) -> bool:
        """Whether the process stands still."""
        return self.environment.clock.now_ms < self.paused_until

    def pause(self, ms: int) -> None:
        """Stand still, as in a long collection of garbage or on a busy machine."""
        self.paused_until = self.environment.clock.now_ms + ms
        self.environment.clock.after(ms, self._resume)

    def _resume(self) -> None:
        if self.is_paused:
            return
        held, self._held = self._held, []
        for event in held:
            self.handle(event)
        self.handle(Tick())

    def handle(self, event: Any) -> Any:
        """Handle an event; a paused process does so later."""
        if self.node is None:
            return None
        if self.is_paused:
            self._held.append(event)
            return None
        return self._handle(event)

    def _set_timer(self, due: int | None) -> None:
        """Tick when it is due on this node's clock."""
        if self._timer:
            self._timer.cancel()
        if due is not None:
            wait = max(1, int((due - self.local_ms) / self.rate) + 1)
            self._timer = self.environment.clock.after(wait, lambda: self.handle(Tick()))

    # ------------------------------------------------------------------------------ messages

    def _send(self, send: Send) -> None:
        environment = self.environment
        target, life = environment.processes[send.peer], self.incarnation
        if target.node is None and self.rng.chance(0.7):  # refused at once, else silence
            failed = Failed(send.peer, send.correlation, send.message)
            environment.network.carry(target.id, self.id, lambda: self.receive(life, failed))
            return
        environment.network.carry(self.id, target.id, lambda: target.serve(send, self.id, life))

    def serve(self, send: Send, sender: int, life: int) -> None:
        """Take a request of another node."""
        if self.node is None:
            return
        if isinstance(send.message, ApiVersionsRequest):
            versions = (self.config.kraft_version_min, self.config.kraft_version_max)
            self._respond(
                sender, life, send.correlation, ApiVersionsResponse(kraft_versions=versions)
            )
            return
        self._requests[token := self.next_token()] = (sender, life, send.correlation)
        self.handle(Request(token, send.message, self.config.listener))

    def next_token(self) -> int:
        """A token that no other request to this process has."""
        self._next_token += 1
        return self._next_token

    def receive(self, life: int, event: Event) -> None:
        """Take a response, if it is for this life of the process."""
        if life == self.incarnation:
            self.handle(event)

    def _answer(self, token: int, message: ResponseMessage) -> None:
        if token not in self._requests:
            return  # a client's
        sender, life, correlation = self._requests.pop(token)
        if isinstance(message, FetchSnapshotResponse) and message.snapshot is not None:
            data = self.disk.durable.snapshots[message.snapshot]
            part = data[message.position : message.position + message.length]
            message = message._replace(data=part)
        assert not isinstance(
            message, DescribeQuorumResponse | AddVoterResponse | RemoveVoterResponse
        )
        self._respond(sender, life, correlation, message)

    def _respond(self, sender: int, life: int, correlation: int, message: InboundResponse) -> None:
        target = self.environment.processes[sender]
        response = Response(self.id, correlation, message)
        self.environment.network.carry(self.id, sender, lambda: target.receive(life, response))
