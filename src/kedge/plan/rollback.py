"""The inverse of a plan: from the assignment after it to the one before.

The inverse lists the same partitions, each with the replicas that it had, in waves that run
backwards: what moved last returns first. Directories are left to the brokers, since a plan does not
know where its replicas lay. Its figures are recomputed; what was predicted or bounded for the plan
says nothing about the way back and is left out.

    plan      orders-0 [1,2,3] → [4,2,3]    waves (0,) (1,)
    inverse   orders-0 [4,2,3] → [1,2,3]    waves (1,) (0,)
"""

from __future__ import annotations

from kedge.plan.differences import differences_between
from kedge.plan.kafka_json import Reassignment
from kedge.plan.plan_file import Plan, Summary


def inverse(plan: Plan) -> Plan:
    """The plan that brings back what `plan` changed."""
    return Plan(
        partitions=tuple(Reassignment.anywhere(e.tp, plan.before[e.tp]) for e in plan.partitions),
        before=plan.after,
        reasons={entry.tp: "rolled back" for entry in plan.partitions},
        waves=plan.waves[::-1],
        summary=way_back(plan),
        cluster_id=plan.cluster_id,
    )


def way_back(plan: Plan) -> Summary:
    """The figures of the inverse; its bytes would need a snapshot."""
    before, after = plan.assignments
    figures = differences_between(after, before).figures()
    imbalance = plan.summary
    return Summary(
        replicas_moved=figures.replicas_moved,
        leaders_moved=figures.leaders_moved,
        imbalance_before=imbalance.imbalance_after if imbalance else {},
        imbalance_after=imbalance.imbalance_before if imbalance else {},
    )
