"""One step under way: the node's fields as they change, and what has to be done so far.

`step` makes a `Working` of a node, lets the handlers change it, and makes a node of it again.
Nothing outside of a step ever sees one.
"""

from __future__ import annotations

from kedge.quorum import connections as links
from kedge.quorum.connections import Connection, Timeouts
from kedge.quorum.messages import OutboundMessage, ResponseMessage
from kedge.quorum.node import (
    Answer,
    Appended,
    Committed,
    Fault,
    FaultKind,
    LeaderChanged,
    LoadSnapshot,
    Node,
    Notification,
    Ready,
    Refusal,
    Send,
    StoreElection,
    VersionAt,
    VotersAt,
    Write,
)
from kedge.quorum.roles import Follower, Leader, Resigned, Role, election_of
from kedge.quorum.transitions import ALLOWED
from kedge.quorum.values import (
    Batch,
    Draw,
    Endpoints,
    KRaftVersionChange,
    LeaderAndEpoch,
    VoterEndpoint,
    VotersChange,
    VoterSet,
)

_UNLIMITED = 2**62


class ProtocolFault(Exception):
    """Ends a step: the node must stop."""

    def __init__(self, kind: FaultKind, reason: str) -> None:
        super().__init__(reason)
        self.fault = Fault(kind, reason)


