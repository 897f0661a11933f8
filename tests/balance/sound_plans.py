"""Plans of the planner, verified as they are made."""

from __future__ import annotations

from kedge.balance import Goals, apply_goals, check_plan, plan_of
from kedge.model import Snapshot
from kedge.plan import Plan, verify_plan


def faults(plan: Plan, snapshot: Snapshot, goals: Goals) -> list[str]:
    found = [*verify_plan(plan, apply_goals(snapshot, goals)), *check_plan(plan, snapshot)]
    return [str(finding) for finding in found if finding.fatal]


def made(snapshot: Snapshot, goals: Goals | None = None) -> Plan:
    """A plan that holds."""
    goals = goals or Goals()
    plan = plan_of(snapshot, goals)
    assert faults(plan, snapshot, goals) == []
    return plan
