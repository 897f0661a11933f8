"""Hands a run over from the work that is under way to a command that ends it.

A cancel or a rollback goes on with a run from where its journal is. Everything is checked first, so
that a command which is refused leaves the run at work; then the work on this run is left, as by
kill -9, and that on no other. A job of this server leaves at once; any other process, as the
loop or another server, by a request to the run.
"""

from __future__ import annotations

from collections.abc import Callable

from kedge.apply import Proposal, RunStore, Waiting, await_left, worked_on
from kedge.cluster.port import Cluster
from kedge.errors import ReassignmentInProgress
from kedge.web.jobs.job_context import JobContext
from kedge.web.jobs.kinds import RUN_KINDS
from kedge.web.services import Services

LEAVE_S = 60.0

Check = Callable[[Cluster, RunStore, str], Proposal]


def run_name(services: Services, cluster: str, run: str | None) -> str:
    """The whole name of a run; None is the latest, which may be another one in a moment."""
    with services.registry.working_on_runs(cluster) as (_, runs):
        return runs.chosen(run).name


def handed_over(services: Services, cluster: str, run: str | None, check: Check) -> str:
    """The name of a run that the command may go on with, and that is no longer worked on.

    Raises:
        KedgeError: the command is refused, and the run was left at work.
    """
    with services.registry.working_on_runs(cluster) as (opened, runs):
        chosen = runs.chosen(run)
        check(opened, runs, chosen.name)
        names = {chosen.name, worked_on(runs, chosen).name}
        for job in services.jobs.working_on(cluster, *RUN_KINDS):
            if _is_about(job, names):
                _leave(job)
        await_left(runs, chosen, Waiting())
    return chosen.name


def _is_about(job: JobContext, names: set[str]) -> bool:
    """Whether a job works on one of these runs; one that has not begun yet knows its request."""
    return (job.row.run or job.row.request.get("run")) in names


def _leave(job: JobContext) -> None:
    job.leaving.set()
    if not job.ended.wait(LEAVE_S):
        raise ReassignmentInProgress(
            f"The run at work on {job.row.cluster} did not stop within {LEAVE_S:g} s",
            hint="send the request again",
        )
