"""Elections that somebody asks for, and the one that the clock asks for.

Operators ask by API or by a list in the store; the clock asks when too many leaders have not_preferred
from their preferred replica. Only an operator's API request may force an unclean leader.
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
    """Whether an election is worth holding."""

    YES = "yes"
    NO = "no"
    IMPOSSIBLE = "impossible"


_NO_ELIGIBLE_LEADER = {
    ElectionType.PREFERRED: ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
    ElectionType.UNCLEAN: ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE,
}


# ---- asked by operators ----------------------------------------------------------------------


def on_election_requested(context: Context, event: ElectionRequested) -> Script[Outcomes]:
    """Elect for each partition that needs it; every partition gets its own answer."""
    outcomes: Outcomes = {}
    electable = split_electable(context, event.partitions, event.type, outcomes)
    if event.type is ElectionType.PREFERRED:
        rule = ElectionRule(Strategy.PREFERRED)
    else:
        rule = ElectionRule(Strategy.OFFLINE, force_unclean=True)
    results = yield from bring_online(context, electable, rule)
    return outcomes | answers(results, event.type)


def answers(results: ElectionResults, kind: ElectionType) -> Outcomes:
    """What callers are told of elections."""
    failed = dict.fromkeys(results.failed, _NO_ELIGIBLE_LEADER[kind])
    return dict.fromkeys(results.elected, ErrorCode.NONE) | failed


def split_electable(
    context: Context, partitions: Iterable[TopicPartition], kind: ElectionType, outcomes: Outcomes
) -> list[TopicPartition]:
    """The partitions to elect for; the others are answered at once."""
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
    """Whether an election would change anything; without a leadership there is none to hold."""
    now = context.leaderships.get(tp)
    if now is None:
        return ElectionNeed.IMPOSSIBLE
    if kind is ElectionType.PREFERRED:
        fine = now.leader in context.replicas(tp)[:1]
    else:
        fine = now.leader != NO_LEADER and now.leader in context.live
    return ElectionNeed.NO if fine else ElectionNeed.YES


def on_preferred_election_planned(context: Context) -> Script[None]:
    """Elect for the partitions listed in the store, then remove the list whatever came of it."""
    listed: set[TopicPartition] | None = yield ReadPreferredElection()
    if listed is not None:
        electable = split_electable(context, listed, ElectionType.PREFERRED, {})
        yield from elect_and_delete_list(context, electable)


def elect_and_delete_list(context: Context, electable: list[TopicPartition]) -> Script[None]:
    """A preferred election ordered through the store."""
    yield from then_always(elect_preferred(context, electable), delete_list())


def elect_preferred(context: Context, electable: list[TopicPartition]) -> Script[None]:
    """Elect preferred leaders, and let the outcome be."""
    yield from bring_online(context, electable, ElectionRule(Strategy.PREFERRED))


def delete_list() -> Script[None]:
    """Remove the list; afterwards a new one is looked for."""
    yield DeletePreferredElection()
    yield Enqueue(PreferredElectionPlanned())


def elect_pending(context: Context) -> Script[None]:
    """At failover: the list that the controller before may have left."""
    listed: set[TopicPartition] | None = yield ReadPreferredElection()
    electable = split_electable(context, listed or (), ElectionType.PREFERRED, {})
    yield from elect_and_delete_list(context, electable)


# ---- asked by the clock ----------------------------------------------------------------------


def on_rebalance_due(context: Context) -> Script[None]:
    """Elect for every broker that leads too few of its preferred partitions; come again later."""
    yield from then_always(rebalance(context), schedule_next(context))


def rebalance(context: Context) -> Script[None]:
    """Look at each broker's preferred partitions; at the limit itself nothing is done yet."""
    share_max = context.settings.imbalance_percentage_max / 100
    for broker, partitions in sorted(preferred_by_broker(context).items()):
        not_preferred = [tp for tp in partitions if is_not_preferred(context, tp)]
        if len(not_preferred) / len(partitions) > share_max:
            electable = [tp for tp in sorted(not_preferred) if can_lead(context, broker, tp)]
            yield from elect_preferred(context, electable)


def schedule_next(context: Context) -> Script[None]:
    """The next look, if they are wanted at all."""
    if context.settings.auto_rebalance:
        yield ScheduleRebalance(context.settings.imbalance_check_seconds)


def preferred_by_broker(context: Context) -> dict[BrokerId, list[TopicPartition]]:
    """Partitions by their preferred leader, but for topics to be deleted."""
    found: dict[BrokerId, list[TopicPartition]] = {}
    for tp, assignment in context.assignments.items():
        if assignment.replicas and tp.topic not in context.topics_to_be_deleted:
            found.setdefault(assignment.replicas[0], []).append(tp)
    return found


def is_not_preferred(context: Context, tp: TopicPartition) -> bool:
    """Whether a partition has a leadership and it is not its preferred replica's."""
    now = context.leaderships.get(tp)
    return now is not None and now.leader != context.replicas(tp)[0]


def can_lead(context: Context, broker: BrokerId, tp: TopicPartition) -> bool:
    """Whether the preferred replica could lead now."""
    isr = context.leaderships[tp].isr
    return choose_preferred((broker,), isr, context.online_brokers(tp)) is not None
