"""The controller: events in, work out. The package's docstring says how to drive it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from math import ceil
from typing import Any, TypeAlias

from kedge.kraft.retention import needed_from
from kedge.kraft.self_registration import SelfRegistration
from kedge.kraft.snapshot_schedule import SnapshotSchedule
from kedge.kraft.timeline import Timeline
from kedge.kraft.values import Ask, ControllerConfig, Found, Ports, Registration, Reply, Work
from kedge.metadata import (
    ApiError,
    Decision,
    Image,
    Schedule,
    Situation,
    SoftState,
    Versioned,
)
from kedge.metadata import decide as decide_request
from kedge.metadata.activation import Activate
from kedge.metadata.brokers import KRAFT_VERSION
from kedge.metadata.decision import RECORDS_PER_REQUEST_MAX
from kedge.metadata.features import UpdateFeatures
from kedge.model.error_codes import ErrorCode
from kedge.quorum import next_deadline, step
from kedge.quorum import start as start_node
from kedge.quorum.node import (
    Append,
    Appended,
    Committed,
    DeleteBefore,
    Event,
    LeaderChanged,
    LoadSnapshot,
    Node,
    Notification,
    Ready,
    Refusal,
    Resign,
    SnapshotTaken,
    UpgradeKRaftVersion,
)
from kedge.quorum.roles import Leader
from kedge.quorum.values import Batch, EpochOffset, LeaderAndEpoch

ControllerEvent: TypeAlias = Event | Ask


def start(
    config: ControllerConfig, found: Found, ports: Ports, *, now_ms: int
) -> tuple[Controller, Work]:
    """A controller from what is on its disk, and its first work."""
    node, ready = start_node(
        config.quorum,
        found.log,
        found.election,
        found.voters,
        now=now_ms,
        draw=ports.draw,
        kraft_version=found.kraft_version,
        voters_offset=found.voters_offset,
    )
    controller = Controller(config, ports, node, now_ms)
    return controller, controller.carry_on(ready)


class Controller:
    """One controller of a quorum: standby or active."""

    def __init__(self, config: ControllerConfig, ports: Ports, node: Node, now_ms: int) -> None:
        self.config = config
        self.node = node
        self.applied = EpochOffset(0, 0)  # the epoch of the last record applied, the next offset
        self._ports = ports
        self._now = now_ms
        self._timeline = Timeline()
        self._soft = SoftState()
        self._schedule: Schedule | None = None  # while active
        self._term: int | None = None  # the epoch in which this node is the active controller
        self._waiting: deque[tuple[int, Reply]] = deque()  # by the offset that must be committed
        self._heard: deque[Notification] = deque()
        self._snapshots = SnapshotSchedule(config, now_ms)
        self._registration = SelfRegistration(config)
        self._work = Work()

    # ---- what is known ---------------------------------------------------------------------------

    @property
    def stable(self) -> Image:
        """The committed image, which readers see."""
        return self._timeline.stable

    @property
    def is_active(self) -> bool:
        """Whether this node is the active controller."""
        return self._term is not None

    @property
    def leader(self) -> LeaderAndEpoch:
        """Who leads, as far as this node knows."""
        return LeaderAndEpoch(self.node.role.leader_id, self.node.role.epoch)

    @property
    def soft(self) -> SoftState:
        """What the active controller knows of brokers beside the image."""
        return self._soft

    def read(self, request: Any) -> Any:
        """The answer to a request that only reads, from what is committed."""
        return decide_request(replace(self._situation(), image=self.stable), request).answer

    def next_deadline(self, now_ms: int) -> int | None:
        """When a Tick is due at the latest."""
        due = [next_deadline(self.node, now_ms)]
        if self._schedule is not None:
            due.append(max(now_ms + 1, ceil(min(self._schedule.due_ms.values()))))
        if self._registration.is_wanted(self._timeline.newest, self.announced_leader):
            due.append(self._registration.due_ms(now_ms))
        return min((at for at in due if at is not None), default=None)

    # ---- events ----------------------------------------------------------------------------------

    def handle(self, event: ControllerEvent, *, now_ms: int) -> Work:
        """Take one event; everything that follows from it is in the work."""
        self._now = max(self._now, now_ms)
        if isinstance(event, Ask):
            self._ask(event)
        else:
            self._step(event)
        if isinstance(event, SnapshotTaken):
            self._drop_covered()
        return self._finished()

    def carry_on(self, ready: Ready) -> Work:
        """Take up what the start of the node has left to do."""
        self._take(ready)
        return self._finished()

    def _finished(self) -> Work:
        self._hear_all()
        self._run_tasks()
        self._register()
        self._work.snapshot = self._snapshots.maybe_due(
            self.applied, self._timeline.committed, self._now
        )
        work, self._work = self._work, Work()
        return work

    def _step(self, event: Event) -> Ready:
        self.node, ready = step(self.node, event, now=self._now, draw=self._ports.draw)
        self._take(ready)
        return ready

    def _take(self, ready: Ready) -> None:
        work = self._work
        work.writes += ready.writes
        work.sends += ready.sends
        work.answers += ready.answers
        work.fault = work.fault or ready.fault
        self._heard.extend(ready.notifications)

    # ---- what raft says --------------------------------------------------------------------------

    def _hear_all(self) -> None:
        while self._heard:
            match self._heard.popleft():
                case Committed(batch):
                    self._on_committed(batch)
                case LoadSnapshot(snapshot_id):
                    self._on_snapshot(snapshot_id)
                case LeaderChanged(leader):
                    self._on_leader(leader)

    def _on_committed(self, batch: Batch) -> None:
        if batch.records:
            if self.is_active:
                self._timeline.commit_appended(batch.last)
            else:
                decode = self._ports.form.decode
                self._timeline.replay(map(decode, batch.records), batch.base)
        self.applied = EpochOffset(batch.epoch, batch.last + 1)
        self._snapshots.on_committed(batch.size)
        while self._waiting and self._waiting[0][0] <= batch.last:
            self._work.replies.append(self._waiting.popleft()[1])

    def _on_snapshot(self, snapshot_id: EpochOffset) -> None:
        self._timeline.load(self._ports.load_snapshot(snapshot_id))
        self.applied = snapshot_id
        self._snapshots.on_taken(self._now)
        self._work.note("snapshot loaded", offset=snapshot_id.offset, epoch=snapshot_id.epoch)

    def _on_leader(self, leader: LeaderAndEpoch) -> None:
        self._registration.on_leader()
        self._work.note("leader", leader=leader.leader_id, epoch=leader.epoch)
        if self.is_active:
            self._renounce(f"epoch {leader.epoch} has begun")
        if leader.leader_id == self.config.quorum.node_id:
            self._claim(leader.epoch)

    # ---- terms -----------------------------------------------------------------------------------

    def _claim(self, epoch: int) -> None:
        self._term = epoch
        self._schedule = Schedule.begun(self.config.periods, self._now)
        self._work.note("active", epoch=epoch, offset=self._next_offset())
        self._decide(Activate())

    def _renounce(self, why: str) -> None:
        self._work.note("no longer active", epoch=self._term, why=why)
        self._term = self._schedule = None
        self._soft = SoftState()
        self._timeline.roll_back()
        waiting, self._waiting = self._waiting, deque()
        for _, reply in waiting:
            self._work.replies.append(Reply(reply.token, self._not_controller()))

    def _not_controller(self) -> ApiError:
        leader = self.node.role.leader_id
        known = leader is not None and leader != self.config.quorum.node_id
        return ApiError(
            ErrorCode.NOT_CONTROLLER,
            f"The active controller appears to be node {leader}."
            if known
            else "No controller appears to be active.",
        )

    # ---- requests --------------------------------------------------------------------------------

    def _ask(self, ask: Ask) -> None:
        if not self.is_active:
            self._work.replies.append(Reply(ask.token, self._not_controller()))
            return
        try:
            made = self._decide(ask.request)
        except Exception as problem:  # a fault of this code: the next leader may do better
            self._work.replies.append(
                Reply(ask.token, ApiError(ErrorCode.UNKNOWN_SERVER_ERROR, repr(problem)))
            )
            self._work.note("fault", request=type(ask.request).__name__, error=repr(problem))
            self._give_up(repr(problem))
            return
        if made is None:  # the lead was lost with it
            self._work.replies.append(Reply(ask.token, self._not_controller()))
            return
        self._answer_when_committed(Reply(ask.token, made.answer))

    def _answer_when_committed(self, reply: Reply) -> None:
        """A refusal waits for nothing; any other answer waits for what was appended before it."""
        refused = isinstance(reply.answer, ApiError) and reply.answer.failed
        last = self._timeline.last_appended
        if refused or last is None:
            self._work.replies.append(reply)
        else:
            self._waiting.append((last, reply))

    def _give_up(self, why: str) -> None:
        if self._term is not None:
            epoch = self._term
            self._renounce(why)
            self._step(Resign(epoch))

    def _decide(self, request: Any) -> Decision[Any] | None:
        """Decide, append, replay. None if this node can append no longer."""
        made = decide_request(self._situation(), request)
        if isinstance(request, UpdateFeatures) and not self._upgrade_quorum(request, made):
            return None
        for piece in _pieces(made):
            if not self._append(piece):
                return None
        if made.soft is not None:
            self._soft = made.soft
        return made

    def _append(self, records: tuple[Versioned, ...]) -> bool:
        assert self._term is not None
        form, first = self._ports.form, self._next_offset()
        kept = tuple(map(form.encode, records))
        outcome = self._step(Append(self._term, kept, sum(map(form.size, kept)))).outcome
        if not isinstance(outcome, Appended):
            why = outcome.reason if isinstance(outcome, Refusal) else "the append was not taken"
            self._give_up(why)
            return False
        self._timeline.append(records, first, outcome.last_offset)
        return True

    def _next_offset(self) -> int:
        role = self.node.role
        return role.pending.next_offset if isinstance(role, Leader) else self.node.log.end

    def _situation(self) -> Situation:
        ports = self._ports
        return Situation(
            self.config.settings,
            self._timeline.newest,
            self._soft,
            now_ms=self._now,
            next_offset=self._next_offset(),
            draw=ports.draw,
            new_id=ports.new_id,
            resolves=ports.resolves,
            kraft_version=self.node.kraft_version,
            refuses_kraft_version=self._refuses_kraft_version,
            create_policy=ports.create_policy,
            alter_policy=ports.alter_policy,
        )

    # ---- kraft.version ---------------------------------------------------------------------------

    def _refuses_kraft_version(self, level: int) -> str | None:
        """Why the quorum cannot take a kraft.version: a step on trial says so."""
        assert self._term is not None
        trial = UpgradeKRaftVersion(self._term, level)
        _, ready = step(self.node, trial, now=self._now, draw=self._ports.draw)
        if ready.fault:
            return ready.fault.reason
        return ready.outcome.reason if isinstance(ready.outcome, Refusal) else None

    def _upgrade_quorum(self, request: UpdateFeatures, made: Decision[Any]) -> bool:
        """Let raft write its own version, before the record that the caller waits for."""
        for update in request.updates:
            if update.feature == KRAFT_VERSION and made.records and self._term is not None:
                event = UpgradeKRaftVersion(self._term, update.level)
                if isinstance(self._step(event).outcome, Refusal):
                    return False
        return True

    # ---- by itself -------------------------------------------------------------------------------

    def _run_tasks(self) -> None:
        while (schedule := self._schedule) and (task := schedule.next_due(self._now)):
            made = self._decide(task)
            if made is not None:
                self._schedule = schedule.ran(task, self._now, more=bool(made.answer))
            self._hear_all()

    @property
    def announced_leader(self) -> int | None:
        """The leader that the state machine has heard of."""
        return self.node.announced.leader_id

    def _register(self) -> None:
        """Send the registration until the log has it."""
        leader = self.announced_leader
        if leader is None or not self._registration.is_wanted(self._timeline.newest, leader):
            return
        request = self._registration.maybe_request(self._now)
        if request is None:
            return
        if self.is_active:
            self._decide(request)
            self._hear_all()
        else:
            self._work.registration = Registration(leader, request)

    def _drop_covered(self) -> None:
        """Drop what a snapshot covers, once that is larger or older than the retention."""
        self._snapshots.on_taken(self._now)
        first = needed_from(self.node.log, self.config, self._now)
        if first is not None:
            self._step(DeleteBefore(first))


def _pieces(made: Decision[Any]) -> Iterator[tuple[Versioned, ...]]:
    """The records as they are appended: whole if atomic, else cut."""
    if made.atomic:
        if made.records:
            yield made.records
        return
    left = iter(made.records)
    while piece := tuple(islice(left, RECORDS_PER_REQUEST_MAX)):
        yield piece