class Working:
    """A node in the middle of a step."""

    def __init__(self, node: Node, now: int, draw: Draw) -> None:
        self.config = node.config
        self.key = node.config.key
        self.role: Role = node.role
        self.log = node.log
        self.static_voters = node.static_voters
        self.voter_history = node.voter_history
        self.version_history = node.version_history
        self.connections = node.connections
        self.parked = node.parked
        self.applied = node.applied
        self.announced = node.announced
        self.next_correlation = node.next_correlation
        self.is_shutting_down = node.is_shutting_down
        self.now = now
        self.draw = draw
        self.timeouts = Timeouts(node.config.request_timeout_ms, node.config.retry_backoff_ms)
        self.has_listener = True  # False while the node starts: nothing is delivered yet
        self.has_changed = False  # since the last poll
        self.writes: list[Write] = []
        self.sends: list[Send] = []
        self.answers: list[Answer] = []
        self.notifications: list[Notification] = []
        self.outcome: Appended | Refusal | None = None

    def finished(self, fault: Fault | None = None) -> tuple[Node, Ready]:
        """The node after the step, and what has to be done."""
        node = Node(
            self.config,
            self.role,
            self.log,
            self.static_voters,
            self.voter_history,
            self.version_history,
            self.connections,
            self.parked,
            self.applied,
            self.announced,
            self.next_correlation,
            self.is_shutting_down,
        )
        ready = Ready(
            tuple(self.writes),
            tuple(self.sends),
            tuple(self.answers),
            tuple(self.notifications),
            self.outcome,
            fault,
        )
        return node, ready

    # ------------------------------------------------------------------------------ what is known

    @property
    def voters(self) -> VoterSet:
        """The voter set in force."""
        return self.voter_history[-1].voters if self.voter_history else self.static_voters

    @property
    def kraft_version(self) -> int:
        """The kraft.version in force."""
        return self.version_history[-1].version if self.version_history else 0

    @property
    def is_voter(self) -> bool:
        """Whether this node is a member of the voter set."""
        return self.voters.is_voter(self.key)

    # ------------------------------------------------------------------------------ state and log

    def become(self, role: Role) -> None:
        """Change the state, durably where the table of transitions says so."""
        rises = role.epoch > self.role.epoch
        durable = ALLOWED.get((self.role.name, role.name, rises))
        if durable is None or role.epoch < self.role.epoch:
            raise ProtocolFault(
                FaultKind.ILLEGAL_STATE,
                f"cannot become {role.name} of epoch {role.epoch} "
                f"as {self.role.name} of epoch {self.role.epoch}",
            )
        if durable:
            self.writes.append(StoreElection(election_of(role)))
        self.role = role
        self.has_changed = True

    def note_control_records(self, batches: tuple[Batch, ...]) -> None:
        """Follow the voter set and the kraft.version of batches that were appended."""
        for batch in batches:
            for position, record in enumerate(batch.control):
                offset = batch.base + position
                if isinstance(record, VotersChange):
                    self.voter_history = (*self.voter_history, VotersAt(offset, record.voters))
                elif isinstance(record, KRaftVersionChange):
                    at = VersionAt(offset, record.version)
                    self.version_history = (*self.version_history, at)

    def forget_control_records(self, offset: int) -> None:
        """Take the voter set and the kraft.version back to before a truncation."""
        self.voter_history = tuple(at for at in self.voter_history if at.offset < offset)
        self.version_history = tuple(at for at in self.version_history if at.offset < offset)

    def set_log_high_watermark(self, offset: int) -> None:
        """Move the log's high watermark; it never falls, not even from leader to leader."""
        if offset < self.log.high_watermark:
            raise ProtocolFault(
                FaultKind.ILLEGAL_ARGUMENT,
                f"the high watermark would fall from {self.log.high_watermark} to {offset}",
            )
        self.log = self.log.with_high_watermark(offset)

    # ------------------------------------------------------------------------------ messages

    def election_deadline(self) -> int:
        """A new election timeout: between once and twice the configured one."""
        timeout = self.config.election_timeout_ms
        return self.now + timeout + (self.draw(timeout) if timeout else 0)

    def reset_connections(self) -> None:
        """Forget all requests under way."""
        self.connections = {}
        self.has_changed = True

    def disconnect(self, peer: int) -> None:
        """Forget the request to a peer."""
        if peer in self.connections:
            self.connections = {p: c for p, c in self.connections.items() if p != peer}

    def send(self, peer: int, message: OutboundMessage, endpoints: Endpoints = ()) -> bool:
        """Send a request, unless the peer is busy with one or failed a moment ago.

        A peer that is no voter yet is reached at the `endpoints` that a request has named.
        """
        if not links.is_ready(self.connections, peer, self.now, self.timeouts):
            return False
        correlation = self.next_correlation
        self.next_correlation += 1
        self.connections = {**self.connections, peer: Connection(correlation, self.now)}
        self.sends.append(Send(peer, correlation, message, self._endpoint(peer, endpoints)))
        self.has_changed = True
        return True

    def answer(self, token: int, message: ResponseMessage) -> None:
        """Answer a request."""
        self.answers.append(Answer(token, message))

    def _endpoint(self, peer: int, named: Endpoints) -> VoterEndpoint | None:
        role = self.role
        known = named or self.voters.endpoints(peer)
        if isinstance(role, Follower) and role.leader_id == peer:
            known = role.leader_endpoints
        return next((e for e in known if e.listener == self.config.listener), None)

    # ------------------------------------------------------------------------------ notifications

    def announce_leader(self) -> None:
        """Tell the state machine above who leads, where that is news for it."""
        role = self.role
        if not self.has_listener or isinstance(role, Resigned):
            return
        news, known = LeaderAndEpoch(role.leader_id, role.epoch), self.announced
        if isinstance(role, Leader) and (self.applied is None or self.applied <= role.epoch_start):
            return
        is_news = news.epoch > known.epoch or (
            news.leader_id is not None and known.leader_id is None
        )
        if news != known and is_news:
            self.announced = news
            self.notifications.append(LeaderChanged(news))

    def deliver(self) -> None:
        """Hand committed batches, or a snapshot first, to the state machine above."""
        limit = self.role.high_watermark
        if limit is None or not self.has_listener:
            return
        snapshot = self.log.latest_snapshot
        is_behind = self.applied is None or self.applied < self.log.start
        if is_behind and snapshot and (self.applied is None or self.applied < limit):
            self.applied = snapshot.id.offset
            self.notifications.append(LoadSnapshot(snapshot.id))
        elif self.applied is None:
            self.applied = 0
        while self.applied < limit:
            batches = self.log.read(self.applied, before=limit, max_bytes=_UNLIMITED)
            if not batches:
                raise ProtocolFault(
                    FaultKind.UNALIGNED_HIGH_WATERMARK,
                    f"the high watermark {limit} lies inside the batch that has {self.applied}",
                )
            self.notifications.extend(map(Committed, batches))
            self.applied = batches[-1].last + 1
