"""Plans and predictions: made by jobs, verified, explained, downloaded."""

from __future__ import annotations

import gzip
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Query, Response
from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool

from kedge.balance.goals.goals import goals_from_json
from kedge.plan import Change as PlannedChange
from kedge.plan import Plan
from kedge.report.plans import change_row
from kedge.web.access.roles import Role
from kedge.web.api.jobs import job_document
from kedge.web.api.requests import (
    JSON,
    Change,
    ClusterName,
    Done,
    Reader,
    ServicesOf,
    answer,
    changes,
)
from kedge.web.api.snapshots import DocumentId, download
from kedge.web.jobs.run_options import limits_of
from kedge.web.tables import PlanRow, PredictionRow

router = APIRouter(prefix="/api/v1/clusters/{cluster}", tags=["plans"])

ID = "^[0-9a-f]{1,32}$"


def _writable(goals: dict[str, Any]) -> dict[str, Any]:
    """Goals that answers can repeat: no number beyond 64 bits, no deeper nesting than goals."""
    try:
        orjson.dumps(goals)
    except orjson.JSONEncodeError as error:
        raise ValueError(f"goals cannot be kept ({error})") from error
    return goals


class MakePlan(BaseModel):
    """Goals as a plan file has them; a snapshot that was kept, or the cluster as it is now."""

    model_config = ConfigDict(extra="forbid")
    goals: Annotated[dict[str, Any], AfterValidator(_writable)] = Field(
        default_factory=dict, max_length=30
    )
    snapshot_id: str | None = Field(default=None, pattern=ID)
    seed: int = Field(default=0, ge=0, le=2**31 - 1)
    time_limit_s: float | None = Field(default=None, ge=0, le=3600)


class Predict(BaseModel):
    """How fast the plan would be carried out; a throttle of null is none."""

    model_config = ConfigDict(extra="forbid")
    throttle: str | None = Field(default="50MB", max_length=60)
    moves_per_broker: int = Field(default=2, ge=1, le=1000)


@router.get("/plans")
def list_plans(
    cluster: ClusterName,
    _: Reader,
    services: ServicesOf,
    sha256: Annotated[str | None, Query(pattern="^[0-9a-f]{64}$")] = None,
) -> Response:
    """The newest plans first; those whose file has this digest, where given."""
    rows = services.jobs.documents.plans(cluster, sha256=sha256)
    return answer({"plans": [plan_row(row) for row in rows]})


@router.post("/plans", status_code=202)
def make_plan(
    cluster: ClusterName,
    body: MakePlan,
    services: ServicesOf,
    change: Annotated[Change, changes(Role.PLAN, "plan.make", in_read_only=True)],
) -> Response:
    """Make a plan: a job, whose result names the plan."""

    def act() -> Done:
        goals_from_json(body.goals)  # refused here rather than in the job
        if body.snapshot_id is not None:
            services.jobs.documents.snapshot_row(cluster, body.snapshot_id)
        request = body.model_dump()
        job = services.jobs.submit("plan", cluster, change.principal.name, request)
        document = job_document(services, cluster, job.row.id)
        return Done(document, 202, f"job {job.row.id}", after=request)

    return change.make(act, "plan")


@router.get("/plans/{plan}")
def show_plan(cluster: ClusterName, plan: DocumentId, _: Reader, services: ServicesOf) -> Response:
    """The figures of a plan, its curve, brokers before and after, and why moves happen."""
    row = services.jobs.documents.plan_row(cluster, plan)
    return answer({**plan_row(row), **row.details})


@router.get("/plans/{plan}/changes")
async def list_changes(
    cluster: ClusterName,
    plan: DocumentId,
    _: Reader,
    services: ServicesOf,
    search: Annotated[str, Query(max_length=249)] = "",
    broker: Annotated[int | None, Query(ge=0, le=2**31 - 1)] = None,
    offset: Annotated[int, Query(ge=0, le=10_000_000)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:
    """The partitions that a plan changes, with reasons, a page of them at a time."""
    found = await services.plans.plan(cluster, plan)
    chosen = await run_in_threadpool(_chosen_changes, found, search, broker)
    rows = [change_row(found, change) for change in chosen[offset : offset + limit]]
    return answer({"total": len(chosen), "changes": rows})


def _chosen_changes(plan: Plan, search: str, broker: int | None) -> list[PlannedChange]:
    return [
        change
        for change in plan.changes
        if search in f"{change.tp}"
        and (broker is None or broker in change.before or broker in change.after)
    ]


@router.get("/plans/{plan}/verification")
async def verify_plan(
    cluster: ClusterName, plan: DocumentId, _: Reader, services: ServicesOf
) -> Response:
    """Compute every figure and every bound of a plan again, from the snapshot it was made from."""
    return answer(await services.plans.verification(cluster, plan))


@router.get("/plans/{plan}/file")
def download_plan(
    cluster: ClusterName, plan: DocumentId, _: Reader, services: ServicesOf
) -> Response:
    """The plan as a file: for `kedge apply`, and for Kafka's own tool."""
    data = gzip.decompress(services.jobs.documents.plan_row(cluster, plan).data)
    return download(data, f"{cluster}-{plan}.plan.json", JSON)


# ---- predictions ---------------------------------------------------------------------------------


@router.post("/plans/{plan}/predictions", status_code=202)
def predict_plan(
    cluster: ClusterName,
    plan: DocumentId,
    body: Predict,
    services: ServicesOf,
    change: Annotated[Change, changes(Role.PLAN, "plan.predict", in_read_only=True)],
) -> Response:
    """Predict what carrying a plan out takes: a job, whose result names the prediction."""

    def act() -> Done:
        request = body.model_dump() | {"plan_id": plan}
        limits_of(request)
        services.jobs.documents.plan_row(cluster, plan)
        job = services.jobs.submit("predict", cluster, change.principal.name, request)
        return Done(job_document(services, cluster, job.row.id), 202, f"plan {plan}")

    return change.make(act, f"plan {plan}")


@router.get("/plans/{plan}/predictions")
def list_predictions(
    cluster: ClusterName, plan: DocumentId, _: Reader, services: ServicesOf
) -> Response:
    """The predictions of a plan, newest first."""
    rows = services.jobs.documents.predictions(cluster, plan)
    return answer({"predictions": [prediction_summary(row) for row in rows]})


@router.get("/predictions/{prediction}")
def show_prediction(
    cluster: ClusterName, prediction: DocumentId, _: Reader, services: ServicesOf
) -> Response:
    """The whole prediction: moves with their times, disks with their peaks, problems."""
    row = services.jobs.documents.prediction_row(cluster, prediction)
    return answer(prediction_summary(row) | orjson.loads(gzip.decompress(row.data)))


def plan_row(row: PlanRow) -> dict[str, Any]:
    """A plan for programs, without its content."""
    names = ("id", "cluster", "snapshot_id", "created_at", "who", "summary")
    return {name: getattr(row, name) for name in names}


def prediction_summary(row: PredictionRow) -> dict[str, Any]:
    """A prediction for programs, without its moves."""
    names = ("id", "cluster", "plan_id", "created_at", "who", "options", "summary")
    return {name: getattr(row, name) for name in names}
