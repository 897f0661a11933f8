"""Whether a plan may run on the cluster as it is now.

What was reviewed is what runs. A plan is refused where the cluster is another one, where partitions
have left the places that the plan knows, where they are being moved by somebody else, and where a
broker that the plan needs is not there. A topic that was deleted meanwhile is no reason: nothing is
left to be moved.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kedge.errors import InvalidPlan, ReassignmentInProgress, UnknownBroker
from kedge.execution.order import waiting_for_brokers
from kedge.execution.standing import Observation, Standing
from kedge.model import TopicPartition
from kedge.plan import Change, Plan

NAMED = 3


def judge(
    plan: Plan,
    changes: Sequence[Change],
    standings: Mapping[TopicPartition, Standing],
    seen: Observation,
    *,
    cluster_id: str,
) -> None:
    """Refuse a plan that does not fit the cluster any more."""
    if plan.cluster_id is not None and plan.cluster_id != cluster_id:
        raise InvalidPlan(
            f"this plan is for cluster {plan.cluster_id}, not for {cluster_id}",
            hint="is --bootstrap-server the right one?",
        )
    if taken := _those(standings, Standing.TAKEN):
        raise ReassignmentInProgress(
            f"{_named(taken)} is being moved somewhere else by somebody else",
            hint="wait for it (kedge reassign list), or cancel it",
        )
    if strayed := _those(standings, Standing.STRAYED):
        raise InvalidPlan(
            f"{_named(strayed)} is neither where the plan found it nor where it wants it",
            hint="take a new snapshot and plan anew, or run with --skip-drifted",
        )
    if absent := waiting_for_brokers(changes, standings, seen):
        raise UnknownBroker(
            f"broker {', '.join(map(str, absent))} of the plan is not alive",
            hint="start it, or plan without it",
        )


def _those(standings: Mapping[TopicPartition, Standing], which: Standing) -> list[TopicPartition]:
    return sorted(tp for tp, standing in standings.items() if standing is which)


def _named(partitions: Sequence[TopicPartition]) -> str:
    shown = ", ".join(map(str, partitions[:NAMED]))
    return shown if len(partitions) <= NAMED else f"{shown} and {len(partitions) - NAMED} more"
