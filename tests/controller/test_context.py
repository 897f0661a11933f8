"""The context's counters and indexes agree with what a plain recount finds."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from kedge.controller.context import Context, Registration, imbalanced
from kedge.controller.states import PartitionState
from kedge.model import Broker, BrokerId, Leadership, ReplicaAssignment, TopicPartition
from tests.controller.stage import brokers, tp

PARTITIONS = st.sampled_from([tp("a-0"), tp("a-1"), tp("b-0")])
IDS = st.lists(st.integers(1, 5).map(BrokerId), unique=True, min_size=1, max_size=4).map(tuple)


def test_an_added_preferred_replica_counts_as_balanced_until_it_is_in_sync() -> None:
    context, where = Context(BrokerId(0)), tp()
    context.set_assignment(where, ReplicaAssignment(brokers(3, 1), brokers(3), brokers(1)))
    context.set_leadership(where, Leadership(BrokerId(1), brokers(1)))
    assert context.preferred_replica_imbalance_count == 0
    context.set_leadership(where, Leadership(BrokerId(3), brokers(1, 3)))
    assert context.preferred_replica_imbalance_count == 1
    context.set_assignment(where, ReplicaAssignment(brokers(3)))
    assert context.preferred_replica_imbalance_count == 0


def test_partitions_of_topics_whose_deletion_started_are_not_counted_as_offline() -> None:
    context, where = Context(BrokerId(0)), tp()
    context.topics_with_deletion_started.add("t")
    context.set_partition_state(where, PartitionState.OFFLINE)
    assert context.offline_partition_count == 0


def test_an_offline_partition_that_was_not_counted_is_not_taken_off_with_its_topic() -> None:
    context, where = Context(BrokerId(0)), tp()
    context.topics.add("t")
    context.set_assignment(where, ReplicaAssignment(brokers(1)))
    context.queue_deletion(["t"])
    context.topics_with_deletion_started.add("t")
    context.set_partition_state(where, PartitionState.OFFLINE)
    context.remove_topic("t")
    assert context.offline_partition_count == 0


def test_a_broker_shutting_down_is_registered_but_not_live() -> None:
    context = Context(BrokerId(0))
    context.add_brokers([Registration(Broker(BrokerId(1)), 5)])
    context.begin_shutdown(BrokerId(1))
    assert not context.online(BrokerId(1), tp())
    assert BrokerId(1) in context.registered_brokers(tp())
    context.end_shutdown([BrokerId(1)])
    assert context.online(BrokerId(1), tp())


class ContextMachine(RuleBasedStateMachine):
    """Random changes, then everything is counted again the slow way."""

    def __init__(self) -> None:
        super().__init__()
        self.context = Context(BrokerId(0))
        self.context.add_brokers(Registration(Broker(b), 1) for b in brokers(1, 2, 3))

    @rule(where=PARTITIONS, replicas=IDS, adding=st.integers(0, 2))
    def assign(self, where: TopicPartition, replicas: tuple[BrokerId, ...], adding: int) -> None:
        self.context.topics.add(where.topic)
        self.context.set_assignment(where, ReplicaAssignment(replicas, replicas[:adding]))

    @rule(where=PARTITIONS, isr=IDS)
    def lead(self, where: TopicPartition, isr: tuple[BrokerId, ...]) -> None:
        if where in self.context.assignments:
            self.context.set_leadership(where, Leadership(isr[-1], isr))

    @rule(where=PARTITIONS, state=st.sampled_from(PartitionState))
    def change_state(self, where: TopicPartition, state: PartitionState) -> None:
        if where in self.context.assignments:
            self.context.set_partition_state(where, state)

    @rule(topic=st.sampled_from(["a", "b"]))
    def queue(self, topic: str) -> None:
        self.context.queue_deletion([topic])

    @rule(topic=st.sampled_from(["a", "b"]))
    def remove(self, topic: str) -> None:
        self.context.remove_topic(topic)

    @rule(broker=st.integers(1, 5).map(BrokerId))
    def lose(self, broker: BrokerId) -> None:
        self.context.remove_brokers([broker])

    @invariant()
    def counts_are_right(self) -> None:
        context = self.context
        kept = {p: a for p, a in context.assignments.items() if p.topic not in queued(context)}
        skewed = sum(
            imbalanced(a, context.leaderships[p])
            for p, a in kept.items()
            if p in context.leaderships
        )
        assert context.preferred_replica_imbalance_count == skewed
        lacking = sum(
            len(context.leaderships[p].isr) < len(set(a.replicas) - set(a.adding))
            for p, a in kept.items()
            if p in context.leaderships
        )
        assert context.under_replicated_count == lacking
        offline = list(context.partition_states.values()).count(PartitionState.OFFLINE)
        assert context.offline_partition_count == offline

    @invariant()
    def indexes_are_right(self) -> None:
        context = self.context
        hosted = {b: set(p) for b, p in context.by_broker.items() if p}
        assert hosted == by_broker(context)
        lost = [
            p
            for p, now in context.leaderships.items()
            if not context.online(now.leader, p) and p.topic not in queued(context)
        ]
        assert context.partitions_with_offline_leader() == sorted(lost)


def queued(context: Context) -> set[str]:
    return context.topics_to_be_deleted


def by_broker(context: Context) -> dict[BrokerId, set[TopicPartition]]:
    found: dict[BrokerId, set[TopicPartition]] = {}
    for where, assignment in context.assignments.items():
        for broker in assignment.replicas:
            found.setdefault(broker, set()).add(where)
    return found


TestContextMachine = ContextMachine.TestCase
TestContextMachine.settings = settings(max_examples=40, stateful_step_count=25, deadline=None)
