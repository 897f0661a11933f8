"""Computes the answers of two effects: `MakePlan` by the planner, `Predict` by a replay."""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite

from kedge.balance import Goals
from kedge.errors import InvalidRequest, Unsatisfiable
from kedge.execution.prediction import predict_on_snapshot
from kedge.execution.progress import Limits
from kedge.model import Snapshot
from kedge.plan import Plan
from kedge.watch.effects import MakePlan, NoPlan, Predict
from kedge.watch.proposals import Cost

Planner = Callable[[Snapshot, Goals], Plan]


def by_search(snapshot: Snapshot, goals: Goals) -> Plan:
    """The plan of `kedge.balance`, which is imported at the first use."""
    from kedge.balance import plan_of

    return plan_of(snapshot, goals)


def plan_for(effect: MakePlan, planner: Planner = by_search) -> Plan | NoPlan:
    """The plan, or the sentence that refuses the goals."""
    try:
        return planner(effect.snapshot, effect.goals)
    except (Unsatisfiable, InvalidRequest) as refusal:
        return NoPlan(str(refusal))


def cost_of(effect: Predict) -> Cost:
    """What carrying a plan out would cost."""
    plan, policy = effect.plan, effect.policy
    limits = Limits(policy.throttle, policy.moves_per_broker)
    found = predict_on_snapshot(plan.changes, effect.snapshot, limits)
    shares = [share for disk in found.disks if (share := disk.share) is not None]
    never = "it never ends" if not isfinite(found.seconds) and not found.problems else ""
    return Cost(
        bytes=found.bytes_copied,
        moves=sum(len(change.added) for change in plan.changes),
        leaders=sum(change.leader_moved for change in plan.changes),
        seconds=found.seconds,
        seconds_p10=found.seconds_p10,
        seconds_p90=found.seconds_p90,
        peak_disk=max(shares, default=None),
        problems=(*(problem.what for problem in found.problems), *([never] if never else [])),
    )
