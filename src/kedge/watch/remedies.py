"""Remedies: which goals a plan gets for what was found.

repair, racks   only what must move: a wide tolerance, no budget, for a half-done repair is none
disk            every broker under the limit, no more
fill, balance   half the tolerance that made it a finding, so that it does not come back at once;
                within a day's budget, and without partitions that were moved within the cool-down
leaders         an election, no plan
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from kedge.balance import Goals, NewBroker
from kedge.balance.goals.goals import RATE_BYTES_PER_SECOND, RESOURCES, partition_names
from kedge.model import TopicPartition
from kedge.plan import Plan
from kedge.watch.findings import Finding
from kedge.watch.policy import Kind, Mode, Policy
from kedge.watch.samples import Observed, led_elsewhere

MANDATORY = frozenset({Kind.REPAIR, Kind.RACKS})
ONLY_MANDATORY = 1.0  # a tolerance of 100 %: no broker has to give anything
FILL_TOLERANCE = 0.05
UNDER_LIMIT = 0.95  # of the limit: room for a while


def goals_for(
    kind: Kind, findings: Sequence[Finding], policy: Policy, rested: Iterable[TopicPartition]
) -> Goals:
    """The goals of a plan; `rested` are the partitions that have to stay where they are."""
    brokers = sorted({broker for each in findings for broker in each.brokers})
    mandatory = replace(_paced(policy), tolerance=ONLY_MANDATORY)
    if kind is Kind.REPAIR:
        return replace(mandatory, remove_brokers=frozenset(brokers))
    if kind is Kind.RACKS:
        return mandatory
    optional = _within_budget(policy, partition_names(rested))
    if kind is Kind.DISK:
        limit = UNDER_LIMIT * policy.detect.disk_above
        return replace(optional, above=limit)
    if kind is Kind.FILL:
        tolerance = min(FILL_TOLERANCE, policy.detect.tolerance / 2)
        added = tuple(NewBroker(broker) for broker in brokers)
        return replace(optional, tolerance=tolerance, add_brokers=added)
    return replace(optional, tolerance=policy.detect.tolerance / 2)


def _paced(policy: Policy) -> Goals:
    """The goals of any plan: the pace at which it will be carried out."""
    rate = RATE_BYTES_PER_SECOND if policy.throttle is None else float(policy.throttle)
    return Goals(rate_bytes_per_second=rate, moves_each_way=policy.moves_per_broker)


def _within_budget(policy: Policy, rested: frozenset[tuple[str, int]]) -> Goals:
    """The goals of a plan that can wait: one that runs by itself fits in a day's budget."""
    goals = replace(_paced(policy), exclude_partitions=rested)
    if policy.mode is not Mode.AUTO:
        return goals
    budget = policy.budget
    return replace(goals, max_bytes=budget.bytes_per_day, max_moves=budget.moves_per_day)


def reaches_tolerance(plan: Plan, goals: Goals) -> bool:
    """Whether nothing is left to balance after a plan: a budget may have cut it short."""
    if plan.summary is None:
        return True
    after, least = plan.summary.imbalance_after, plan.summary.imbalance_lower_bound
    return all(
        after[name] <= least[name] * (1 + goals.tolerance_of(name)) + 1e-6
        for name in RESOURCES
        if name in after and name in least
    )


def to_elect(observed: Observed) -> tuple[TopicPartition, ...]:
    """The partitions that their preferred replica could lead, and does not."""
    assignment = observed.snapshot.assignment
    rows = np.flatnonzero(led_elsewhere(observed.snapshot)).tolist()
    return tuple(assignment.key(row) for row in rows)
