"""Removes entries from the stored reassignment plan, the older way to request moves.

An entry is removed when its move completes, when another request for the partition comes, and when
it cannot be executed. An empty plan is deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kedge.controller.effects import (
    Enqueue,
    ReadReassignmentPlan,
    Script,
    StoreReassignmentPlan,
)
from kedge.controller.events import ReassignmentPlanned
from kedge.model import BrokerId, TopicPartition

Targets = Mapping[TopicPartition, tuple[BrokerId, ...]]


def remove_plan_entries(
    done: Callable[[TopicPartition, tuple[BrokerId, ...]], bool],
) -> Script[None]:
    """Remove entries from the stored plan; when it is empty, delete it and look for a new one."""
    plan: Targets | None = yield ReadReassignmentPlan()
    if plan is None:
        return
    left = {tp: target for tp, target in plan.items() if not done(tp, target)}
    yield StoreReassignmentPlan(left)
    if not left:
        yield Enqueue(ReassignmentPlanned())
