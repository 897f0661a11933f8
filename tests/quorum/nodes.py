"""Nodes for tests: started, elected, and messages between them carried by hand."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from kedge.quorum import start, step
from kedge.quorum.log import Log
from kedge.quorum.messages import (
    AddVoterResponse,
    ApiVersionsRequest,
    ApiVersionsResponse,
    DescribeQuorumResponse,
    RemoveVoterResponse,
    RequestMessage,
    ResponseMessage,
)
from kedge.quorum.node import Event, Node, Ready, Request, Response, Send, Tick
from kedge.quorum.roles import Leader
from kedge.quorum.values import (
    Election,
    Endpoints,
    QuorumConfig,
    ReplicaKey,
    Voter,
    VoterEndpoint,
    VoterSet,
)

LISTENER = "CONTROLLER"


def directory(node: int) -> str:
    """The directory id of a node."""
    return f"dir:{node}"


def endpoints(node: int) -> Endpoints:
    """Where a node listens."""
    return (VoterEndpoint(LISTENER, f"host{node}", 9000 + node),)


def config(node: int, voters: Iterable[int]) -> QuorumConfig:
    """The configuration of a node; appends are written at once."""
    return QuorumConfig(
        node,
        directory(node),
        "cluster",
        endpoints(node),
        LISTENER,
        tuple(voters),
        append_linger_ms=0,
    )


def static_voters(ids: Iterable[int]) -> VoterSet:
    """Voters of the configuration: their directory ids are unknown."""
    return VoterSet(Voter(ReplicaKey(id_), endpoints(id_)) for id_ in ids)


def dynamic_voters(ids: Iterable[int]) -> VoterSet:
    """Voters of a checkpoint."""
    return VoterSet(Voter(ReplicaKey(id_, directory(id_)), endpoints(id_), 0, 1) for id_ in ids)


@dataclass
class Quorum:
    """Nodes whose messages arrive after ten milliseconds, except to those that are cut off."""

    nodes: dict[int, Node] = field(default_factory=dict[int, Node])
    now: int = 1_000_000
    cut: set[int] = field(default_factory=set[int])
    answers: dict[int, ResponseMessage] = field(default_factory=dict[int, ResponseMessage])
    last: dict[int, Ready] = field(default_factory=dict[int, Ready])
    kraft_versions: tuple[int, int] | None = (0, 1)  # what a new voter says that it supports
    _waiting: dict[int, tuple[int, int]] = field(default_factory=dict[int, tuple[int, int]])
    _token: int = 0
    _asked: int = 0
    _on_the_way: list[tuple[int, Event]] = field(default_factory=list[tuple[int, Event]])

    def start(
        self,
        node: int,
        voters: VoterSet,
        *,
        log: Log | None = None,
        election: Election | None = None,
        kraft_version: int = 0,
    ) -> None:
        """Start a node."""
        self.nodes[node], ready = start(
            config(node, voters.ids),
            log or Log(),
            election or Election(),
            voters,
            now=self.now,
            draw=lambda bound: (node * 100) % bound,
            kraft_version=kraft_version,
        )
        self._carry(node, ready)

    def step(self, node: int, event: Event) -> Ready:
        """Step a node, and carry its messages."""
        draw = lambda bound: (node * 100) % bound  # noqa: E731
        self.nodes[node], ready = step(self.nodes[node], event, now=self.now, draw=draw)
        assert ready.fault is None, ready.fault
        self.last[node] = ready
        self._carry(node, ready)
        return ready

    def ask(self, node: int, message: RequestMessage) -> ResponseMessage | None:
        """Send a request from outside; the answer, or None if it waits."""
        self._token += 1
        self._asked = self._token
        self.step(node, Request(self._asked, message, LISTENER))
        return self.answers.get(self._asked)

    def later_answer(self) -> ResponseMessage | None:
        """The answer to the last request from outside, if it has come since."""
        return self.answers.get(self._asked)

    def advance(self, ms: int) -> None:
        """Let time pass in steps of ten milliseconds."""
        for _ in range(0, ms, 10):
            self.now += 10
            arriving, self._on_the_way = self._on_the_way, []
            for node, event in arriving:
                self.step(node, event)
            for node in list(self.nodes):
                self.step(node, Tick())

    def leader(self) -> int:
        """The node that leads."""
        (leader,) = (id_ for id_, node in self.nodes.items() if isinstance(node.role, Leader))
        return leader

    def _carry(self, node: int, ready: Ready) -> None:
        for answer in ready.answers:
            if answer.token in self._waiting:
                peer, correlation = self._waiting.pop(answer.token)
                message = answer.message
                assert not isinstance(
                    message, DescribeQuorumResponse | AddVoterResponse | RemoveVoterResponse
                )
                if not self.cut & {node, peer}:
                    self._on_the_way.append((peer, Response(node, correlation, message)))
            else:
                self.answers[answer.token] = answer.message
        for send in ready.sends:
            self._deliver(node, send)

    def _deliver(self, node: int, send: Send) -> None:
        if send.peer not in self.nodes or send.peer == node or self.cut & {node, send.peer}:
            return
        if isinstance(send.message, ApiVersionsRequest):
            response = ApiVersionsResponse(kraft_versions=self.kraft_versions)
            self._on_the_way.append((node, Response(send.peer, send.correlation, response)))
            return
        self._token += 1
        self._waiting[self._token] = (node, send.correlation)
        self._on_the_way.append((send.peer, Request(self._token, send.message, LISTENER)))


def elected(voters: VoterSet, *observers: int, kraft_version: int = 0) -> Quorum:
    """A quorum with a leader and a committed first record."""
    quorum = Quorum()
    for node in (*voters.ids, *observers):
        quorum.start(node, voters, kraft_version=kraft_version)
    quorum.advance(4000)
    assert quorum.nodes[quorum.leader()].role.high_watermark
    return quorum
