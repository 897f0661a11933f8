"""Remedies: the goals for a finding are goals that the planner can meet."""

from __future__ import annotations

from kedge.watch.findings import Finding, FindingKind
from kedge.watch.policy import Detection, Kind, Policy
from kedge.watch.remedies import goals_for
from tests.balance.snapshots import lopsided
from tests.balance.sound_plans import made


def test_a_full_disk_is_relieved_by_a_plan_of_the_planner() -> None:
    full = Finding(FindingKind.DISK_ABOVE, since=0.0, why="above its limit", brokers=(0,))
    policy = Policy(detect=Detection(disk_above=0.3))
    plan = made(lopsided(bytes_in=None, bytes_out=None), goals_for(Kind.DISK, [full], policy, ()))
    assert plan.summary is not None
    assert (plan.summary.bytes_moved or 0) > 0
