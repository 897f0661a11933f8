"""The loop that carries a plan out: observe, start what may start, report, wait; then clean up.

Every state is written to the journal before its work begins (`execution.run_states`). A run that
ends early leaves a defined state:

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

from kedge.apply.observe import (
    Found,
    observe,
    observe_health,
    observe_until_confirmed,
    work_in,
)
from kedge.apply.preview import Preview
from kedge.apply.run_store import RunFiles
from kedge.apply.throttles import (
    CONFIRM_S,
    Waiting,
    present_throttles,
    remove_throttles,
    set_throttles,
    until_confirmed,
)
from kedge.cluster.port import Cluster, Election, Replica
from kedge.errors import KedgeError, ReplicaNotAvailable, RunFailed, Unavailable
from kedge.execution import (
    DIVERGED,
    SETTLED,
    Health,
    Lease,
    Limits,
    LogDirs,
    MoveStatus,
    Observation,
    Pace,
    Progress,
    RunState,
    Statuses,
    Work,
    brokers_waited_for,
    lease_for,
    log_dir_requests,
    next_moves,
)
from kedge.execution import journal as lines
from kedge.model import BrokerId, TopicPartition
from kedge.plan import Change, PartitionReplica

BATCH = 1_000
HEALTH_INTERVAL_S = 5.0
HEALTH_SHARE = 0.1  # of the time is spent on reading the health of a large cluster


def _nothing(*_: object) -> None:
    return None


@dataclass(frozen=True, slots=True)
class Pacing:
    """How a run waits and reports."""

    interval_s: float = 1.0
    patience_s: float = 300.0
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic
    stopping: Callable[[], bool] = lambda: False
    on_run: Callable[[RunFiles], None] = _nothing  # once it has begun or is found, before it acts
    on_work: Callable[[Work], None] = _nothing  # at each observation, before `on_progress`
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
        self._limits = Limits(record.rate, record.each_way)
        self._log_dirs_before: LogDirs = record.log_dirs or judged.log_dirs_before
        self._refused: dict[TopicPartition, KedgeError] = {}
        self._pace = Pace()
        self._noted: set[str] = set()
        self._diverged: set[TopicPartition] = set()
        self._leased_for: frozenset[BrokerId] = frozenset()
        self._health_due: float | None = None
        self._health = Health()

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
        self._throttle()
        self._files.enter(RunState.MOVING)
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
        left = release(self._cluster, self._files, self._pacing.waiting)
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
            left = release(self._cluster, self._files, self._pacing.waiting)
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

    # ---- throttles ------------------------------------------------------------------------------

    def _throttle(self) -> None:
        if self._limits.rate is None:
            return
        self._files.enter(RunState.THROTTLING)
        found, statuses = self._observe()
        seen = found.seen
        wanted = lease_for(self._changes, statuses, seen, self._limits.rate, self._target)
        self._lease(self._files.record().lease.updated(wanted))
        self._leased_for = seen.alive

    def _lease(self, lease: Lease) -> None:
        self._files.write(lines.leased(lease))
        set_throttles(self._cluster, lease)
        for broker in until_confirmed(self._cluster, lease, self._pacing.waiting):
            if BrokerId(int(broker)) in self._cluster.describe().alive:
                self._note(f"broker {broker} did not report its throttle within {CONFIRM_S:g} s")

    def _throttle_started_brokers(self, statuses: Statuses, seen: Observation) -> None:
        """A broker that was down when throttles were set gets them when it is back."""
        if self._limits.rate is None or seen.alive <= self._leased_for:
            return
        lease = self._files.record().lease
        wanted = lease_for(self._changes, statuses, seen, self._limits.rate, self._target)
        missing = {n: rates for n, rates in wanted.brokers.items() if n not in lease.brokers}
        present, _ = present_throttles(self._cluster, Lease(missing))
        free = {name: rates for name, rates in missing.items() if name not in present.brokers}
        if free:
            self._lease(lease.updated(Lease(free)))
        self._leased_for = seen.alive

    # ---- moves ----------------------------------------------------------------------------------

    def _until_settled(self) -> Statuses:
        while True:
            found, statuses = self._observe()
            seen = found.seen
            self._report(statuses, found)
            stopping = self._pacing.stopping()
            open_changes = [
                change
                for change in self._changes
                if statuses[change.tp] not in SETTLED | DIVERGED and change.tp not in self._refused
            ]
            under_way = any(status is MoveStatus.MOVING for status in statuses.values())
            if not under_way and (stopping or not open_changes):
                return statuses
            chosen = [] if stopping else self._startable(open_changes, statuses, found)
            for first in range(0, len(chosen), BATCH):
                self._start(chosen[first : first + BATCH], seen)
            if not chosen or under_way:
                self._pacing.sleep(self._pacing.interval_s)

    def _startable(
        self, changes: Sequence[Change], statuses: Statuses, found: Found
    ) -> list[Change]:
        each_way, seen, sizes = self._limits.each_way, found.seen, found.sizes
        chosen = next_moves(
            changes, statuses, seen, each_way=each_way, target=self._target, sizes=sizes
        )
        if not chosen or not self._healthy():
            return []
        self._throttle_started_brokers(statuses, seen)
        return chosen

    def _healthy(self) -> bool:
        if self._ignore_health:
            return True
        began = self._pacing.clock()
        if self._health_due is None or began >= self._health_due:
            try:
                self._health = observe_health(self._cluster, (c.tp for c in self._changes))
            except Unavailable as fault:
                self._note(f"no response from the cluster ({fault.what}); retrying")
                return False
            took = self._pacing.clock() - began
            self._health_due = began + max(HEALTH_INTERVAL_S, took / HEALTH_SHARE)
            for problem in self._health.problems:
                self._note(f"no new moves: {problem} (--ignore-health overrides)")
        return bool(self._health)

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
        self._pacing.on_work(work)
        self._pacing.on_progress(work.progress(self._limits, self._pace, self._pacing.clock()))
        for broker in brokers_waited_for(self._changes, statuses, found.seen):
            self._note(f"moves wait for broker {broker}, which is down")
        for tp, status in statuses.items():
            if status in DIVERGED:
                self._note(f"{tp} was moved by someone else; skipped")

    def _note(self, text: str) -> None:
        if text not in self._noted:
            self._noted.add(text)
            self._pacing.on_note(text)

    def _outcome(self, statuses: Statuses) -> Outcome:
        ended = SETTLED | DIVERGED
        return Outcome(
            sum(status is MoveStatus.DONE for status in statuses.values()),
            {tp: status for tp, status in statuses.items() if status not in ended},
            {tp: status for tp, status in statuses.items() if status in DIVERGED},
            dict(self._refused),
            stopped=self._pacing.stopping(),
        )


def release(cluster: Cluster, files: RunFiles, waiting: Waiting) -> Lease:
    """Remove the throttles of a run; what no broker confirms to be gone stays in its lease."""
    record = files.record()
    if not record.lease:
        return record.lease
    left = remove_throttles(cluster, record.lease, record.own, waiting)
    if left != record.lease:
        files.write(lines.released(left))
    return left
