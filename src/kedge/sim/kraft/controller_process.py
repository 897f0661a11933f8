"""A controller across restarts: the real one, on a simulated disk and network."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from kedge.kraft import Ask, Controller, ControllerConfig, Ports, Registration, SnapshotDue, Work
from kedge.metadata import ApiError, Versioned, snapshot
from kedge.quorum import start as start_node
from kedge.quorum.log import SnapshotInfo
from kedge.quorum.messages import FetchSnapshotResponse
from kedge.quorum.node import Event, Node, Response, SnapshotTaken, Tick
from kedge.quorum.values import EpochOffset
from kedge.sim.kraft.checkers import KraftCheckers
from kedge.sim.kraft.mutations import Rules
from kedge.sim.kraft.numbered import Numbered, NumberedRecords
from kedge.sim.kraft.snapshots import decoded, encoded
from kedge.sim.quorum.mutations import Entry
from kedge.sim.quorum.node_process import Environment, NodeProcess
from kedge.sim.rng import SeededRng

EVERYTHING = 2**62
IMAGE_CHECK_INTERVAL = 8  # batches

Respond = Callable[[Any], None]


class KraftEnvironment(Environment, Protocol):
    """What a process knows of the cluster around it."""

    @property
    def processes(self) -> Mapping[int, ControllerProcess]: ...
    @property
    def checkers(self) -> KraftCheckers: ...
    @property
    def records(self) -> Callable[[], NumberedRecords]: ...
    @property
    def new_id(self) -> Callable[[], str]: ...


@dataclass(frozen=True, slots=True)
class Waiting:
    """A request that waits for its answer, and what must be committed before it."""

    what: str
    respond: Respond
    appended: tuple[Numbered, ...] = ()


class ControllerProcess(NodeProcess):
    """A controller that can be killed, paused and started again."""

    def __init__(
        self, cluster: KraftEnvironment, config: ControllerConfig, rng: SeededRng, rules: Rules
    ) -> None:
        super().__init__(cluster, config.quorum, rng, rules.raft)
        self.cluster = cluster
        self.controller: Controller | None = None
        self.applied_end = 0
        self._rules = rules
        self._settings = config
        self._records = cluster.records()
        self._asks: dict[int, Waiting] = {}
        self._epoch = 0
        self._arriving: FetchSnapshotResponse | None = None  # the part that is being handled
        self._batches = 0

    @property
    def node(self) -> Node | None:
        """The raft node; None while the process is down."""
        return None if self.controller is None else self.controller.node

    # ------------------------------------------------------------------------------ life

    def start(self) -> None:
        """Start from the disk."""
        self.incarnation += 1
        self.applied_end, self._asks = 0, {}
        self._records.fresh.clear()
        content, now = self.disk.durable, self.local_ms
        node, ready = start_node(
            self.config,
            content.log.with_high_watermark(0),
            content.election,
            self.cluster.first_voters,
            now=now,
            draw=self.rng.draw,
        )
        settings = self._settings
        if settings.incarnation:
            settings = replace(settings, incarnation=self.cluster.new_id())
        ports = Ports(self.rng.draw, self.cluster.new_id, self._records, self._load)
        self.controller = self._rules.controller(settings, ports, node, now)
        self._carry_out(self.controller.carry_on(ready))

    def _stop(self) -> None:
        self.controller = None

    def _handle(self, event: Any) -> None:
        controller = self.controller
        assert controller is not None
        if isinstance(event, Ask):
            self._handle_ask(controller, event)
            return
        controller.node, event = self._rules.raft.before(controller.node, event)
        self._arriving = _snapshot_part(event)
        self._carry_out(controller.handle(event, now_ms=self.local_ms))

    def _handle_ask(self, controller: Controller, ask: Ask) -> None:
        """What is due comes first, so that what is appended then belongs to the request."""
        self._carry_out(controller.handle(Tick(), now_ms=self.local_ms))
        if self.controller is not controller or ask.token not in self._asks:
            return  # died of the tick
        work = controller.handle(ask, now_ms=self.local_ms)
        self._asks[ask.token] = replace(self._asks[ask.token], appended=tuple(self._records.fresh))
        self._carry_out(work)

    def _carry_out(self, work: Work) -> None:
        controller = self.controller
        assert controller is not None
        if work.fault:
            self.cluster.checkers.on_fault(self.id, work.fault)
        if not self.disk.carry_out(tuple(work.writes)):
            self.kill()
            return
        self.cluster.checkers.on_step(self)
        self._deliver(controller)
        for answer in work.answers:
            self._answer(answer.token, answer.message)
        for send in work.sends:
            self._send(send)
        for reply in work.replies:
            self._reply(reply.token, reply.answer)
        self._note_uncommitted(controller)
        if work.registration:
            self._register(work.registration)
        if work.snapshot:
            self._take_snapshot(work.snapshot)
        self._set_timer(controller.next_deadline(self.local_ms))
        for notice in work.notices:
            self.cluster.note(f"node {self.id}: {notice.what} {dict(notice.fields)}")

    # ------------------------------------------------------------------------------ the log

    def _deliver(self, controller: Controller) -> None:
        """Show the checkers what the controller has applied."""
        end, checkers = controller.applied.offset, self.cluster.checkers
        if end <= self.applied_end:
            return
        for batch in controller.node.log.read(self.applied_end, before=end, max_bytes=EVERYTHING):
            checkers.on_committed(self.id, Entry.of(batch))
            self._batches += 1
        self.applied_end = end
        if self._batches % IMAGE_CHECK_INTERVAL == 0:
            self.show_image()

    def show_image(self) -> None:
        """What a client or the broker above would read."""
        if self.controller is not None:
            at = self.controller.applied.offset
            self.cluster.checkers.on_image(self.id, at, self.controller.stable)

    def _note_uncommitted(self, controller: Controller) -> None:
        """Forget what is committed, and what a lost lead has taken back."""
        fresh, epoch = self._records.fresh, controller.node.role.epoch
        if epoch != self._epoch or not controller.is_active:
            self._epoch = epoch
            fresh.clear()
        if fresh:
            committed = self.cluster.checkers.values
            fresh[:] = [kept for kept in fresh if kept not in committed]

    def _take_snapshot(self, due: SnapshotDue) -> None:
        life = self.incarnation

        def write() -> None:
            node = self.node
            if node is None or life != self.incarnation or due.id.offset <= node.log.start:
                return
            data = encoded(snapshot(due.image))
            info = SnapshotInfo(due.id, len(data))
            self.disk.put_snapshot(info, data)
            self.cluster.checkers.checks["snapshots written"] += 1
            self.handle(SnapshotTaken(info))

        self.cluster.clock.after(self.rng.between(1, 200), write)

    def _load(self, snapshot_id: EpochOffset) -> tuple[Versioned, ...]:
        """The records of a snapshot; the last part of one that was fetched is just arriving."""
        disk, part = self.disk.durable, self._arriving
        data = disk.snapshots.get(snapshot_id)
        if data is None:
            assert part is not None
            data = disk.parts.get(snapshot_id, b"")[: part.position] + part.data
        records = tuple(decoded(data))
        self.cluster.checkers.on_load(self.id, snapshot_id, records)
        self.applied_end = snapshot_id.offset
        return records

    # ------------------------------------------------------------------------------ requests

    def ask(self, request: Any, respond: Respond) -> None:
        """Take a metadata request; a process that is down does not answer."""
        if self.node is not None:
            self._asks[token := self.next_token()] = Waiting(type(request).__name__, respond)
            self.handle(Ask(token, request))

    def _reply(self, token: int, answer: Any) -> None:
        waiting = self._asks.pop(token)
        if isinstance(answer, ApiError) and answer.failed:
            self.cluster.checkers.on_refusal(self.id, waiting.what, answer)
        else:
            self.cluster.checkers.on_reply(self.id, waiting.what, waiting.appended)
        waiting.respond(answer)

    def _register(self, registration: Registration) -> None:
        leader = self.cluster.processes[registration.leader]
        self.cluster.network.carry(
            self.id, leader.id, lambda: leader.ask(registration.request, _no_answer)
        )


def _snapshot_part(event: Event) -> FetchSnapshotResponse | None:
    found = event.message if isinstance(event, Response) else None
    return found if isinstance(found, FetchSnapshotResponse) else None


def _no_answer(answer: Any) -> None:
    """A registration is repeated until the log has it."""
