"""The loop that carries a plan out: observe, start what may start, report, wait; then clean up.

Every state is written to the journal before its work begins (`execution.run_states`). Requests of
other processes are read at each poll. While the run is paused, no move starts; once those under way
have ended, the throttles are removed, and they are set again before moves continue.

A move that cannot be carried out is set aside with its reason, and the run goes on with the rest:
one that the cluster refuses, one that waits for a broker which stays down, one whose topic the user
may not see any more, and one that is stuck, if the operator wants that cancelled (`run_control`).

A run that ends early leaves a defined state:

    an interrupt          no more moves start; the run waits for those under way, then removes the
                          throttles and is stopped
    a second interrupt    the run is left as it is; the journal has its state and its throttles
    kill -9               the same
    an error              with no move under way the throttles are removed and the run has failed
    no response           the run retries; after `patience_s` it is left as it is
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kedge.apply.health_guard import HealthGuard
from kedge.apply.move_bytes import under_way
from kedge.apply.observe import Found, observe, observe_until_confirmed, work_in
from kedge.apply.outcome import Notes, Outcome, Pacing
from kedge.apply.preview import Preview
from kedge.apply.run_control import RunControl
from kedge.apply.run_port import Run
from kedge.apply.start_moves import start_moves
from kedge.apply.throttle_control import ThrottleControl
from kedge.cluster.port import Cluster, Election
from kedge.errors import KedgeError, RunFailed, RunTakenOver, Unauthorised, Unavailable
from kedge.execution import (
    DIVERGED,
    SETTLED,
    Limits,
    LogDirs,
    MoveStatus,
    Observation,
    Pace,
    RunState,
    Statuses,
    brokers_waited_for,
    next_moves,
)
from kedge.execution import journal as lines
from kedge.model import TopicPartition
from kedge.plan import Change

BATCH = 1_000


class Executor:
    """Carries one run out."""

    def __init__(self, cluster: Cluster, files: Run, judged: Preview, pacing: Pacing) -> None:
        self._cluster, self._files, self._pacing = cluster, files, pacing
        self._changes, self._target = judged.changes, judged.target
        self._ignore_health = judged.options.ignore_health
        record = files.record()
        self._each_way = record.each_way
        self._log_dirs_before: LogDirs = record.log_dirs or judged.log_dirs_before
        self._pace = Pace()
        self._diverged: set[TopicPartition] = set()
        self._notes = Notes(pacing.on_note)
        self._health = HealthGuard(
            cluster,
            self._changes,
            pacing.clock,
            self._notes.once,
            record.steering.stuck_after_s,
            judged.under_min_isr,
        )
        self._throttles = ThrottleControl(
            cluster,
            files,
            self._changes,
            self._target,
            pacing.waiting,
            self._notes.once,
            rise_s=pacing.rise_s,
            throttled_until=pacing.throttled_until,
            own=judged.own,
        )
        self._control = RunControl(
            cluster, files, judged, pacing, self._notes, self._throttles, self._health
        )

    def carry_out(self) -> Outcome:
        """Until every partition is in place, or the operator stops the run."""
        try:
            return self._carry_out()
        except RunTakenOver:
            raise  # moves and throttles are the new owner's
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
        self._control.answer_raise()
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

    # ---- moves ----------------------------------------------------------------------------------

    def _begin_moving(self, statuses: Statuses, found: Found) -> RunState:
        if self._throttles.wanted:
            self._files.enter(RunState.THROTTLING)
        self._throttles.begin(statuses, found.seen)
        self._control.rate_changed(found)
        self._files.enter(RunState.MOVING)
        return RunState.MOVING

    def _until_settled(self) -> Statuses:
        state = RunState.PLANNED
        while True:
            found, statuses = self._observe()
            self._pacing.on_state(state)
            self._report(statuses, found)
            self._control.take_requests(statuses, found)
            stopping = self._control.stopping()
            open_changes = self._open_changes(statuses, found)
            moving = under_way(self._changes, statuses)
            ended = not moving and (stopping or not open_changes)
            if ended and state is not RunState.PLANNED:
                return statuses
            held_back = "" if ended else self._control.held_back()
            if state is not RunState.MOVING and (moving or not held_back):
                held_back = self._throttles.held_by_others(statuses, found.seen)
                if not held_back:
                    state = self._begin_moving(statuses, found)
                    continue  # setting throttles takes time: observe again
            if held_back and not moving:
                state = self._control.pause(held_back, state)
            self._control.steer(statuses, found)
            idle = stopping or bool(held_back)
            chosen = [] if idle else self._startable(open_changes, statuses, found)
            self._start(chosen, found.seen)
            if not chosen or moving:
                self._pacing.sleep(self._pacing.interval_s)

    def _open_changes(self, statuses: Statuses, found: Found) -> list[Change]:
        """What is still to be moved, without what is set aside."""
        ended, aside = SETTLED | DIVERGED, self._control.set_aside(statuses, found)
        return [c for c in self._changes if statuses[c.tp] not in ended and c.tp not in aside]

    def _startable(
        self, changes: Sequence[Change], statuses: Statuses, found: Found
    ) -> list[Change]:
        chosen = next_moves(
            self._control.with_room(changes, statuses, found),
            statuses,
            found.seen,
            each_way=self._each_way,
            target=self._target,
            sizes=found.sizes,
        )
        if not chosen or not (self._ignore_health or self._health.allows_moves()):
            return []
        return chosen

    def _observe(self) -> tuple[Found, dict[TopicPartition, MoveStatus]]:
        confirmed = self._diverged | self._control.sent_back
        found, statuses = observe_until_confirmed(
            self._read,
            self._changes,
            self._target,
            confirmed=confirmed,
            sleep=lambda seconds: self._pacing.sleep(min(self._pacing.interval_s, seconds)),
        )
        self._diverged = confirmed - self._control.sent_back
        self._control.follow_sent_back(found.seen, statuses)
        return found, statuses

    def _read(self) -> Found:
        """Observe, and again while the cluster does not answer."""
        deadline = self._pacing.clock() + self._pacing.patience_s
        while True:
            began = self._pacing.clock()
            try:
                found = observe(self._cluster, self._changes, self._target, may_be_hidden=True)
                self._control.adaptive.read_took(self._pacing.clock() - began)
                return found
            except Unavailable as fault:
                if self._pacing.clock() >= deadline:
                    raise
                self._notes.once(f"no response from the cluster ({fault.what}); retrying")
                self._pacing.sleep(self._pacing.interval_s)

    def _start(self, changes: Sequence[Change], seen: Observation) -> None:
        for first in range(0, len(changes), BATCH):
            batch = changes[first : first + BATCH]
            self._files.write(lines.started(change.tp for change in batch))
            refused = start_moves(self._cluster, batch, seen, self._target, self._notes.once)
            self._control.refused |= refused
            for tp, refusal in refused.items():
                self._notes.once(f"{tp} was refused: {refusal}")

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
        try:
            answers = self._cluster.elect_leaders(Election.PREFERRED, elections)
        except Unauthorised as refusal:
            self._notes.once(f"no leaders are elected: {refusal.what}")
            return
        for tp, refusal in answers.items():
            if refusal is not None and seen.leaders.get(tp) is not None:
                self._notes.once(f"{tp} is still led by broker {seen.leaders[tp]}: {refusal.what}")

    # ---- reporting ------------------------------------------------------------------------------

    def _report(self, statuses: Statuses, found: Found) -> None:
        work = work_in(found, self._changes, statuses, self._target, self._log_dirs_before)
        limits = Limits(self._throttles.rate, self._each_way)
        self._pacing.on_work(work)
        now = self._pacing.speed * self._pacing.clock()
        self._pacing.on_progress(work.progress(limits, self._pace, now))
        for broker in brokers_waited_for(self._changes, statuses, found.seen):
            self._notes.once(f"moves wait for broker {broker}, which is down")
        for tp, status in statuses.items():
            if status in DIVERGED:
                self._notes.once(f"{tp} was moved by someone else; skipped")
            elif status is MoveStatus.GONE:
                self._notes.once(f"{tp} is gone: its topic was deleted")

    def _outcome(self, statuses: Statuses) -> Outcome:
        ended = SETTLED | DIVERGED
        return Outcome(
            sum(status is MoveStatus.DONE for status in statuses.values()),
            {tp: status for tp, status in statuses.items() if status not in ended},
            {tp: status for tp, status in statuses.items() if status in DIVERGED},
            {tp: why for tp, why in self._control.aside.items() if statuses[tp] not in ended},
            gone=tuple(tp for tp, status in statuses.items() if status is MoveStatus.GONE),
            stopped=self._control.stopping(),
            rate_changes=self._files.record().rate_changes,
        )
