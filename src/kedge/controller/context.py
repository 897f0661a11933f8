"""The controller's in-memory state between events: brokers, topics, partitions, replicas, counters.

Only the loop writes it, through scripts. Everything here can be read from the store, so a context
is never saved; it is reset when the role is lost and loaded when it is won.

Frequent lookups have indexes (partitions by topic, replicas by broker, partitions by leader,
partitions that are not online), so that no event scans two hundred thousand partitions to find ten.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from kedge.controller.settings import Settings
from kedge.controller.states import PartitionState, ReplicaState
from kedge.model import Broker, BrokerId, Leadership, ReplicaAssignment, TopicPartition

UNASSIGNED = ReplicaAssignment(())

K = TypeVar("K")
Index = defaultdict[K, dict[TopicPartition, None]]


@dataclass(frozen=True, slots=True)
class Registration:
    """A broker's registration; the epoch grows with each registration."""

    broker: Broker
    epoch: int
    features: tuple[tuple[str, int, int], ...] = ()  # name, lowest, highest


@dataclass(slots=True)
class Context:
    """The controller's tables. The methods keep the indexes consistent."""

    me: BrokerId
    settings: Settings = field(default_factory=Settings)

    active_controller: BrokerId | None = None
    epoch: int = 0

    registered: dict[BrokerId, Registration] = field(default_factory=dict)
    shutting_down: set[BrokerId] = field(default_factory=set)
    live: set[BrokerId] = field(default_factory=set)  # registered and not shutting down
    offline_dirs: dict[BrokerId, set[TopicPartition]] = field(default_factory=dict)

    topics: set[str] = field(default_factory=set)
    topic_ids: dict[str, str] = field(default_factory=dict)
    topic_names: dict[str, str] = field(default_factory=dict)  # by id

    assignments: dict[TopicPartition, ReplicaAssignment] = field(default_factory=dict)
    leaderships: dict[TopicPartition, Leadership] = field(default_factory=dict)
    being_reassigned: set[TopicPartition] = field(default_factory=set)
    partition_states: dict[TopicPartition, PartitionState] = field(default_factory=dict)
    replica_states: dict[BrokerId, dict[TopicPartition, ReplicaState]] = field(default_factory=dict)

    topics_to_be_deleted: set[str] = field(default_factory=set)
    topics_with_deletion_started: set[str] = field(default_factory=set)
    topics_ineligible_for_deletion: set[str] = field(default_factory=set)

    unclean_by_default: bool | None = None  # dynamic config; None: as in the settings
    last_config_change: int = -1  # the last notification that was processed
    config_changes_seen_ms: dict[str, int] = field(default_factory=dict)  # by notification

    offline_partition_count: int = 0
    preferred_replica_imbalance_count: int = 0
    under_replicated_count: int = 0

    by_topic: Index[str] = field(default_factory=lambda: defaultdict(dict))
    by_broker: Index[BrokerId] = field(default_factory=lambda: defaultdict(dict))
    by_leader: Index[BrokerId] = field(default_factory=lambda: defaultdict(dict))
    not_online: dict[TopicPartition, None] = field(default_factory=dict)  # New or Offline

    @property
    def active(self) -> bool:
        """Whether this process is the active controller, as far as it knows."""
        return self.active_controller == self.me

    @property
    def unclean_elections(self) -> bool:
        """Whether topics without their own setting allow unclean elections."""
        by_default = self.unclean_by_default
        return self.settings.unclean_elections if by_default is None else by_default

    def reset(self) -> None:
        """Clear everything except the id and the settings, after the role is lost."""
        blank = Context(self.me, self.settings)
        for name in self.__slots__:
            setattr(self, name, getattr(blank, name))

    # ---- brokers ------------------------------------------------------------------------------

    def add_brokers(self, registrations: Iterable[Registration]) -> None:
        """Add registered brokers."""
        for registration in registrations:
            self.registered[registration.broker.id] = registration
        self._refresh_live()

    def remove_brokers(self, ids: Iterable[BrokerId]) -> None:
        """Remove brokers whose registration is gone."""
        for broker in ids:
            self.registered.pop(broker, None)
        self._refresh_live()

    def begin_shutdown(self, broker: BrokerId) -> None:
        """Mark a broker as shutting down: still registered, no longer live."""
        self.shutting_down.add(broker)
        self._refresh_live()

    def end_shutdown(self, brokers: Iterable[BrokerId]) -> None:
        """Unmark brokers that have left or registered again."""
        self.shutting_down.difference_update(brokers)
        self._refresh_live()

    def _refresh_live(self) -> None:
        self.live = set(self.registered) - self.shutting_down

    def online(self, broker: BrokerId, tp: TopicPartition) -> bool:
        """Return whether a replica can serve: its broker is live and its directory not failed."""
        return broker in self.live and tp not in self.offline_dirs.get(broker, ())

    def online_brokers(self, tp: TopicPartition) -> Collection[BrokerId]:
        """Return the live brokers on which a replica of this partition can serve."""
        return self._good_dirs(self.live, tp)

    def registered_brokers(self, tp: TopicPartition) -> Collection[BrokerId]:
        """Return the same, including brokers that are shutting down."""
        return self._good_dirs(self.registered, tp)

    def _good_dirs(self, brokers: Collection[BrokerId], tp: TopicPartition) -> Collection[BrokerId]:
        if not self.offline_dirs:
            return brokers
        return {b for b in brokers if tp not in self.offline_dirs.get(b, ())}

    # ---- topics and assignments ---------------------------------------------------------------

    def set_topic_id(self, topic: str, topic_id: str) -> None:
        """Set a topic's id."""
        self.topic_ids[topic] = topic_id
        self.topic_names[topic_id] = topic

    def replicas(self, tp: TopicPartition) -> tuple[BrokerId, ...]:
        """Return a partition's replicas, preferred leader first; none if it is unknown."""
        return self.assignments.get(tp, UNASSIGNED).replicas

    def assignment(self, tp: TopicPartition) -> ReplicaAssignment:
        """Return a partition's assignment; an empty one if it is unknown."""
        return self.assignments.get(tp, UNASSIGNED)

    def set_assignment(self, tp: TopicPartition, assignment: ReplicaAssignment) -> None:
        """Set a partition's assignment."""
        before = self.assignments.get(tp)
        self.assignments[tp] = assignment
        if before is None:
            self.by_topic[tp.topic][tp] = None
        else:
            for broker in before.replicas:
                if broker not in assignment.replicas:
                    self.by_broker[broker].pop(tp, None)
        for broker in assignment.replicas:
            self.by_broker[broker][tp] = None
        leadership = self.leaderships.get(tp)
        if leadership is not None and tp.topic not in self.topics_to_be_deleted:
            was = before is not None and imbalanced(before, leadership)
            self.preferred_replica_imbalance_count += imbalanced(assignment, leadership) - was
            was = before is not None and under_replicated(before, leadership)
            self.under_replicated_count += under_replicated(assignment, leadership) - was

    def partitions_of(self, topic: str) -> list[TopicPartition]:
        """Return a topic's partitions, sorted."""
        return sorted(self.by_topic.get(topic, ()))

    def partitions_on(self, brokers: Iterable[BrokerId]) -> dict[BrokerId, list[TopicPartition]]:
        """Return the partitions with a replica on each of these brokers, sorted."""
        return {b: sorted(self.by_broker.get(b, ())) for b in sorted(brokers)}

    def remove_topic(self, topic: str) -> None:
        """Remove a topic from all tables.

        Its entries among the moves stay, as in Kafka. Its mark in the ineligible set is removed:
        Kafka keeps it, and then the deletion of the next topic of that name never starts.
        """
        if topic not in self.topics_to_be_deleted:
            self._stop_counting(topic)
        self.topics_to_be_deleted.discard(topic)
        if self.settings.safer:
            self.topics_ineligible_for_deletion.discard(topic)
        self.topics.discard(topic)
        self.topic_names.pop(self.topic_ids.pop(topic, ""), None)
        for tp in self.by_topic.pop(topic, {}):
            self._forget_partition(tp)
        # last: offline partitions of started topics are not counted
        self.topics_with_deletion_started.discard(topic)

    def _forget_partition(self, tp: TopicPartition) -> None:
        self.set_partition_state(tp, PartitionState.NON_EXISTENT)
        del self.partition_states[tp]
        for broker in self.assignments.pop(tp).replicas:
            self.by_broker[broker].pop(tp, None)
            self.replica_states.get(broker, {}).pop(tp, None)
        leadership = self.leaderships.pop(tp, None)
        if leadership is not None:
            self.by_leader[leadership.leader].pop(tp, None)

    # ---- leadership ---------------------------------------------------------------------------

    def set_leadership(self, tp: TopicPartition, leadership: Leadership) -> None:
        """Set a partition's leadership, as the store has confirmed it."""
        before = self.leaderships.get(tp)
        self.leaderships[tp] = leadership
        if before is None or before.leader != leadership.leader:
            if before is not None:
                self.by_leader[before.leader].pop(tp, None)
            self.by_leader[leadership.leader][tp] = None
        if tp.topic not in self.topics_to_be_deleted:
            assignment = self.assignments.get(tp, UNASSIGNED)
            was = before is not None and imbalanced(assignment, before)
            self.preferred_replica_imbalance_count += imbalanced(assignment, leadership) - was
            was = before is not None and under_replicated(assignment, before)
            self.under_replicated_count += under_replicated(assignment, leadership) - was

    def partitions_with_offline_leader(self) -> list[TopicPartition]:
        """Return partitions whose leader cannot serve, except of topics to be deleted."""
        lost = [tp for b, led in self.by_leader.items() if b not in self.live for tp in led]
        for broker, bad in self.offline_dirs.items():
            if broker in self.live:
                led = self.by_leader.get(broker, {})
                lost += [tp for tp in bad if tp in led]
        return sorted(tp for tp in lost if tp.topic not in self.topics_to_be_deleted)

    # ---- states -------------------------------------------------------------------------------

    def partition_state(self, tp: TopicPartition) -> PartitionState:
        """Return a partition's state; an unknown partition does not exist."""
        return self.partition_states.get(tp, PartitionState.NON_EXISTENT)

    def set_partition_state(self, tp: TopicPartition, state: PartitionState) -> None:
        """Set a partition's state."""
        before = self.partition_states.get(tp, PartitionState.NON_EXISTENT)
        self.partition_states[tp] = state
        if state is PartitionState.NEW or state is PartitionState.OFFLINE:
            self.not_online[tp] = None
        else:
            self.not_online.pop(tp, None)
        if tp.topic not in self.topics_with_deletion_started:
            offline = PartitionState.OFFLINE
            self.offline_partition_count += (state is offline) - (before is offline)

    def begin_partition_states(self, states: Mapping[TopicPartition, PartitionState]) -> None:
        """Set the states of all partitions, after the context was loaded."""
        self.partition_states = dict(states)
        trouble = (PartitionState.NEW, PartitionState.OFFLINE)
        found = {tp: state for tp, state in states.items() if state in trouble}
        self.not_online = dict.fromkeys(found)
        self.offline_partition_count = list(found.values()).count(PartitionState.OFFLINE)

    def partitions_not_online(self) -> list[TopicPartition]:
        """Return new and offline partitions, except of topics to be deleted."""
        return sorted(tp for tp in self.not_online if tp.topic not in self.topics_to_be_deleted)

    def replica_state(self, broker: BrokerId, tp: TopicPartition) -> ReplicaState:
        """Return a replica's state; an unknown replica does not exist."""
        return self.replica_states.get(broker, {}).get(tp, ReplicaState.NON_EXISTENT)

    def set_replica_state(self, broker: BrokerId, tp: TopicPartition, state: ReplicaState) -> None:
        """Set a replica's state."""
        self.replica_states.setdefault(broker, {})[tp] = state

    # ---- deletion -----------------------------------------------------------------------------

    def queue_deletion(self, topics: Iterable[str]) -> None:
        """Mark topics to be deleted; their partitions leave the counters once, now."""
        for topic in sorted(set(topics) - self.topics_to_be_deleted):
            self.topics_to_be_deleted.add(topic)
            self._stop_counting(topic)

    def _stop_counting(self, topic: str) -> None:
        for tp in self.by_topic.get(topic, ()):
            leadership = self.leaderships.get(tp)
            if leadership is not None:
                assignment = self.assignments[tp]
                self.preferred_replica_imbalance_count -= imbalanced(assignment, leadership)
                self.under_replicated_count -= under_replicated(assignment, leadership)


def imbalanced(assignment: ReplicaAssignment, leadership: Leadership) -> bool:
    """Return whether a partition counts as not led by its preferred replica.

    While the preferred replica is being added, the partition counts as balanced until that replica
    is in the ISR and as imbalanced from then on, regardless of the leader, until the move
    completes.
    """
    replicas = assignment.replicas
    if not replicas:
        return False
    if assignment.adding and replicas[0] in assignment.adding:
        return replicas[0] in leadership.isr
    return leadership.leader != replicas[0]


def under_replicated(assignment: ReplicaAssignment, leadership: Leadership) -> bool:
    """Return whether a partition has fewer replicas in sync than assigned.

    Adding replicas of a move count only once they are in sync, as in Kafka's gauge.
    """
    replicas = len(assignment.replicas)
    if assignment.adding:
        replicas = len(set(assignment.replicas).difference(assignment.adding))
    return len(leadership.isr) < replicas
