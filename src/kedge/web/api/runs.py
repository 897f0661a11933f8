"""Runs and their verbs: start, pause, continue, throttle, cancel, resume, roll back."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Response
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool

from kedge.apply import (
    Proposal,
    RunStore,
    Waiting,
    new_request,
    preview,
    propose_cancel,
    propose_rollback,
    send,
)
from kedge.apply.plan_file import growth_of
from kedge.cluster.port import Cluster
from kedge.errors import InvalidRequest, ReassignmentInProgress
from kedge.execution import Request, RequestKind
from kedge.execution.adaptive_throttle import parse_throttle
from kedge.report.runs import preview_lines
from kedge.report.steering import requested_lines, requested_row
from kedge.web.access.roles import Role
from kedge.web.api.jobs import job_document
from kedge.web.api.requests import (
    Change,
    ClusterName,
    Done,
    Reachable,
    ServicesOf,
    answer,
    changes,
)
from kedge.web.jobs.job_context import JobContext
from kedge.web.jobs.kinds import APPLY, CANCEL, RESUME, ROLLBACK, RUN_KINDS
from kedge.web.jobs.run_options import at_start_rate, options_of
from kedge.web.problems import ProblemError
from kedge.web.run_handover import handed_over, run_name
from kedge.web.services import Services

router = APIRouter(prefix="/api/v1/clusters/{cluster}/runs", tags=["runs"])

RunId = Annotated[
    str,
    Path(
        min_length=1,
        max_length=100,
        pattern=r"^[\w.:-]+$",
        description="A run, or `latest`",
    ),
]
LATEST = "latest"
BEGIN_S = 60.0


class StartRun(BaseModel):
    """A plan that was kept, and how fast it is carried out; a throttle of null is none."""

    model_config = ConfigDict(extra="forbid")
    plan_id: str = Field(pattern="^[0-9a-f]{1,32}$")
    throttle: str | None = Field(max_length=60)
    moves_per_broker: int = Field(default=2, ge=1, le=1000)
    windows: list[Annotated[str, Field(max_length=100)]] = Field(
        default_factory=list, max_length=50
    )
    hard_window: bool = False
    cancel_stuck: bool = False
    skip_drifted: bool = False
    ignore_health: bool = False
    predicted_s: float | None = Field(default=None, ge=0, le=1e9)


class ContinueRun(BaseModel):
    """Another throttle for a run that is resumed; null keeps its own."""

    model_config = ConfigDict(extra="forbid")
    throttle: str | None = Field(default=None, max_length=60)


class RollBack(BaseModel):
    """How fast a run is rolled back; a throttle of null is none."""

    model_config = ConfigDict(extra="forbid")
    throttle: str | None = Field(max_length=60)
    moves_per_broker: int = Field(default=2, ge=1, le=1000)
    ignore_health: bool = False


class Throttle(BaseModel):
    """The new throttle of a run: 80MB, or auto:10MB-100MB."""

    model_config = ConfigDict(extra="forbid")
    throttle: str = Field(min_length=1, max_length=60)


# ---- reads ---------------------------------------------------------------------------------------


@router.get("")
async def list_runs(cluster: ClusterName, _: Reachable, services: ServicesOf) -> Response:
    """Every run of the cluster, newest first, wherever it was started."""
    return answer({"runs": await services.runs.all(cluster)})


@router.get("/{run}")
async def show_run(
    cluster: ClusterName, run: RunId, _: Reachable, services: ServicesOf
) -> Response:
    """How far a run is, and the job of this server that is about it."""
    row = await services.runs.status(cluster, _chosen(run))
    job = await run_in_threadpool(_job_of, services, cluster, row["run"])
    return answer({**row, "job": job})


def _job_of(services: Services, cluster: str, run: str) -> dict[str, Any] | None:
    job = services.jobs.store.of_run(cluster, run)
    return None if job is None else job_document(services, cluster, job.id)


@router.post("/preview")
def preview_run(
    cluster: ClusterName, body: StartRun, principal: Reachable, services: ServicesOf
) -> Response:
    """What a run would do, checked against the cluster as it is; nothing is changed."""
    principal.require(Role.PLAN, cluster)
    documents = services.jobs.documents
    row = documents.plan_row(cluster, body.plan_id)
    plan = documents.plan(cluster, body.plan_id)
    snapshot = documents.snapshot(cluster, row.snapshot_id)
    options = options_of(body.model_dump(), growth_of(plan, snapshot))
    with services.registry.working_on_runs(cluster) as (opened, runs):
        judged = preview(opened, plan, options, own=runs.own_settings())
        judged = at_start_rate(judged, snapshot, runs, services.registry.of(cluster).state)
    return answer(
        {
            "lines": preview_lines(judged),
            "warnings": list(judged.warnings),
            "partitions": len(judged.changes),
            "bytes_total": judged.progress.bytes_total,
            "bound_seconds": judged.bound_seconds,
            "skipped": [tp._asdict() for tp in judged.skipped],
        }
    )


# ---- jobs ----------------------------------------------------------------------------------------


@router.post("", status_code=202)
def start_run(
    cluster: ClusterName,
    body: StartRun,
    services: ServicesOf,
    change: Annotated[Change, changes(Role.APPLY, "run.start")],
) -> Response:
    """Carry a plan out: a job. It is refused here if the cluster is not as the plan needs it."""
    request = body.model_dump()

    def act() -> Done:
        options_of(request, {})
        services.jobs.documents.plan_row(cluster, body.plan_id)
        return _submitted(services, change, cluster, APPLY, request)

    return change.make(act, f"plan {body.plan_id}")


@router.post("/{run}/resume", status_code=202)
def resume_run(
    cluster: ClusterName,
    run: RunId,
    body: ContinueRun,
    services: ServicesOf,
    change: Annotated[Change, changes(Role.APPLY, "run.resume")],
) -> Response:
    """Continue a run that was stopped or killed: a job."""

    def act() -> Done:
        request = body.model_dump() | {"run": run_name(services, cluster, _chosen(run))}
        return _submitted(services, change, cluster, RESUME, request)

    return change.make(act, f"run {run}")


@router.post("/{run}/cancel", status_code=202)
def cancel_run(
    cluster: ClusterName,
    run: RunId,
    services: ServicesOf,
    change: Annotated[Change, changes(Role.APPLY, "run.cancel")],
) -> Response:
    """Cancel the moves of a run that are under way: a job; what has arrived stays."""

    def act() -> Done:
        name = handed_over(services, cluster, _chosen(run), propose_cancel)
        return _submitted(services, change, cluster, CANCEL, {"run": name})

    return change.make(act, f"run {run}")


@router.post("/{run}/rollback", status_code=202)
def roll_back_run(
    cluster: ClusterName,
    run: RunId,
    body: RollBack,
    services: ServicesOf,
    change: Annotated[Change, changes(Role.APPLY, "run.rollback")],
) -> Response:
    """Bring back what a run has moved, whether it ended or not: a job."""

    def check(opened: Cluster, runs: RunStore, name: str) -> Proposal:
        return propose_rollback(opened, runs, name, options_of(body.model_dump(), {}))

    def act() -> Done:
        name = handed_over(services, cluster, _chosen(run), check)
        request = body.model_dump() | {"run": name}
        return _submitted(services, change, cluster, ROLLBACK, request)

    return change.make(act, f"run {run}")


def _chosen(run: str) -> str | None:
    """The run as the runs of a cluster take it: None is the latest."""
    return None if run == LATEST else run


def _submitted(
    services: Services, change: Change, cluster: str, kind: str, request: dict[str, Any]
) -> Done:
    """Start a job and wait until its checks are over: their refusal is the answer."""
    if services.jobs.working_on(cluster, *RUN_KINDS):
        raise ReassignmentInProgress(
            f"A run of the cluster {cluster} is at work", hint="pause or cancel it first"
        )
    job = services.jobs.submit(kind, cluster, change.principal.name, request)
    _await_begin(services, job)
    document = job_document(services, cluster, job.row.id)
    return Done(document, 202, f"run {document['run']}", after=request)


def _await_begin(services: Services, job: JobContext) -> None:
    job.begun.wait(BEGIN_S)
    if not job.ended.is_set():
        return
    row = services.jobs.store.get(job.row.id)
    if row.problem is not None and row.run is None:
        raise ProblemError(row.problem)


# ---- requests to a run at work -------------------------------------------------------------------


@router.post("/{run}/pause")
def pause_run(
    cluster: ClusterName,
    run: RunId,
    services: ServicesOf,
    change: Annotated[Change, changes(Role.APPLY, "run.pause")],
) -> Response:
    """Start no more moves of a run, until it is continued."""
    return _requested(services, change, cluster, run, new_request(RequestKind.PAUSE))


@router.post("/{run}/continue")
def continue_run(
    cluster: ClusterName,
    run: RunId,
    services: ServicesOf,
    change: Annotated[Change, changes(Role.APPLY, "run.continue")],
) -> Response:
    """Go on with a run that was paused."""
    return _requested(services, change, cluster, run, new_request(RequestKind.CONTINUE))


@router.post("/{run}/throttle")
def throttle_run(
    cluster: ClusterName,
    run: RunId,
    body: Throttle,
    services: ServicesOf,
    change: Annotated[Change, changes(Role.APPLY, "run.throttle")],
) -> Response:
    """Change the throttle of a run, at work or not."""
    rate, adaptive = parse_throttle(body.throttle, "throttle")
    request = new_request(RequestKind.RATE, rate=rate, adaptive=adaptive)
    return _requested(services, change, cluster, run, request)


def _requested(
    services: Services, change: Change, cluster: str, run: str, request: Request
) -> Response:
    """Send a request to the process that works on the run, and wait for its reply."""

    def act() -> Done:
        with services.registry.working_on_runs(cluster) as (opened, runs):
            before = runs.chosen(_chosen(run)).record().rate
            done = send(opened, runs, _chosen(run), request, Waiting())
        row = requested_row(done)
        name = row["run"]
        if done.reply.refused:
            raise InvalidRequest(f"Run {name} refuses: {done.reply.refused}")
        document = {**row, "lines": requested_lines(done)}
        return Done(document, target=f"run {name}", before={"rate": before}, after=row)

    return change.make(act, f"run {run}")
