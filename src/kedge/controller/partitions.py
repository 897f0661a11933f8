"""The partition state machine: moves partitions between states, with elections.

One call moves many partitions to one state and sends one batch of requests. An illegal transition,
or an election without an eligible replica, is logged and leaves that partition as it was; the
others proceed.

    to NewPartition       marked
    to OnlinePartition    from New: the first online replica leads, all online ones are the ISR
                          from Online or Offline: an election by the given strategy
    to Offline, NonExistent   marked; the stored leader stays
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from kedge.controller.context import Context
from kedge.controller.effects import (
    CreateLeaderships,
    ReadLeaderships,
    ReadUncleanAllowed,
    RecordPartitions,
    Script,
    WriteLeaderships,
    WriteOutcome,
)
from kedge.controller.leader_election import (
    Elected,
    Strategy,
    elect_for_shutdown,
    elect_offline,
    elect_preferred,
    elect_reassigned,
)
from kedge.controller.requests import RequestBatch
from kedge.controller.states import PARTITION_MAY_COME_FROM, PartitionState
from kedge.model import BrokerId, Leadership, TopicPartition

Leaderships = dict[TopicPartition, Leadership]


@dataclass(slots=True)
class ElectionResults:
    """The elected leaders, and the errors of failed elections."""

    elected: Leaderships = field(default_factory=dict[TopicPartition, Leadership])
    failed: dict[TopicPartition, str] = field(default_factory=dict[TopicPartition, str])


@dataclass(frozen=True, slots=True)
class ElectionRule:
    """A strategy, and whether an operator has forced an unclean election."""

    strategy: Strategy = Strategy.OFFLINE
    force_unclean: bool = False


def mark_partitions(
    context: Context, partitions: Iterable[TopicPartition], target: PartitionState
) -> Script[None]:
    """Move partitions to New, Offline or NonExistent: no write and no request."""
    valid, refused = split_by_validity(context, partitions, target)
    for tp in valid:
        context.set_partition_state(tp, target)
    if valid or refused:
        yield RecordPartitions(target, valid, refused)


def bring_online(
    context: Context, partitions: Iterable[TopicPartition], rule: ElectionRule
) -> Script[ElectionResults]:
    """Move partitions to Online. The results contain elections, not first leaders."""
    valid, refused = split_by_validity(context, partitions, PartitionState.ONLINE)
    states = context.partition_states
    new = [tp for tp in valid if states[tp] is PartitionState.NEW]
    others = [tp for tp in valid if states[tp] is not PartitionState.NEW] if new else valid
    batch, results = RequestBatch(context), ElectionResults()
    moved = yield from initialise(context, new, batch, refused)
    yield from elect_leaders(context, others, rule, batch, results)
    for tp in results.elected:
        context.set_partition_state(tp, PartitionState.ONLINE)
    if valid or refused:
        moved = [*moved, *results.elected]
        yield RecordPartitions(PartitionState.ONLINE, moved, refused | results.failed)
    yield from batch.send()
    return results


def try_online(context: Context, topic: str | None = None) -> Script[ElectionResults]:
    """Retry the election of every new and offline partition (of one topic, or all)."""
    partitions = context.partitions_not_online()
    if topic is not None:
        partitions = [tp for tp in partitions if tp.topic == topic]
    return (yield from bring_online(context, partitions, ElectionRule()))


def split_by_validity(
    context: Context, partitions: Iterable[TopicPartition], target: PartitionState
) -> tuple[list[TopicPartition], dict[TopicPartition, str]]:
    """Return the partitions that may move, and the others with the reason."""
    # a tuple compares members by identity, where a set would hash each
    allowed, states = tuple(PARTITION_MAY_COME_FROM[target]), context.partition_states
    valid: list[TopicPartition] = []
    refused: dict[TopicPartition, str] = {}
    for tp in partitions:
        state = states.get(tp, PartitionState.NON_EXISTENT)
        if state in allowed:
            valid.append(tp)
        else:
            refused[tp] = f"{target.value} cannot follow {state.value}"
    return valid, refused


# ---- first leaders ---------------------------------------------------------------------------


def initialise(
    context: Context,
    partitions: Sequence[TopicPartition],
    batch: RequestBatch,
    refused: dict[TopicPartition, str],
) -> Script[list[TopicPartition]]:
    """Create the first leadership of new partitions; only ISR members are notified."""
    wanted: Leaderships = {}
    for tp in partitions:
        online = context.online_brokers(tp)
        live = tuple([b for b in context.replicas(tp) if b in online])
        if live:
            wanted[tp] = Leadership(live[0], live)
        else:
            refused[tp] = "no replica is online"
    if not wanted:
        return []
    outcome: WriteOutcome = yield CreateLeaderships(wanted, context.epoch)
    refused |= outcome.failed
    for tp, leadership in outcome.stored.items():
        context.set_leadership(tp, leadership)
        context.set_partition_state(tp, PartitionState.ONLINE)
        batch.add_leader_and_isr(leadership.isr, tp, is_new=True)
    return list(outcome.stored)


# ---- elections -------------------------------------------------------------------------------


def elect_leaders(
    context: Context,
    partitions: Sequence[TopicPartition],
    rule: ElectionRule,
    batch: RequestBatch,
    results: ElectionResults,
) -> Script[None]:
    """Elect until every partition is done: a stale write is elected again from the stored state."""
    remaining: Sequence[TopicPartition] = partitions
    while remaining:
        stored: Leaderships = yield ReadLeaderships(remaining)
        writable = filter_writable(context, remaining, stored, results.failed)
        results_by_partition = yield from run_elections(context, writable, rule, results.failed)
        wanted = {
            tp: b.leadership for tp, b in results_by_partition.items() if b.leadership is not None
        }
        for tp in sorted(results_by_partition.keys() - wanted.keys()):
            results.failed[tp] = f"no replica is eligible by the rule {rule.strategy.value}"
        if not wanted:
            return
        outcome: WriteOutcome = yield WriteLeaderships(wanted, context.epoch)
        results.failed |= outcome.failed
        for tp, leadership in outcome.stored.items():
            context.set_leadership(tp, leadership)
            results.elected[tp] = leadership
            batch.add_leader_and_isr(results_by_partition[tp].recipients, tp, is_new=False)
        remaining = outcome.stale


def filter_writable(
    context: Context,
    partitions: Sequence[TopicPartition],
    stored: Leaderships,
    failed: dict[TopicPartition, str],
) -> Leaderships:
    """Return the leaderships that this controller may change: not those of a later one."""
    writable: Leaderships = {}
    for tp in partitions:
        leadership = stored.get(tp)
        if leadership is None:
            failed[tp] = "no leadership is stored"
        elif leadership.controller_epoch > context.epoch:
            failed[tp] = f"written by a controller of epoch {leadership.controller_epoch}"
        else:
            writable[tp] = leadership
    return writable


def run_elections(
    context: Context,
    leaderships: Leaderships,
    rule: ElectionRule,
    failed: dict[TopicPartition, str],
) -> Script[dict[TopicPartition, Elected]]:
    """Return one result per partition, by the requested strategy."""
    if rule.strategy is Strategy.OFFLINE:
        return (yield from run_offline_elections(context, leaderships, rule, failed))
    return {tp: run_election(context, tp, now, rule) for tp, now in leaderships.items()}


def run_election(
    context: Context, tp: TopicPartition, now: Leadership, rule: ElectionRule
) -> Elected:
    """Elect by one of the strategies that need no read from the store."""
    if rule.strategy is Strategy.REASSIGN:
        return elect_reassigned(
            now,
            context.assignment(tp),
            context.online_brokers(tp),
            leave_behind=context.settings.safer,
        )
    if rule.strategy is Strategy.PREFERRED:
        return elect_preferred(now, context.replicas(tp), context.online_brokers(tp))
    registered = context.registered_brokers(tp)
    return elect_for_shutdown(now, context.replicas(tp), registered, context.shutting_down)


def run_offline_elections(
    context: Context,
    leaderships: Leaderships,
    rule: ElectionRule,
    failed: dict[TopicPartition, str],
) -> Script[dict[TopicPartition, Elected]]:
    """Elect leaders for partitions whose leader is offline.

    Unclean elections are considered only where no member of the ISR is online; a topic whose config
    cannot be read fails, to protect its data.
    """
    unclean = yield from read_unclean_allowed(context, leaderships, rule)
    marks_recovery = context.settings.marks_recovery
    results_by_partition: dict[TopicPartition, Elected] = {}
    for tp, now in leaderships.items():
        allowed = unclean.get(tp, False)
        if allowed is None:
            failed[tp] = "the topic's configuration cannot be read"
            continue
        results_by_partition[tp] = elect_offline(
            now,
            context.replicas(tp),
            context.online_brokers(tp),
            unclean=allowed,
            marks_recovery=marks_recovery,
        )
    return results_by_partition


def read_unclean_allowed(
    context: Context, leaderships: Leaderships, rule: ElectionRule
) -> Script[dict[TopicPartition, bool | None]]:
    """Return whether an unclean leader is allowed, for partitions without another."""
    lost = [tp for tp, now in leaderships.items() if not any_online(context, tp, now.isr)]
    if rule.force_unclean or not lost:
        return dict.fromkeys(lost, True)
    topics = sorted({tp.topic for tp in lost})
    by_topic: dict[str, bool | None] = yield ReadUncleanAllowed(topics, context.unclean_elections)
    return {tp: by_topic[tp.topic] for tp in lost}


def any_online(context: Context, tp: TopicPartition, brokers: Iterable[BrokerId]) -> bool:
    """Return whether a replica on one of these brokers can serve."""
    online = context.online_brokers(tp)
    return any(b in online for b in brokers)
