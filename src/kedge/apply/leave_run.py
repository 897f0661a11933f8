"""Asks the process that works on a run to leave it, so that another command can end the run.

The request reaches a process on any machine, as those of `kedge pause` do. The process stops as if
it were killed: moves under way go on under their throttles, and the next process goes on from the
journal. Nothing is written about it, because a process that begins later has nothing to leave.
"""

from __future__ import annotations

from kedge.apply.run_port import Run, RunStore
from kedge.apply.run_requests import AT_REST, LOCK_INTERVAL_S, new_request, worked_on
from kedge.apply.throttles import Waiting
from kedge.errors import ReassignmentInProgress
from kedge.execution import ENDED, RequestKind, request_line

LEAVE_S = 60.0  # a poll of a large cluster, and a request to it that is under way


def await_left(runs: RunStore, run: Run, waiting: Waiting) -> None:
    """Request that the process at work on a run leaves it; return once none works on the runs.

    Raises:
        ReassignmentInProgress: a process works on another run, or does not leave this one.
    """
    if _are_free(runs):
        return
    at_work = worked_on(runs, run)
    if runs.record_of(at_work).state in (*AT_REST, *ENDED):
        raise ReassignmentInProgress(
            f"A process is working on another run of this cluster than {run.name}",
            hint="wait for its end, or cancel that run first",
        )
    at_work.send_request(request_line(new_request(RequestKind.LEAVE)))
    give_up = waiting.clock() + LEAVE_S
    while not _are_free(runs):
        if waiting.clock() >= give_up:
            raise ReassignmentInProgress(
                f"The process that works on run {at_work.name} did not leave it in {LEAVE_S:g} s",
                hint="send the request again",
            )
        waiting.sleep(LOCK_INTERVAL_S)


def _are_free(runs: RunStore) -> bool:
    """Whether no process acts on the runs now."""
    try:
        with runs.held(patient=False):
            return True
    except ReassignmentInProgress:
        return False
