"""Steers a run while it is at work: requests, windows, a throttle that adapts, stuck moves."""

from __future__ import annotations

from collections.abc import Sequence

from kedge.apply.adaptive_control import AdaptiveControl
from kedge.apply.cancel_rollback import send_back
from kedge.apply.destinations import Destinations
from kedge.apply.health_guard import HealthGuard
from kedge.apply.move_bytes import under_way
from kedge.apply.observe import Found
from kedge.apply.outcome import Notes, Pacing
from kedge.apply.preview import Preview
from kedge.apply.run_port import Run
from kedge.apply.run_requests import RequestQueue
from kedge.apply.stuck_watch import StuckWatch
from kedge.apply.throttle_control import ThrottleControl, not_reported
from kedge.cluster.port import Cluster
from kedge.errors import (
    KedgeError,
    MoveSetAside,
    RefusedCommand,
    RunLeft,
    Unauthorised,
    Unavailable,
)
from kedge.execution import (
    MoveStatus,
    Observation,
    Reply,
    Request,
    RequestKind,
    RunState,
    Statuses,
    goes_back,
    hold_reason,
)
from kedge.execution import journal as lines
from kedge.execution.windows import is_open
from kedge.model import TopicPartition
from kedge.plan import Change


class RunControl:
    """Decides at each poll what may go on, and changes it.

    `refused` are the moves that were set aside for good, with the reason; `sent_back` those that
    this run has cancelled and that are on their way back.
    """

    def __init__(
        self,
        cluster: Cluster,
        files: Run,
        judged: Preview,
        pacing: Pacing,
        notes: Notes,
        throttles: ThrottleControl,
        health: HealthGuard,
    ) -> None:
        self._cluster, self._files, self._pacing, self._notes = cluster, files, pacing, notes
        self._changes, self._target = judged.changes, judged.target
        self._throttles = throttles
        self._steering = files.record().steering
        self._paused, self._paused_for = False, ""
        self._requests = RequestQueue(files)
        self._raise_request: str | None = None  # whose rates are being set in steps
        self.adaptive = AdaptiveControl(cluster, files, health, throttles, pacing, notes.once)
        stuck_after_s = self._steering.stuck_after_s
        self._watch = StuckWatch(cluster, self._changes, stuck_after_s, pacing.clock)
        self._destinations = Destinations(self._changes, self._target, stuck_after_s, pacing.clock)
        self.refused: dict[TopicPartition, KedgeError] = {}
        self.sent_back = set(files.record().sent_back)
        self._in_vain: dict[TopicPartition, str] = {}
        self._cancelled: set[TopicPartition] = set()

    # ---- requests -------------------------------------------------------------------------------

    def take_requests(self, statuses: Statuses, found: Found) -> None:
        """Carry out what other processes have requested since the last poll."""
        for interrupted in self._requests.interrupted():
            self._requests.answer(interrupted, Reply())
        for request in self._requests.pending():
            if request.kind is RequestKind.LEAVE:
                raise RunLeft(
                    f"Run {self._files.name} was left to another process, which has asked for it",
                    hint="this process changes nothing further; kedge status shows the run",
                )
            self._requests.take(request)
            if request.kind is RequestKind.RATE:
                self.answer_raise()
            reply = self._carried_out(request, statuses, found)
            if reply is None:
                self._raise_request = request.id
            else:
                self._requests.answer(request.id, reply)

    def answer_raise(self, reply: Reply | None = None) -> None:
        """Answer the request whose rates were being set in steps: they are set, or cut short."""
        if self._raise_request is not None:
            self._requests.answer(self._raise_request, reply or Reply())
            self._raise_request = None

    def _carried_out(self, request: Request, statuses: Statuses, found: Found) -> Reply | None:
        """The reply; None while the rates of the request are being set in steps."""
        match request.kind:
            case RequestKind.PAUSE:
                already, self._paused = self._paused, True
                return Reply(refused="is paused already" if already else "")
            case RequestKind.CONTINUE:
                already, self._paused = not self._paused, False
                return Reply(refused="is not paused" if already else "")
            case RequestKind.RATE:
                return self._change_rate(statuses, found)
            case RequestKind.LEAVE:
                raise AssertionError("a request to leave is not carried out")

    def _change_rate(self, statuses: Statuses, found: Found) -> Reply | None:
        record = self._files.record()  # it has the request: the journal is written first
        before, self._steering = self._steering, record.steering
        rate_before, rates = self._throttles.rate, (record.rate, record.steering.log_dir_rate)
        try:
            silent = self._throttles.change(*rates, statuses, found.seen)
        except (RefusedCommand, Unauthorised) as refusal:
            self._steering = before
            self._throttles.stay(rate_before, before.log_dir_rate)
            self._files.write(lines.settings_changed(rate_before, record.each_way, before))
            return Reply(refused=f"keeps its throttle: {refusal}")
        except Unavailable:  # it is in the journal, and some brokers may have it
            silent = tuple(record.lease.brokers)
        self.rate_changed(found)
        self._notes.tell("the throttle was changed with kedge throttle")
        return None if silent is None else self._confirmed(silent)

    def _confirmed(self, silent: tuple[str, ...]) -> Reply:
        if silent:
            self._notes.tell(not_reported(silent))
        return Reply(silent)

    def _raise_further(self) -> None:
        """Set the next step of a throttle that rises; the last one answers its request."""
        try:
            silent = self._throttles.rise()
        except Unauthorised as refusal:
            self._throttles.stay(self._throttles.rate, self._throttles.log_dir_rate)
            self.answer_raise(Reply(refused=f"does not raise its throttle further: {refusal}"))
            raise
        if silent is not None and self._raise_request is not None:
            self.answer_raise(self._confirmed(silent))
        elif silent:  # of a throttle that adapts
            self._notes.once(not_reported(silent))

    def rate_changed(self, found: Found) -> None:
        """Throttles were set: what is seen from now on is evidence of how the cluster copes."""
        self.adaptive.changed(self._changes, found)

    # ---- when moves may start -------------------------------------------------------------------

    def stopping(self) -> bool:
        """Whether the run shall end: an interrupt, or its time is over."""
        return self._pacing.stopping() or self._is_late()

    def _is_late(self) -> bool:
        until = self._steering.until
        return until is not None and self._pacing.now() >= until

    def held_back(self) -> str:
        """Why no move may start now: a pause, or the time; empty where one may."""
        return hold_reason(self._steering, self._paused, self._pacing.now())

    def pause(self, reason: str, state: RunState) -> RunState:
        """No move is under way: nothing that the run has set stands while nothing moves."""
        if state is RunState.PAUSED and reason == self._paused_for:
            return state
        self._paused_for = reason
        self._throttles.release()
        self._files.write(lines.entered(RunState.PAUSED, at=self._pacing.now(), why=reason))
        self._notes.tell(f"no moves for now: {reason}")
        return RunState.PAUSED

    # ---- moves under way ------------------------------------------------------------------------

    def steer(self, statuses: Statuses, found: Found) -> None:
        """Adapt the throttle, find stuck moves, and cancel those that may not go on."""
        try:
            self._steer(statuses, found)
        except Unavailable as fault:
            self._notes.once(f"no response from the cluster ({fault.what}); retrying")
        except Unauthorised as refusal:  # moves under way go on; the next ones are refused
            self._notes.once(f"the run cannot be steered: {refusal.what}")

    def _steer(self, statuses: Statuses, found: Found) -> None:
        self._raise_further()
        self._throttles.set_on_started_brokers(statuses, found.seen)
        for tp, why in self._throttles.keep(statuses, found.seen).items():
            self._set_aside(tp, why)
        moving = under_way(self._changes, statuses)
        self._find_stuck(statuses, found)
        self._check_rate(statuses, found, moving)
        out_of_time = not is_open(self._steering.windows, self._pacing.now()) or self._is_late()
        hard = self._steering.hard_window and out_of_time
        doomed = self._cancelled | self._in_vain.keys()
        self._send_back([c for c in moving if hard or c.tp in doomed], found)

    def _find_stuck(self, statuses: Statuses, found: Found) -> None:
        stuck = self._watch.newly_stuck(statuses, found, self._throttles.rate)
        for tp, (why, disk_failed) in stuck.items():
            self._notes.once(f"{tp} is stuck: {why}")
            if self._steering.cancel_stuck or disk_failed:
                self._set_aside(tp, why)
                self._cancelled.add(tp)

    def _set_aside(self, tp: TopicPartition, why: str) -> None:
        self._files.write(lines.set_aside([tp], why, at=self._pacing.now()))
        self.refused[tp] = MoveSetAside(why)

    def _check_rate(self, statuses: Statuses, found: Found, moving: Sequence[Change]) -> None:
        """A throttle that adapts, adapts; of another that no move can end at, the run tells."""
        within, rate, (needed, broker) = (
            self._steering.adaptive,
            self._throttles.rate,
            self._watch.needed,
        )
        if within is not None and moving:
            self.adaptive.adapt(within, self._changes, statuses, found, needed)
        ceiling = within.high if within is not None else rate
        if ceiling is not None and needed > ceiling:
            self._notes.once(
                f"throttle too low: producers write to the partitions that move at more than "
                f"{ceiling} bytes/s, through broker {broker}, which these moves cannot follow; "
                "raise it with kedge throttle --rate"
            )

    def _send_back(self, changes: Sequence[Change], found: Found) -> None:
        """Cancel moves that are under way; their partitions come back to where they were."""
        new = [c for c in changes if c.tp not in self.sent_back or _is_ahead(c, found.seen)]
        for change in new:
            self._notes.tell(f"{change.tp} is sent back to where it was")
        self.sent_back |= {change.tp for change in new}
        if new:
            self._files.write(lines.sent_back(change.tp for change in new))
            send_back(self._cluster, new, found.seen, self._target)

    def follow_sent_back(
        self, seen: Observation, statuses: dict[TopicPartition, MoveStatus]
    ) -> None:
        """A move on its way back is still under way, and no reassignment of someone else."""
        for change in self._changes:
            if change.tp not in self.sent_back:
                continue
            if goes_back(change, seen):
                statuses[change.tp] = MoveStatus.MOVING
            elif statuses[change.tp] is not MoveStatus.MOVING:
                self.sent_back.discard(change.tp)

    def set_aside(self, statuses: Statuses, found: Found) -> dict[TopicPartition, KedgeError]:
        """The moves that the run goes on without: for good, or while they cannot be made."""
        hidden = {
            tp: found.seen.hidden[tp.topic]
            for tp, status in statuses.items()
            if status is MoveStatus.HIDDEN
        }
        in_vain = self._destinations.in_vain(statuses, found)
        known, self._in_vain = self._in_vain, in_vain | hidden
        for tp, why in self._in_vain.items():
            if tp not in known:
                self._notes.tell(f"{tp} is set aside: {why}")
        return self.aside

    def with_room(
        self, changes: Sequence[Change], statuses: Statuses, found: Found
    ) -> list[Change]:
        """The moves whose destinations have room for them."""
        return self._destinations.with_room(changes, statuses, found)

    @property
    def aside(self) -> dict[TopicPartition, KedgeError]:
        """The moves that are set aside, with the reason."""
        return {tp: MoveSetAside(why) for tp, why in self._in_vain.items()} | self.refused


def _is_ahead(change: Change, seen: Observation) -> bool:
    """Whether a reassignment still goes where the plan does."""
    move = seen.moving.get(change.tp)
    return move is not None and move.target == change.after
