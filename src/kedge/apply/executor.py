"""The loop that carries a plan out: observe, start what may start, report, wait; then clean up.

Every state is written to the journal before its work begins (`execution.run_states`). Requests of
other processes are read at each poll. While the run is paused, no move starts; once those under way
have ended, the throttles are removed, and they are set again before moves continue.

A run that ends early leaves a defined state:

    an interrupt          no more moves start; the run waits for those under way, then removes the
                          throttles and is stopped
    a second interrupt    the run is left as it is; the journal has its state and its throttles
    kill -9               the same
    an error              with no move under way the throttles are removed and the run has failed
    no response           the run retries; after `patience_s` it is left as it is
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from kedge.apply.health_guard import HealthGuard
from kedge.apply.observe import Found, observe, observe_until_confirmed, work_in
from kedge.apply.preview import Preview
from kedge.apply.run_requests import RequestQueue
from kedge.apply.run_store import RunFiles
from kedge.apply.throttle_control import ThrottleControl
from kedge.apply.throttles import Waiting
from kedge.cluster.port import Cluster, Election, Replica
from kedge.errors import KedgeError, RefusedCommand, ReplicaNotAvailable, RunFailed, Unavailable
from kedge.execution import (
    DIVERGED,
    SETTLED,
    Lease,
    Limits,
    LogDirs,
    MoveStatus,
    Observation,
    Pace,
    Progress,
    Reply,
    Request,
    RequestKind,
    RunState,
    Statuses,
    brokers_waited_for,
    hold_reason,
    log_dir_requests,
    next_moves,
)
from kedge.execution import journal as lines
from kedge.model import TopicPartition
from kedge.plan import Change, PartitionReplica

BATCH = 1_000


def _nothing(*_: object) -> None:
    return None


@dataclass(frozen=True, slots=True)
class Pacing:
    """How a run waits and reports."""

    interval_s: float = 1.0
    patience_s: float = 300.0
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic
    now: Callable[[], float] = time.time
    stopping: Callable[[], bool] = lambda: False
    on_progress: Callable[[Progress], None] = _nothing
    on_note: Callable[[str], None] = _nothing

    @property
    def waiting(self) -> Waiting:
        """How to wait for brokers."""
        return Waiting(self.sleep, self.clock)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended.

    `left` are the partitions that still have to be moved, `skipped` those that others have moved,
    `unreleased` the throttles that no broker has confirmed to be gone.
    """

    moved: int
    left: Statuses
    skipped: Statuses = field(default_factory=dict[TopicPartition, MoveStatus])
    refused: Mapping[TopicPartition, KedgeError] = field(
        default_factory=dict[TopicPartition, KedgeError]
    )
    stopped: bool = False
    unreleased: Lease = field(default_factory=Lease)

    @property
    def complete(self) -> bool:
        """Whether every partition is where the plan puts it."""
        return not self.left and not self.skipped and not self.refused


