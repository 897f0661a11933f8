"""Verify a plan against a snapshot: its form, the cluster, its figures and proofs."""

from __future__ import annotations

from kedge.balance.check.plan_check import check_plan
from kedge.balance.goals.apply_goals import apply_goals
from kedge.balance.goals.goals import goals_from_json
from kedge.model import Snapshot, sha256_of_snapshot
from kedge.plan import Finding, Plan, verify_plan


def verify_against(plan: Plan, snapshot: Snapshot) -> list[Finding]:
    """The findings of `kedge plan verify --snapshot`."""
    digest = None if plan.snapshot_sha256 is None else sha256_of_snapshot(snapshot)
    if plan.goals is None:
        return verify_plan(plan, snapshot, snapshot_sha256=digest)
    target = apply_goals(snapshot, goals_from_json(plan.goals))
    found = verify_plan(plan, target, snapshot_sha256=digest)
    if any(finding.fatal and finding.kind != "summary" for finding in found):
        return found  # a plan for another state of the cluster has other figures
    if plan.snapshot_sha256 != digest:
        return found
    return found + [each for each in check_plan(plan, snapshot) if each not in found]
