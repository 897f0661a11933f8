"""Runs requested elections, and the periodic rebalance of preferred leaders.

Operators request elections by API or by a list in the store; the timer triggers one when too many
leaders are not the preferred replica. Only an API request may force an unclean leader.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from kedge.controller.context import Context
from kedge.controller.effects import (
    DeletePreferredElection,
    Enqueue,
    ReadPreferredElection,
    ScheduleRebalance,
    Script,
    then_always,
)
from kedge.controller.events import ElectionRequested, ElectionType, PreferredElectionPlanned
from kedge.controller.leader_election import Strategy, choose_preferred
from kedge.controller.partitions import ElectionResults, ElectionRule, bring_online
from kedge.model import NO_LEADER, BrokerId, TopicPartition
from kedge.model.error_codes import ErrorCode

Outcomes = dict[TopicPartition, ErrorCode]


class ElectionNeed(Enum):
    """Whether an election is needed."""

    YES = "yes"
    NO = "no"
    IMPOSSIBLE = "impossible"


_NO_ELIGIBLE_LEADER = {
    ElectionType.PREFERRED: ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
    ElectionType.UNCLEAN: ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE,
}


# ---- requests --------------------------------------------------------------------------------


def on_election_requested(context: Context, event: ElectionRequested) -> Script[Outcomes]:
    """Elect for each partition that needs it; every partition gets its own result."""
    outcomes: Outcomes = {}
    electable = split_electable(context, event.partitions, event.type, outcomes)
    if event.type is ElectionType.PREFERRED:
        rule = ElectionRule(Strategy.PREFERRED)
    else:
        rule = ElectionRule(Strategy.OFFLINE, force_unclean=True)
    results = yield from bring_online(context, electable, rule)
    return outcomes | answers(results, event.type)


def answers(results: ElectionResults, kind: ElectionType) -> Outcomes:
    """Return the error codes of elections."""
    failed = dict.fromkeys(results.failed, _NO_ELIGIBLE_LEADER[kind])
    return dict.fromkeys(results.elected, ErrorCode.NONE) | failed


def split_electable(
    context: Context, partitions: Iterable[TopicPartition], kind: ElectionType, outcomes: Outcomes
) -> list[TopicPartition]:
    """Return the partitions to elect for; the others get their result at once."""
    electable: list[TopicPartition] = []
    for tp in sorted(partitions):
        if tp not in context.assignments:
            outcomes[tp] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        elif tp.topic in context.topics_to_be_deleted:
            outcomes[tp] = ErrorCode.INVALID_TOPIC_EXCEPTION
        else:
            match election_need(context, tp, kind):
                case ElectionNeed.YES:
                    electable.append(tp)
                case ElectionNeed.NO:
                    outcomes[tp] = ErrorCode.ELECTION_NOT_NEEDED
                case ElectionNeed.IMPOSSIBLE:
                    outcomes[tp] = _NO_ELIGIBLE_LEADER[kind]
    return electable


def election_need(context: Context, tp: TopicPartition, kind: ElectionType) -> ElectionNeed:
    """Return whether an election would change anything; it needs a stored leadership."""
    now = context.leaderships.get(tp)
    if now is None:
        return ElectionNeed.IMPOSSIBLE
    if kind is ElectionType.PREFERRED:
        fine = now.leader in context.replicas(tp)[:1]
    else:
        fine = now.leader != NO_LEADER and now.leader in context.live
    return ElectionNeed.NO if fine else ElectionNeed.YES


def on_preferred_election_planned(context: Context) -> Script[None]:
    """Elect for the partitions listed in the store, then delete the list."""
    listed: set[TopicPartition] | None = yield ReadPreferredElection()
    if listed is not None:
        electable = split_electable(context, listed, ElectionType.PREFERRED, {})
        yield from elect_and_delete_list(context, electable)


def elect_and_delete_list(context: Context, electable: list[TopicPartition]) -> Script[None]:
    """Run a preferred election that was requested through the store."""
    yield from then_always(elect_preferred(context, electable), delete_list())


def elect_preferred(context: Context, electable: list[TopicPartition]) -> Script[None]:
    """Elect preferred leaders and ignore the results."""
    yield from bring_online(context, electable, ElectionRule(Strategy.PREFERRED))


def delete_list() -> Script[None]:
    """Delete the list, and look for a new one."""
    yield DeletePreferredElection()
    yield Enqueue(PreferredElectionPlanned())


def elect_pending(context: Context) -> Script[None]:
    """At failover: process a list that the previous controller left."""
    listed: set[TopicPartition] | None = yield ReadPreferredElection()
    electable = split_electable(context, listed or (), ElectionType.PREFERRED, {})
    yield from elect_and_delete_list(context, electable)


# ---- periodic rebalance ----------------------------------------------------------------------


def on_rebalance_due(context: Context) -> Script[None]:
    """Rebalance, and schedule the next check."""
    yield from then_always(rebalance(context), schedule_next(context))


def rebalance(context: Context) -> Script[None]:
    """Elect for each broker whose share of lost preferred leaders is above the limit."""
    share_max = context.settings.imbalance_percentage_max / 100
    for broker, partitions in sorted(preferred_by_broker(context).items()):
        not_preferred = [tp for tp in partitions if is_not_preferred(context, tp)]
        if len(not_preferred) / len(partitions) > share_max:
            electable = [tp for tp in sorted(not_preferred) if can_lead(context, broker, tp)]
            yield from elect_preferred(context, electable)


def schedule_next(context: Context) -> Script[None]:
    """Schedule the next check, if automatic rebalance is enabled."""
    if context.settings.auto_rebalance:
        yield ScheduleRebalance(context.settings.imbalance_check_seconds)


def preferred_by_broker(context: Context) -> dict[BrokerId, list[TopicPartition]]:
    """Return partitions by their preferred leader, except of topics to be deleted."""
    found: dict[BrokerId, list[TopicPartition]] = {}
    for tp, assignment in context.assignments.items():
        if assignment.replicas and tp.topic not in context.topics_to_be_deleted:
            found.setdefault(assignment.replicas[0], []).append(tp)
    return found


def is_not_preferred(context: Context, tp: TopicPartition) -> bool:
    """Return whether a partition has a leadership of another than its preferred replica."""
    now = context.leaderships.get(tp)
    return now is not None and now.leader != context.replicas(tp)[0]


def can_lead(context: Context, broker: BrokerId, tp: TopicPartition) -> bool:
    """Return whether the preferred replica can lead now."""
    isr = context.leaderships[tp].isr
    return choose_preferred((broker,), isr, context.online_brokers(tp)) is not None
