"""The work of a prediction: the plan replayed on the snapshot that it was made from."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kedge.apply import default_state
from kedge.apply.predict_run import Circumstances, predicted
from kedge.report.prediction import prediction_row
from kedge.web.jobs.job_context import JobContext
from kedge.web.jobs.run_options import limits_of
from kedge.wiring import IN_CLUSTER


def predict_plan(context: JobContext) -> Mapping[str, Any]:
    """Replay and keep; the id of the prediction and its first figures."""
    request, cluster = context.row.request, context.row.cluster
    documents = context.documents
    row = documents.plan_row(cluster, request["plan_id"])
    plan = documents.plan(cluster, request["plan_id"])
    snapshot = documents.snapshot(cluster, row.snapshot_id)
    limits, _ = limits_of(request)
    context.began()
    context.report({"event": "progress", "phase": "replay"})
    found = predicted(plan, snapshot, limits, Circumstances(rates_directory(context)))
    kept = documents.keep_prediction(
        cluster, row.id, context.row.who, _options(request), prediction_row(found)
    )
    return {"prediction_id": kept.id, "plan_id": row.id, "seconds": kept.summary["seconds"]}


def rates_directory(context: JobContext) -> Path:
    """Where the rates that runs have measured are kept."""
    state = context.registry.of(context.row.cluster).state
    return default_state() if state == IN_CLUSTER else Path(state)


def _options(request: Mapping[str, Any]) -> dict[str, Any]:
    return {name: request.get(name) for name in ("throttle", "moves_per_broker")}
