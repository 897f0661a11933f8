"""The work of a prediction: the plan replayed on the snapshot that it was made from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kedge.apply.predict_run import Circumstances, predicted
from kedge.report.prediction import prediction_row
from kedge.web.jobs.job_context import JobContext
from kedge.web.jobs.run_options import limits_of, rates_directory


def predict_plan(context: JobContext) -> Mapping[str, Any]:
    """Replay and keep; the id of the prediction and its first figures."""
    request, cluster = context.row.request, context.row.cluster
    documents = context.documents
    row = documents.plan_row(cluster, request["plan_id"])
    plan = documents.plan(cluster, request["plan_id"])
    snapshot = documents.snapshot(cluster, row.snapshot_id)
    limits, adaptive = limits_of(request)
    context.began()
    context.report({"event": "progress", "phase": "replay"})
    state = context.registry.of(cluster).state
    around = Circumstances(rates_directory(state))
    found = predicted(plan, snapshot, limits, around, adaptive)
    kept = documents.keep_prediction(
        cluster, row.id, context.row.who, _options(request), prediction_row(found)
    )
    return {"prediction_id": kept.id, "plan_id": row.id, "seconds": kept.summary["seconds"]}


def _options(request: Mapping[str, Any]) -> dict[str, Any]:
    return {name: request.get(name) for name in ("throttle", "moves_per_broker")}
