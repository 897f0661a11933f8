"""Requests to runs: sent by one process, carried out by the process that is at work on the run.

Where no process is at work, the one that sends the request carries it out: it changes the rates of
throttles that are set, and the journal keeps them for `kedge resume`. A request whose sender and
whose run were both killed is carried out by the next command about the cluster's runs.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from secrets import token_hex

from kedge.apply.run_port import Run, RunStore
from kedge.apply.throttle_control import change_rates
from kedge.apply.throttles import Waiting
from kedge.cluster.port import Cluster
from kedge.errors import ReassignmentInProgress, RefusedCommand, RunFailed
from kedge.execution import (
    TABLE,
    Action,
    RateRange,
    Reply,
    Request,
    RequestKind,
    RunState,
    Verb,
    read_requests,
    request_line,
)
from kedge.execution import journal as lines

REPLY_S = 90.0  # a poll of a large cluster, and the time that brokers have to confirm a rate
PAUSE_S = 0.2
LOCK_INTERVAL_S = 1.0
VERBS = {
    RequestKind.RATE: Verb.RATE,
    RequestKind.PAUSE: Verb.PAUSE,
    RequestKind.CONTINUE: Verb.CONTINUE,
    RequestKind.LEAVE: Verb.PAUSE,  # where one can pause, one can leave
}
AT_REST = (RunState.STOPPED, RunState.FAILED)


@dataclass(frozen=True, slots=True)
class Requested:
    """A request and what came of it; `at_work` is False where no process was at work on the run."""

    run: Run
    request: Request
    reply: Reply
    at_work: bool


def new_request(
    kind: RequestKind,
    *,
    rate: int | None = None,
    log_dir_rate: int | None = None,
    adaptive: RateRange | None = None,
    now: Callable[[], float] = time.time,
) -> Request:
    """A request with an id of its own."""
    return Request(token_hex(8), now(), kind, rate, log_dir_rate, adaptive)


def allowed(verb: Verb, runs: RunStore, run: Run) -> Action:
    """What a command does with a run; raises the refusal that the table has for its state."""
    cell = TABLE[verb][runs.state_of(run)]
    if cell.action is not Action.REFUSE:
        return cell.action
    rollback = runs.rollback_of(run)
    names = {"run": run.name, "rollback": "" if rollback is None else rollback.name}
    raise RefusedCommand(cell.what.format(**names), hint=cell.hint.format(**names))


# ---- the process that sends ---------------------------------------------------------------------


def send(
    cluster: Cluster, runs: RunStore, run_id: str | None, request: Request, waiting: Waiting
) -> Requested:
    """Send a request to a run and wait until it was carried out, or carry it out at rest."""
    chosen = runs.chosen(run_id)
    try:
        with runs.held():
            return _carried_out_at_rest(cluster, runs, chosen, request, waiting)
    except ReassignmentInProgress:
        pass
    run = worked_on(runs, chosen)
    if runs.record_of(run).state in AT_REST:  # the process is at work on another run
        allowed(VERBS[request.kind], runs, chosen)
        run.send_request(request_line(request))
        return Requested(run, request, Reply(), at_work=False)
    run.send_request(request_line(request))
    return _awaited(cluster, runs, chosen, request, waiting)


def worked_on(runs: RunStore, run: Run) -> Run:
    """The run itself, or the rollback of it that is not finished."""
    rolling_back = runs.state_of(run) is RunState.ROLLING_BACK
    return (runs.rollback_of(run) or run) if rolling_back else run


def _carried_out_at_rest(
    cluster: Cluster, runs: RunStore, run: Run, request: Request, waiting: Waiting
) -> Requested:
    allowed(VERBS[request.kind], runs, run)
    run = worked_on(runs, run)
    if request.id not in {each.id for each in read_requests(run.requests())}:
        run.send_request(request_line(request))
    answer_at_rest(cluster, run, waiting)
    return Requested(run, request, run.record().replies[request.id] or Reply(), at_work=False)


def _awaited(
    cluster: Cluster, runs: RunStore, chosen: Run, request: Request, waiting: Waiting
) -> Requested:
    run = worked_on(runs, chosen)
    began = waiting.clock()
    lock_due = began + LOCK_INTERVAL_S
    while True:
        reply = runs.record_of(run).replies.get(request.id)
        if reply is not None:
            return Requested(run, request, reply, at_work=True)
        now = waiting.clock()
        if now >= lock_due:
            lock_due = now + LOCK_INTERVAL_S
            try:
                with runs.held(patient=False):  # the process has ended, by itself or not
                    if runs.record_of(run).replies.get(request.id) is None:
                        return _carried_out_at_rest(cluster, runs, chosen, request, waiting)
            except ReassignmentInProgress:
                pass
        if now >= began + REPLY_S:
            raise RunFailed(
                f"Run {run.name} did not carry the request out within {REPLY_S:g} s",
                hint="it stays and is carried out when the run polls again; see kedge status",
            )
        waiting.sleep(PAUSE_S)


# ---- a run that no process is at work on --------------------------------------------------------


def answer_at_rest(cluster: Cluster, run: Run, waiting: Waiting) -> None:
    """Carry out requests for other rates; pauses are left to the process that resumes the run."""
    for request in RequestQueue(run).pending():
        if request.kind is not RequestKind.RATE:
            continue
        run.write(lines.request_taken(request, at=run.now()))
        record = run.record()
        rates = record.rate, record.steering.log_dir_rate
        silent = change_rates(cluster, run, *rates, waiting)
        run.write(lines.request_answered(request.id, Reply(silent)))


# ---- the process at work ------------------------------------------------------------------------


class RequestQueue:
    """The requests of one run that were not carried out yet."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._answered = {i for i, reply in run.record().replies.items() if reply is not None}
        self._taken = {i for i, reply in run.record().replies.items() if reply is None}
        self._interrupted = frozenset(self._taken)
        # A process that was to leave the run has done so: this one works on it now.
        before = read_requests(run.requests())
        self._answered |= {each.id for each in before if each.kind is RequestKind.LEAVE}

    def pending(self) -> list[Request]:
        """Those that were not taken yet, in their order."""
        known = self._answered | self._taken
        found = read_requests(self._run.requests())
        return [each for each in found if each.id not in known]

    def take(self, request: Request) -> None:
        """Write that a request is about to be carried out."""
        self._run.write(lines.request_taken(request, at=self._run.now()))
        self._taken.add(request.id)

    def answer(self, request_id: str, reply: Reply) -> None:
        """Write that a request was carried out."""
        self._run.write(lines.request_answered(request_id, reply))
        self._taken.discard(request_id)
        self._answered.add(request_id)

    def interrupted(self) -> list[str]:
        """Requests that a process had taken when it died: their effect is in the journal."""
        return sorted(self._taken & self._interrupted)