class Executor:
    """Carries one run out."""

    def __init__(self, cluster: Cluster, files: RunFiles, judged: Preview, pacing: Pacing) -> None:
        self._cluster, self._files, self._pacing = cluster, files, pacing
        self._changes, self._target = judged.changes, judged.target
        self._ignore_health = judged.options.ignore_health
        record = files.record()
        self._each_way, self._steering = record.each_way, record.steering
        self._log_dirs_before: LogDirs = record.log_dirs or judged.log_dirs_before
        self._refused: dict[TopicPartition, KedgeError] = {}
        self._pace = Pace()
        self._noted: set[str] = set()
        self._diverged: set[TopicPartition] = set()
        self._paused = False
        self._requests = RequestQueue(files)
        self._health = HealthGuard(cluster, self._changes, pacing.clock, self._note)
        self._throttles = ThrottleControl(
            cluster, files, self._changes, self._target, pacing.waiting, self._note
        )

    def carry_out(self) -> Outcome:
        """Until every partition is in place, or the operator stops the run."""
        try:
            return self._carry_out()
        except Unavailable as fault:
            raise RunFailed(
                f"Run {self._files.name} is left as it is: {fault.what}",
                hint="continue it with kedge resume, or end it with kedge cancel",
            ) from fault
        except KedgeError as fault:
            raise self._failed(fault) from fault

    def _carry_out(self) -> Outcome:
        if not self._files.record().log_dirs and self._log_dirs_before:
            self._files.write(lines.placed(self._log_dirs_before))
        statuses = self._until_settled()
        outcome = self._outcome(statuses)
        if outcome.left or outcome.refused:
            return self._end(RunState.STOPPED if outcome.stopped else RunState.FAILED, outcome)
        self._files.enter(RunState.ELECTING)
        self._elect(statuses)
        return self._end(RunState.DONE, outcome)

    def _end(self, state: RunState, outcome: Outcome) -> Outcome:
        if outcome.skipped:
            self._files.write(lines.skipped(outcome.skipped))
        self._files.enter(RunState.RELEASING if state is RunState.DONE else state)
        left = self._throttles.release()
        if state is RunState.DONE:
            self._files.enter(state, moved=outcome.moved)
        return replace(outcome, unreleased=left)

    def _failed(self, fault: KedgeError) -> RunFailed:
        """Remove the throttles unless moves are under way; what to do next is in the error."""
        name = self._files.name
        try:
            _, statuses = self._observe()
            moving = [tp for tp, status in statuses.items() if status is MoveStatus.MOVING]
        except KedgeError:
            moving = None
        if moving == []:
            self._files.enter(RunState.FAILED)
            left = self._throttles.release()
            kept = "; some throttles are left, kedge throttle shows them" if left else ""
            return RunFailed(
                f"Run {name} failed: {fault}{kept}",
                hint="continue it with kedge resume, or undo it with kedge rollback",
            )
        moves = "its moves" if moving is None else f"{len(moving)} moves"
        return RunFailed(
            f"Run {name} failed: {fault}; {moves} go on under their throttles",
            hint="continue it with kedge resume, or end it with kedge cancel",
        )

    # ---- steering -------------------------------------------------------------------------------

    def _take_requests(self, statuses: Statuses, seen: Observation) -> None:
        """Carry out what other processes have requested since the last poll."""
        for interrupted in self._requests.interrupted():
            self._requests.answer(interrupted, Reply())
        for request in self._requests.pending():
            self._requests.take(request)
            reply = self._carried_out(request, statuses, seen)
            self._requests.answer(request.id, reply)

    def _carried_out(self, request: Request, statuses: Statuses, seen: Observation) -> Reply:
        match request.kind:
            case RequestKind.PAUSE:
                already, self._paused = self._paused, True
                return Reply(refused="is paused already" if already else "")
            case RequestKind.CONTINUE:
                already, self._paused = not self._paused, False
                return Reply(refused="is not paused" if already else "")
            case RequestKind.RATE:
                return self._change_rate(request, statuses, seen)

    def _change_rate(self, request: Request, statuses: Statuses, seen: Observation) -> Reply:
        record = self._files.record()  # it has the request: the journal is written first
        self._steering = record.steering
        rates = record.rate, record.steering.log_dir_rate
        try:
            silent = self._throttles.change(*rates, statuses, seen)
        except RefusedCommand as refusal:
            return Reply(refused=str(refusal))
        missed = f"; not confirmed by broker {', '.join(silent)}" if silent else ""
        self._tell(f"throttle changed to {record.rate} bytes/s in and out of each broker{missed}")
        return Reply(silent)

    def _stopping(self) -> bool:
        until = self._steering.until
        return self._pacing.stopping() or (until is not None and self._pacing.now() >= until)

    def _held_back(self) -> str:
        """Why no move may start now: a pause, or the time; empty where one may."""
        return hold_reason(self._steering, self._paused, self._pacing.now())

    def _pause(self, reason: str) -> RunState:
        """No move is under way: nothing that the run has set stands while nothing moves."""
        self._throttles.release()
        self._files.write(lines.entered(RunState.PAUSED, at=self._pacing.now(), why=reason))
        self._tell(f"no moves for now: {reason}")
        return RunState.PAUSED

    # ---- moves ----------------------------------------------------------------------------------

    def _begin_moving(self, statuses: Statuses, seen: Observation) -> RunState:
        if self._throttles.wanted:
            self._files.enter(RunState.THROTTLING)
            self._throttles.set_all(statuses, seen)
        self._files.enter(RunState.MOVING)
        return RunState.MOVING

    def _until_settled(self) -> Statuses:
        state = RunState.PLANNED
        while True:
            found, statuses = self._observe()
            seen = found.seen
            self._report(statuses, found)
            self._take_requests(statuses, seen)
            stopping, open_changes = self._stopping(), self._open_changes(statuses)
            under_way = any(status is MoveStatus.MOVING for status in statuses.values())
            ended = not under_way and (stopping or not open_changes)
            if ended and state is not RunState.PLANNED:
                return statuses
            held_back = "" if ended else self._held_back()
            if state is not RunState.MOVING and (under_way or not held_back):
                state = self._begin_moving(statuses, seen)
                continue  # setting throttles takes time: observe again
            if held_back and not under_way and state is not RunState.PAUSED:
                state = self._pause(held_back)
            idle = stopping or bool(held_back)
            chosen = [] if idle else self._startable(open_changes, statuses, seen)
            for first in range(0, len(chosen), BATCH):
                self._start(chosen[first : first + BATCH], seen)
            if not chosen or under_way:
                self._pacing.sleep(self._pacing.interval_s)

    def _open_changes(self, statuses: Statuses) -> list[Change]:
        ended = SETTLED | DIVERGED
        return [
            change
            for change in self._changes
            if statuses[change.tp] not in ended and change.tp not in self._refused
        ]

    def _startable(
        self, changes: Sequence[Change], statuses: Statuses, seen: Observation
    ) -> list[Change]:
        each_way = self._each_way
        chosen = next_moves(changes, statuses, seen, each_way=each_way, target=self._target)
        if not chosen or not (self._ignore_health or self._health.allows_moves()):
            return []
        self._throttles.set_on_started_brokers(statuses, seen)
        return chosen

    def _observe(self) -> tuple[Found, dict[TopicPartition, MoveStatus]]:
        return observe_until_confirmed(
            self._read,
            self._changes,
            self._target,
            confirmed=self._diverged,
            sleep=lambda seconds: self._pacing.sleep(min(self._pacing.interval_s, seconds)),
        )

    def _read(self) -> Found:
        """Observe, and again while the cluster does not answer."""
        deadline = self._pacing.clock() + self._pacing.patience_s
        while True:
            try:
                return observe(self._cluster, self._changes, self._target)
            except Unavailable as fault:
                if self._pacing.clock() >= deadline:
                    raise
                self._note(f"no response from the cluster ({fault.what}); retrying")
                self._pacing.sleep(self._pacing.interval_s)

    def _start(self, changes: Sequence[Change], seen: Observation) -> None:
        """Start moves; brokers are given log directories first, so that replicas begin there."""
        self._files.write(lines.started(change.tp for change in changes))
        self._send_log_dirs(log_dir_requests(changes, seen, self._target))
        moves = {c.tp: c.after for c in changes if self._needs_reassignment(c, seen)}
        if not moves:
            return
        try:
            answers = self._cluster.alter_reassignments(moves)
        except Unavailable as fault:  # the next observation shows whether they have started
            self._note(f"no response from the cluster ({fault.what}); retrying")
            return
        for tp, refusal in answers.items():
            if refusal is not None and not refusal.retriable:
                self._refuse(tp, refusal)

    @staticmethod
    def _needs_reassignment(change: Change, seen: Observation) -> bool:
        return change.tp in seen.moving or seen.replicas.get(change.tp) != change.after

    def _send_log_dirs(self, wanted: Mapping[PartitionReplica, str]) -> None:
        if not wanted:
            return
        requests = {Replica(*replica): path for replica, path in wanted.items()}
        for replica, refusal in self._cluster.alter_log_dirs(requests).items():
            # A replica that does not exist yet is created in the directory that was just sent.
            if refusal is None or isinstance(refusal, ReplicaNotAvailable) or refusal.retriable:
                continue
            tp = TopicPartition(replica.topic, replica.partition)
            self._refuse(tp, refusal)

    def _refuse(self, tp: TopicPartition, refusal: KedgeError) -> None:
        self._refused[tp] = refusal
        self._note(f"{tp} was refused: {refusal}")

    def _elect(self, statuses: Statuses) -> None:
        """Make the replica that the plan puts first the leader."""
        seen = self._read().seen
        elections = [
            c.tp
            for c in self._changes
            if statuses[c.tp] is MoveStatus.DONE
            and seen.leaders.get(c.tp) != c.after[0]
            and c.after[0] in seen.alive
        ]
        if not elections:
            return
        answers = self._cluster.elect_leaders(Election.PREFERRED, elections)
        for tp, refusal in answers.items():
            if refusal is not None and seen.leaders.get(tp) is not None:
                self._note(f"{tp} is still led by broker {seen.leaders[tp]}: {refusal.what}")

    # ---- reporting ------------------------------------------------------------------------------

    def _report(self, statuses: Statuses, found: Found) -> None:
        work = work_in(found, self._changes, statuses, self._target, self._log_dirs_before)
        limits = Limits(self._throttles.rate, self._each_way)
        self._pacing.on_progress(work.progress(limits, self._pace, self._pacing.clock()))
        for broker in brokers_waited_for(self._changes, statuses, found.seen):
            self._note(f"moves wait for broker {broker}, which is down")
        for tp, status in statuses.items():
            if status in DIVERGED:
                self._note(f"{tp} was moved by someone else; skipped")

    def _note(self, text: str) -> None:
        """Note something once."""
        if text not in self._noted:
            self._noted.add(text)
            self._tell(text)

    def _tell(self, text: str) -> None:
        self._pacing.on_note(text)

    def _outcome(self, statuses: Statuses) -> Outcome:
        ended = SETTLED | DIVERGED
        return Outcome(
            sum(status is MoveStatus.DONE for status in statuses.values()),
            {tp: status for tp, status in statuses.items() if status not in ended},
            {tp: status for tp, status in statuses.items() if status in DIVERGED},
            dict(self._refused),
            stopped=self._stopping(),
        )
