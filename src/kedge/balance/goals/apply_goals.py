"""Apply goals to a snapshot: brokers to remove or add, replication factors, fixed partitions.

The planner and the checker both start from its result.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from kedge.balance.goals.capacity import typical_capacity
from kedge.balance.goals.goals import Goals, NewBroker, expression
from kedge.errors import InvalidRequest, UnknownBroker, UnknownTopicOrPartition
from kedge.model import Broker, BrokerId, BrokerState
from kedge.model.columns import Bools, Int32s, non_empty_rows
from kedge.model.snapshot import Snapshot


def apply_goals(snapshot: Snapshot, goals: Goals) -> Snapshot:
    """The same cluster with the broker states and wanted replication factors of the goals."""
    brokers = _brokers(snapshot.brokers, goals)
    wanted = _wanted(snapshot, goals)
    if brokers == snapshot.brokers and wanted is snapshot.wanted_rf:
        return snapshot
    return replace(snapshot, brokers=brokers, wanted_rf=wanted)


def fixed_partitions(snapshot: Snapshot, goals: Goals) -> Bools:
    """Partitions that must not change: not chosen, excluded, or being reassigned."""
    names = snapshot.assignment.topics
    fixed = np.zeros(len(names), np.bool_)
    if goals.topics is not None:
        fixed |= ~_matching(names, goals.topics)
    if goals.exclude_topics is not None:
        fixed |= _matching(names, goals.exclude_topics)
    rows = fixed[snapshot.assignment.topic] if len(names) else np.zeros(0, np.bool_)
    rows = rows | moving_partitions(snapshot)
    for topic, partition in goals.exclude_partitions:
        of_topic = snapshot.assignment.rows_of_topic(topic)
        rows[of_topic] |= snapshot.assignment.partition[of_topic] == partition
    return rows


def moving_partitions(snapshot: Snapshot) -> Bools:
    """Partitions that are being reassigned already."""
    return non_empty_rows(snapshot.adding) | non_empty_rows(snapshot.removing)


def settled_assignment(snapshot: Snapshot) -> Int32s:
    """int32[P, K], broker ids: where replicas will be once the current reassignments end."""
    replicas = snapshot.assignment.replicas
    going = snapshot.removing
    if not bool((going >= 0).any()):
        return replicas
    leaves = (replicas[:, :, None] == going[:, None, :]).any(axis=2) & (replicas >= 0)
    kept = np.where(leaves, -1, replicas)
    last = np.argsort(kept < 0, axis=1, kind="stable")
    return np.take_along_axis(kept, last, axis=1)


def rack_index(brokers: Iterable[Broker]) -> tuple[Int32s, bool]:
    """A number for each broker's rack, and whether racks count: every broker that stays has one."""
    listed = list(brokers)
    if any(broker.rack is None for broker in listed if broker.state.stays):
        return np.arange(len(listed), dtype=np.int32), False
    number: dict[str | None, int] = {}
    racks = [number.setdefault(broker.rack, len(number)) for broker in listed]
    return np.array(racks, np.int32), True


def rack_limits(sizes: Int32s, factors: Int32s) -> Int32s:
    """For each factor the fewest copies in one rack that racks of these sizes allow.

    Racks of 1 and 3 brokers hold four replicas only with three in the larger one.
    """
    longest = int(factors.max(initial=0))
    most_held = np.array([np.minimum(sizes, most).sum() for most in range(longest + 1)])
    return np.minimum(np.searchsorted(most_held, factors), max(longest, 1)).astype(np.int32)


def _matching(names: Iterable[str], pattern: str) -> Bools:
    matches = expression(pattern).fullmatch
    found = np.array([matches(name) is not None for name in names], np.bool_)
    if not found.any():
        raise UnknownTopicOrPartition(f"No topic matches {pattern!r}")
    return found


def _wanted(snapshot: Snapshot, goals: Goals) -> Int32s:
    if not goals.replication_factor:
        return snapshot.wanted_rf
    wanted = snapshot.wanted_rf.copy()
    for pattern, factor in goals.replication_factor.items():
        wanted[_matching(snapshot.assignment.topics, pattern)[snapshot.assignment.topic]] = factor
    return wanted


def _brokers(brokers: tuple[Broker, ...], goals: Goals) -> tuple[Broker, ...]:
    known = {broker.id: broker for broker in brokers}
    for named in sorted(goals.remove_brokers | goals.exclude_brokers):
        if named not in known:
            raise UnknownBroker(f"broker {named} is not in the snapshot")
    for named in goals.remove_brokers:
        broker = known[BrokerId(named)]
        if broker.state.stays:
            known[broker.id] = replace(broker, state=BrokerState.DRAINING)
    for added in goals.add_brokers:
        known[BrokerId(added.id)] = _added(added, known.get(BrokerId(added.id)), brokers)
    return tuple(known[broker] for broker in sorted(known))


def _added(added: NewBroker, there: Broker | None, others: tuple[Broker, ...]) -> Broker:
    if there is not None:
        return there if there.state.stays else replace(there, state=BrokerState.NEW)
    if added.rack is None and all(broker.rack is not None for broker in others):
        what = f"broker {added.id} is new and the others have racks"
        raise InvalidRequest(what, hint=f"write {added.id}:rack")
    return Broker(BrokerId(added.id), added.rack, BrokerState.NEW, (), typical_capacity(others))
