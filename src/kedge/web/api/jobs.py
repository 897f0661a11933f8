"""Jobs: long work as resources, with progress as server-sent events."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response
from fastapi.responses import StreamingResponse

from kedge.errors import UnknownResource
from kedge.web.access.roles import Principal, Role
from kedge.web.api.clusters import stream_response
from kedge.web.api.requests import (
    Change,
    ClusterName,
    Done,
    ListenerOf,
    Reader,
    ServicesOf,
    answer,
    changes,
)
from kedge.web.clusters.read_only import read_only_error
from kedge.web.events import encode_event
from kedge.web.jobs.job_context import job_channel
from kedge.web.jobs.job_store import job_row
from kedge.web.services import Services

router = APIRouter(prefix="/api/v1/clusters/{cluster}/jobs", tags=["jobs"])

COMPUTED = ("plan", "predict")  # kinds of jobs that change no cluster
JobId = Annotated[str, Path(min_length=1, max_length=32, pattern="^[0-9a-f]+$")]


@router.get("")
def list_jobs(
    cluster: ClusterName,
    _: Reader,
    services: ServicesOf,
    limit: Annotated[int, Query(ge=1, le=500)] = 50,
) -> Response:
    """The newest jobs first."""
    return answer({"jobs": [job_row(row) for row in services.jobs.store.latest(cluster, limit)]})


@router.get("/{job}")
def show_job(cluster: ClusterName, job: JobId, _: Reader, services: ServicesOf) -> Response:
    """One job with its progress, and its result or problem once it has ended."""
    return answer(job_document(services, cluster, job))


@router.get(
    "/{job}/events",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {}}}},
)
def watch_job(
    cluster: ClusterName, job: JobId, listener: ListenerOf, services: ServicesOf
) -> StreamingResponse:
    """Server-sent events: `job` first and at the end; `progress`, `note`, `started`, `finished`."""
    job_document(services, cluster, job)

    def first() -> bytes:
        return encode_event("job", job_document(services, cluster, job))

    return stream_response(services, job_channel(job), first, listener)


@router.post("/{job}/stop")
def stop_job(
    cluster: ClusterName,
    job: JobId,
    services: ServicesOf,
    change: Annotated[Change, changes(Role.PLAN, "job.stop", in_read_only=True)],
) -> Response:
    """End a search with the best plan so far, or a run after the moves that are under way."""

    def act() -> Done:
        row = job_document(services, cluster, job)
        require_role_for(change.principal, row["kind"], cluster)
        if services.settings.read_only and row["kind"] not in COMPUTED:  # of another server
            raise read_only_error()
        services.jobs.stop_job(job)
        return Done(job_document(services, cluster, job), target=f"job {job}")

    return change.make(act, f"job {job}")


def require_role_for(principal: Principal, kind: str, cluster: str) -> None:
    """Runs are stopped by accounts that may start them."""
    principal.require(Role.PLAN if kind in COMPUTED else Role.APPLY, cluster)


def job_document(services: Services, cluster: str, job: str) -> dict[str, Any]:
    """A job of a cluster; the progress of one at work here is newer than what was kept."""
    row = services.jobs.store.get(job)
    if row.cluster != cluster:
        raise UnknownResource(f"No job has the id {job!r}")
    document = job_row(row)
    context = services.jobs.context(job)
    if context is not None:
        document["progress"] = context.latest or document["progress"]
        document["run"] = context.row.run
    return document
