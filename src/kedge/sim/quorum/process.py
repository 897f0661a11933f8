"""One raft node across restarts, and a list as its state machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from kedge.quorum import next_deadline, start, step
from kedge.quorum.leading import NO_OFFSET
from kedge.quorum.log import SnapshotInfo
from kedge.quorum.messages import FetchSnapshotResponse, RequestMessage
from kedge.quorum.node import (
    Append,
    Appended,
    Committed,
    DeleteBefore,
    Event,
    LeaderChanged,
    LoadSnapshot,
    Node,
    Ready,
    Request,
    Response,
    SnapshotTaken,
)
from kedge.quorum.roles import Leader
from kedge.quorum.values import EpochOffset, QuorumConfig
from kedge.sim.quorum.mutations import Entry, Mutation
from kedge.sim.quorum.node_process import Environment, NodeProcess
from kedge.sim.quorum.snapshots import decoded, encoded, voters_at
from kedge.sim.rng import SeededRng


class QuorumEnvironment(Environment, Protocol):
    """What a process knows of the quorum around it."""

    @property
    def processes(self) -> Mapping[int, Process]: ...
    @property
    def is_dynamic(self) -> bool: ...


class Process(NodeProcess):
    """A node with a list of entries as state machine."""

    def __init__(
        self, cluster: QuorumEnvironment, config: QuorumConfig, rng: SeededRng, mutation: Mutation
    ) -> None:
        super().__init__(cluster, config, rng, mutation)
        self.cluster = cluster
        self.applied: list[Entry] = []
        self.led_epoch: int | None = None  # as the state machine above knows it
        self._node: Node | None = None
        self._mutation = mutation

    @property
    def node(self) -> Node | None:
        """The raft node; None while the process is down."""
        return self._node

    @property
    def applied_end(self) -> int:
        """The offset up to which the state machine has the log."""
        return self.applied[-1].end if self.applied else 0

    # ------------------------------------------------------------------------------ life

    def start(self) -> None:
        """Start from the disk."""
        self.incarnation += 1
        self.applied, self.led_epoch = [], None
        content = self.disk.durable
        latest = content.log.latest_snapshot
        voters, offset = self.cluster.first_voters, NO_OFFSET
        if latest and self.cluster.is_dynamic:
            voters = decoded(content.snapshots[latest.id]).voters
            offset = latest.id.offset - 1
        self._node, ready = start(
            self.config,
            content.log.with_high_watermark(0),
            content.election,
            voters,
            now=self.local_ms,
            draw=self.rng.draw,
            kraft_version=int(self.cluster.is_dynamic),
            voters_offset=offset,
        )
        self._carry_out(ready)

    def _stop(self) -> None:
        self._node = None

    def _handle(self, event: Event) -> Ready:
        assert self._node is not None
        node, event = self._mutation.before(self._node, event)
        self._node, ready = step(node, event, now=self.local_ms, draw=self.rng.draw)
        self._carry_out(ready)
        return ready

    def _carry_out(self, ready: Ready) -> None:
        assert self._node is not None
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
        self._set_timer(next_deadline(self._node, self.local_ms))

    # ------------------------------------------------------------------------------ messages

    def receive(self, life: int, event: Event) -> None:
        """Take a response, if it is for this life of the process."""
        super().receive(life, self._with_voters(event) if life == self.incarnation else event)

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

    def ask(self, message: RequestMessage) -> None:
        """Take the request of a client, who does not wait for the answer."""
        self.handle(Request(self.next_token(), message, self.config.listener))

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
        if self.node is None or not self.applied or self.is_paused:
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
