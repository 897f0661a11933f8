"""One node across restarts: the machine, its disk, its clock, and a list as state machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from kedge.quorum import next_deadline, start, step
from kedge.quorum.leading import NO_OFFSET
from kedge.quorum.log import SnapshotInfo
from kedge.quorum.messages import (
    AddVoterResponse,
    ApiVersionsRequest,
    ApiVersionsResponse,
    DescribeQuorumResponse,
    FetchSnapshotResponse,
    InboundResponse,
    RemoveVoterResponse,
    RequestMessage,
    ResponseMessage,
)
from kedge.quorum.node import (
    Append,
    Appended,
    Committed,
    DeleteBefore,
    Event,
    Failed,
    LeaderChanged,
    LoadSnapshot,
    Node,
    Ready,
    Request,
    Response,
    Send,
    SnapshotTaken,
    Tick,
)
from kedge.quorum.roles import Leader
from kedge.quorum.values import EpochOffset, QuorumConfig, VoterSet
from kedge.sim.clock import Clock, Timer
from kedge.sim.quorum.checkers import Checkers
from kedge.sim.quorum.disk import Disk
from kedge.sim.quorum.mutations import Entry, Mutation
from kedge.sim.quorum.network import Network
from kedge.sim.quorum.snapshots import decoded, encoded, voters_at
from kedge.sim.rng import SeededRng


class Surroundings(Protocol):
    """What a process knows of the cluster around it."""

    @property
    def clock(self) -> Clock: ...
    @property
    def network(self) -> Network: ...
    @property
    def checkers(self) -> Checkers: ...
    @property
    def processes(self) -> Mapping[int, Process]: ...
    @property
    def is_dynamic(self) -> bool: ...
    @property
    def first_voters(self) -> VoterSet: ...
    def note(self, line: str) -> None:
        """Add a line to the trace."""
        ...


class Process:
    """A node that can be killed, paused and started again."""

    def __init__(
        self, cluster: Surroundings, config: QuorumConfig, rng: SeededRng, mutation: Mutation
    ) -> None:
        self.cluster = cluster
        self.config = config
        self.disk = Disk()
        self.disk.is_synced_always = mutation.syncs
        self.node: Node | None = None
        self.applied: list[Entry] = []
        self.led_epoch: int | None = None  # as the state machine above knows it
        self.incarnation = 0
        self.paused_until = 0
        self.skew_ms = rng.between(0, 100_000)
        self.rate = 1 + rng.between(-50, 50) / 1000
        self._rng = rng
        self._mutation = mutation
        self._timer: Timer | None = None
        self._held: list[Event] = []
        self._requests: dict[int, tuple[int, int, int]] = {}  # token → who waits for the answer
        self._next_token = 0

    @property
    def id(self) -> int:
        """The node id."""
        return self.config.node_id

    @property
    def local_ms(self) -> int:
        """The time on this node's clock."""
        return self.skew_ms + int(self.cluster.clock.now_ms * self.rate)

    # ------------------------------------------------------------------------------ life

    def start(self) -> None:
        """Start from the disk."""
        self.incarnation += 1
        self.applied, self.led_epoch, self._held, self._requests = [], None, [], {}
        content = self.disk.durable
        latest = content.log.latest_snapshot
        voters, offset = self.cluster.first_voters, NO_OFFSET
        if latest and self.cluster.is_dynamic:
            voters = decoded(content.snapshots[latest.id]).voters
            offset = latest.id.offset - 1
        self.node, ready = start(
            self.config,
            content.log.with_high_watermark(0),
            content.election,
            voters,
            now=self.local_ms,
            draw=self._rng.draw,
            kraft_version=int(self.cluster.is_dynamic),
            voters_offset=offset,
        )
        self._carry_out(ready)

    def kill(self) -> None:
        """End without a word."""
        self.node = None
        self.incarnation += 1
        self.disk.lose_power()
        if self._timer:
            self._timer.cancel()
        self.cluster.note(f"node {self.id} dies")

    def pause(self, ms: int) -> None:
        """Stand still, as in a long collection of garbage or on a busy machine."""
        self.paused_until = self.cluster.clock.now_ms + ms
        self.cluster.clock.after(ms, self._resume)

    def _resume(self) -> None:
        if self.cluster.clock.now_ms < self.paused_until:
            return
        held, self._held = self._held, []
        for event in held:
            self.handle(event)
        self.handle(Tick())

    def handle(self, event: Event) -> Ready | None:
        """Step the machine through an event."""
        if self.node is None:
            return None
        if self.cluster.clock.now_ms < self.paused_until:
            self._held.append(event)
            return None
        node, event = self._mutation.before(self.node, event)
        self.node, ready = step(node, event, now=self.local_ms, draw=self._rng.draw)
        self._carry_out(ready)
        return ready

    def _carry_out(self, ready: Ready) -> None:
        assert self.node is not None
        if ready.fault:
            self.cluster.checkers.on_fault(self.id, ready.fault)
        if not self.disk.carry_out(ready.writes):
            self.kill()
            return
        self.cluster.checkers.on_step(self)
        for heard in ready.notifications:
            self._apply(heard)
        for answer in ready.answers:
            self._answer(answer.token, answer.message)
        for send in ready.sends:
            self._send(send)
        self._set_timer(self.node)

    def _set_timer(self, node: Node) -> None:
        due = next_deadline(node, self.local_ms)
        if self._timer:
            self._timer.cancel()
        if due is not None:
            wait = max(1, int((due - self.local_ms) / self.rate) + 1)
            self._timer = self.cluster.clock.after(wait, lambda: self.handle(Tick()))

    # ------------------------------------------------------------------------------ messages

    def _send(self, send: Send) -> None:
        target, life = self.cluster.processes[send.peer], self.incarnation
        if target.node is None and self._rng.chance(0.7):  # refused at once, else silence
            failed = Failed(send.peer, send.correlation, send.message)
            self.cluster.network.carry(target.id, self.id, lambda: self.receive(life, failed))
            return
        self.cluster.network.carry(self.id, target.id, lambda: target.serve(send, self.id, life))

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
        self._next_token += 1
        self._requests[self._next_token] = (sender, life, send.correlation)
        self.handle(Request(self._next_token, send.message, self.config.listener))

    def receive(self, life: int, event: Event) -> None:
        """Take a response, if it is for this life of the process."""
        if life == self.incarnation:
            self.handle(self._with_voters(event))

    def _with_voters(self, event: Event) -> Event:
        """The last part of a snapshot, with the voters that the whole has."""
        if not (isinstance(event, Response) and self.cluster.is_dynamic):
            return event
        part = event.message
        if not isinstance(part, FetchSnapshotResponse) or part.snapshot is None:
            return event
        if part.position + len(part.data) < part.size:
            return event
        whole = self.disk.durable.parts.get(part.snapshot, b"")[: part.position] + part.data
        if len(whole) < part.size:
            return event  # of an earlier attempt
        voters = decoded(whole).voters
        return event._replace(message=part._replace(voters=voters, kraft_version=1))

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
        target = self.cluster.processes[sender]
        response = Response(self.id, correlation, message)
        self.cluster.network.carry(self.id, sender, lambda: target.receive(life, response))

    def ask(self, message: RequestMessage) -> None:
        """Take the request of a client, who does not wait for the answer."""
        self._next_token += 1
        self.handle(Request(self._next_token, message, self.config.listener))

    # ------------------------------------------------------------------------------ above

    def _apply(self, heard: Committed | LoadSnapshot | LeaderChanged) -> None:
        match heard:
            case Committed(batch):
                entry = Entry.of(batch)
                self.cluster.checkers.on_committed(self.id, entry)
                self.applied.append(entry)
            case LoadSnapshot(snapshot_id):
                self.applied = decoded(self.disk.durable.snapshots[snapshot_id]).entries
                self.cluster.checkers.on_snapshot(self.id, self.applied)
            case LeaderChanged(leader):
                self.led_epoch = leader.epoch if leader.leader_id == self.id else None

    def append(self, value: int) -> bool:
        """A client's write; True if the node accepts it."""
        if self.node is None or self.led_epoch is None:
            return False
        ready = self.handle(Append(self.led_epoch, (value,), 10))
        return ready is not None and isinstance(ready.outcome, Appended)

    def read(self) -> list[Entry] | None:
        """A client's read: all that is applied; None if the node does not lead."""
        if self.node is None or not isinstance(self.node.role, Leader):
            return None
        return self._mutation.read(self.node, self.applied)

    def take_snapshot(self) -> bool:
        """Write a snapshot of what is applied, and drop the log below it."""
        if self.node is None or not self.applied or self.cluster.clock.now_ms < self.paused_until:
            return False
        snapshot_id = EpochOffset(self.applied[-1].epoch, self.applied[-1].end)
        if self.node.log.snapshot(snapshot_id) or snapshot_id.offset <= self.node.log.start:
            return False
        data = encoded(self.applied, voters_at(self.node, snapshot_id.offset))
        snapshot = SnapshotInfo(snapshot_id, len(data))
        self.disk.put_snapshot(snapshot, data)
        self.handle(SnapshotTaken(snapshot))
        self.handle(DeleteBefore(snapshot_id))
        return True
