"""The stored plan of moves: the older way to order them, still honoured.

Entries leave it when their move completes, when another order for the partition comes, and when
they cannot be carried out. What is left of an empty plan is removed.
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
    """Take entries out of the stored plan; once it is empty it is removed, and looked for anew."""
    plan: Targets | None = yield ReadReassignmentPlan()
    if plan is None:
        return
    left = {tp: target for tp, target in plan.items() if not done(tp, target)}
    yield StoreReassignmentPlan(left)
    if not left:
        yield Enqueue(ReassignmentPlanned())
