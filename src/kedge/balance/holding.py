"""A plan held against the snapshot that it is for: its own rules, the cluster, its proofs."""

from __future__ import annotations

from kedge.balance.aim import aimed
from kedge.balance.check import check_plan
from kedge.balance.goals import goals_from_json
from kedge.model import Snapshot, sha256_of_snapshot
from kedge.plan import Finding, Plan, verify_plan


def findings_of(plan: Plan, snapshot: Snapshot) -> list[Finding]:
    """What `kedge plan verify --snapshot` finds."""
    digest = None if plan.snapshot_sha256 is None else sha256_of_snapshot(snapshot)
    if plan.goals is None:
        return verify_plan(plan, snapshot, snapshot_sha256=digest)
    target = aimed(snapshot, goals_from_json(plan.goals))
    found = verify_plan(plan, target, snapshot_sha256=digest)
    if any(finding.fatal and finding.kind != "summary" for finding in found):
        return found  # a plan for another state of the cluster has other figures
    if plan.snapshot_sha256 != digest:
        return found
    return found + [each for each in check_plan(plan, snapshot) if each not in found]
