"""The work of a planning job: a snapshot, the search, and the plan that is kept."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from kedge.balance import Goals, Progress, Solved
from kedge.balance.goals.goals import goals_from_json
from kedge.model import Snapshot
from kedge.plan import Plan
from kedge.plan_maker import PlanMaker
from kedge.report.curve import curve_rows, knee, rows_of_points
from kedge.report.heat import heat_rows
from kedge.report.plan_summary import progress_text
from kedge.report.plans import grounds, summary_row
from kedge.web.jobs.job_context import JobContext

REPORT_EVERY_S = 0.1


def make_plan(context: JobContext) -> Mapping[str, Any]:
    """Take or read the snapshot, search, and keep the plan; the ids of both."""
    request, who = context.row.request, context.row.who
    goals = goals_from_json(request["goals"])
    with PlanMaker() as maker:
        snapshot_id, snapshot = _snapshot(context, request.get("snapshot_id"))
        context.began()
        plan, solved = _searched(context, maker, snapshot, goals)
    kept = context.documents.keep_plan(
        context.row.cluster,
        snapshot_id,
        plan,
        who,
        summary=summary_row(plan),
        details=details_of(plan, solved, snapshot),
    )
    return {"plan_id": kept.id, "snapshot_id": snapshot_id}


def _snapshot(context: JobContext, snapshot_id: str | None) -> tuple[str, Snapshot]:
    cluster, documents = context.row.cluster, context.documents
    if snapshot_id is not None:
        return snapshot_id, documents.snapshot(cluster, snapshot_id)
    context.report({"event": "progress", "phase": "snapshot"})
    with context.registry.open(cluster) as opened:
        snapshot = context.registry.snapshot_of(opened, cluster)
    return documents.keep_snapshot(cluster, snapshot, context.row.who).id, snapshot


def _searched(
    context: JobContext, maker: PlanMaker, snapshot: Snapshot, goals: Goals
) -> tuple[Plan, Solved]:
    """The best plan until the search ended or was stopped; its progress is published."""
    solved: list[Solved] = []
    reported_at, stops = 0.0, 0
    limit = context.row.request.get("time_limit_s")
    deadline = None if limit is None else time.monotonic() + float(limit)

    def report(progress: Progress) -> None:
        nonlocal reported_at, stops
        now = time.monotonic()
        if now - reported_at < REPORT_EVERY_S and len(progress.curve) <= stops:
            return  # a new stop of the curve is always told
        reported_at, stops = now, len(progress.curve)
        context.report(
            {
                "event": "progress",
                "phase": progress.phase,
                "text": progress_text(progress),
                "bytes_moved": int(progress.bytes_moved),
                "bytes_lower_bound": int(progress.bytes_lower_bound),
                "replicas_moved": progress.replica_moves,
                "brokers_over": progress.over,
                "tolerance": progress.epsilon,
                "curve": rows_of_points(progress.curve, progress.columns),
            }
        )

    plan = maker.plan_of(
        snapshot,
        goals,
        int(context.row.request.get("seed", 0)),
        progress=report,
        out_of_time=lambda: (
            context.stopping.is_set() or (deadline is not None and time.monotonic() >= deadline)
        ),
        use_all_time=deadline is not None,
        on_solved=solved.append,
    )
    return plan, solved[0]


def details_of(plan: Plan, solved: Solved, snapshot: Snapshot) -> dict[str, Any]:
    """What pages draw of a plan: its curve, brokers before and after, and why moves happen."""
    curve = curve_rows(solved)
    return {
        "curve": curve,
        "knee": knee(curve) if curve else None,
        "brokers": heat_rows(plan, snapshot),
        "grounds": [{"why": why, "count": count} for why, count in grounds(plan)],
    }
