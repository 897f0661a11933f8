"""Checks whether a plan may run on the cluster as it is now.

What was reviewed is what runs. A plan is refused where the cluster is another one, where partitions
have left the replicas that the plan knows, where another reassignment moves them, and where a
broker that the plan needs is down. A topic that was deleted since is no reason to refuse.
"""

from __future__ import annotations

from collections.abc import Sequence

from kedge.errors import InvalidPlan, RefusedCommand, UnknownBroker
from kedge.execution.move_status import MoveStatus, Observation, Statuses
from kedge.execution.slots import brokers_waited_for
from kedge.model import TopicPartition
from kedge.plan import Change, Plan

NAMED = 3


def check_preconditions(
    plan: Plan,
    changes: Sequence[Change],
    statuses: Statuses,
    seen: Observation,
    *,
    cluster_id: str,
) -> None:
    """Refuse a plan that does not fit the cluster any more."""
    if plan.cluster_id is not None and plan.cluster_id != cluster_id:
        raise InvalidPlan(
            f"The plan is for cluster {plan.cluster_id}; this is cluster {cluster_id}",
            hint="check --bootstrap-server",
        )
    if foreign := _with(statuses, MoveStatus.FOREIGN_MOVE):
        raise RefusedCommand(
            f"{counted(foreign, 'partition')} of the plan {_is_are(foreign)} being moved by "
            f"another reassignment ({named(foreign)})",
            hint="wait for it (kedge reassign list), cancel it, or use --skip-drifted",
        )
    if drifted := _with(statuses, MoveStatus.DRIFTED):
        raise InvalidPlan(
            f"{counted(drifted, 'partition')} changed since the plan was made ({named(drifted)})",
            hint="make a new plan, or leave them out with --skip-drifted",
        )
    if down := brokers_waited_for(changes, statuses, seen):
        one = len(down) == 1
        raise UnknownBroker(
            f"{'Broker' if one else 'Brokers'} {', '.join(map(str, down))} "
            f"{'is' if one else 'are'} down, and the plan puts replicas there",
            hint=f"start {'it' if one else 'them'}, or make a new plan",
        )


def _with(statuses: Statuses, which: MoveStatus) -> list[TopicPartition]:
    return sorted(tp for tp, status in statuses.items() if status is which)


def _is_are(items: Sequence[object]) -> str:
    return "is" if len(items) == 1 else "are"


def counted(items: Sequence[object], noun: str) -> str:
    """`1 partition`, `12 partitions`."""
    return f"{len(items)} {noun}{'' if len(items) == 1 else 's'}"


def named(items: Sequence[object]) -> str:
    """The first few, separated by commas."""
    shown = ", ".join(map(str, items[:NAMED]))
    return shown if len(items) <= NAMED else f"{shown}, …"
