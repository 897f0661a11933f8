"""Whatever happens in whatever order, some things stay true.

Random brokers come and go, topics are created, moved and deleted, leaders change ISRs, and the
controller dies in the middle of whatever it is doing and is replaced.
"""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from kedge.controller.dispatch import script_for
from kedge.controller.effects import Effect
from kedge.controller.events import (
    BrokersChanged,
    ElectionRequested,
    ElectionType,
    Event,
    ReassignmentRequested,
    ShutdownRequested,
)
from kedge.controller.settings import Settings
from kedge.controller.states import PartitionState
from kedge.errors import KedgeError
from kedge.model import NO_LEADER, BrokerId, Leadership, TopicPartition
from kedge.runtime.loop import Loop
from tests.runtime.lab import Lab

BROKERS = range(1, 5)
TOPICS = ("a", "b")
BROKER = st.sampled_from(BROKERS)
TOPIC = st.sampled_from(TOPICS)
PARTITION = st.builds(TopicPartition, TOPIC, st.integers(0, 1))
REPLICAS = st.lists(BROKER, unique=True, min_size=1, max_size=3)


class ControllerLaws(RuleBasedStateMachine):
    """A lab with recorded brokers; epochs seen so far are remembered."""

    def __init__(self) -> None:
        super().__init__()
        self.lab = Lab(brokers=4, settings=Settings(auto_rebalance=False))
        self.up = set(BROKERS)
        self.controllers = 100
        self.seen: dict[TopicPartition, Leadership] = {}

    # ---- what happens -----------------------------------------------------------------------

    @rule(broker=BROKER)
    def flip_broker(self, broker: int) -> None:
        if broker in self.up:
            self.lab.stop(broker)
        else:
            self.lab.start(broker)
        self.up ^= {broker}
        self.lab.settle()

    @rule(topic=TOPIC, first=REPLICAS, second=REPLICAS)
    def create(self, topic: str, first: list[int], second: list[int]) -> None:
        if self.lab.assignments(topic) is None:
            self.seen = {tp: now for tp, now in self.seen.items() if tp.topic != topic}
            self.lab.create(topic, first, second)
            self.lab.settle()

    @rule(topic=TOPIC)
    def delete(self, topic: str) -> None:
        if self.lab.assignments(topic) is not None:
            self.lab.delete(topic)
            self.lab.settle()

    @rule(where=PARTITION, to=st.none() | REPLICAS)
    def move(self, where: TopicPartition, to: list[int] | None) -> None:
        self.lab.ask(reassignment(where, to))

    @rule(where=PARTITION, data=st.data())
    def change_isr(self, where: TopicPartition, data: st.DataObject) -> None:
        now = self.lab.loop.context.leaderships.get(where)
        if now is None or now.leader not in self.up:
            return
        others = [b for b in self.lab.loop.context.replicas(where) if b != now.leader]
        joined = [b for b in others if b in self.lab.loop.context.live and data.draw(st.booleans())]
        self.lab.alter_isr(where, [now.leader, *joined])

    @rule(broker=BROKER)
    def ask_to_leave(self, broker: int) -> None:
        self.lab.ask(ShutdownRequested(BrokerId(broker)))

    @rule(where=PARTITION)
    def elect(self, where: TopicPartition) -> None:
        self.lab.ask(ElectionRequested(frozenset({where}), ElectionType.PREFERRED))

    @rule(where=PARTITION, to=REPLICAS, broker=BROKER, steps=st.integers(0, 40))
    def die_and_be_replaced(
        self, where: TopicPartition, to: list[int], broker: int, steps: int
    ) -> None:
        """The controller stops at any effect of an event; another one takes over."""
        if steps % 2:
            self.flip_without_settling(broker)
            event: Event = BrokersChanged()
        else:
            event = reassignment(where, to)
        run_partly(self.lab.loop, event, steps)
        self.lab.store.close()
        self.controllers += 1
        self.lab.elect(self.controllers)

    def flip_without_settling(self, broker: int) -> None:
        self.lab.stop(broker) if broker in self.up else self.lab.start(broker)
        self.up ^= {broker}

    # ---- what stays true ------------------------------------------------------------------------

    @invariant()
    def the_controller_is_active_and_knows_what_is_stored(self) -> None:
        context = self.lab.loop.context
        assert context.active
        for where, now in context.leaderships.items():
            stored = self.lab.stored(where)
            assert stored is not None
            # the controller epoch may be ours in memory where nothing had to be written
            assert shape(stored) == shape(now)

    @invariant()
    def epochs_never_fall(self) -> None:
        for where, now in self.lab.loop.context.leaderships.items():
            before = self.seen.get(where)
            if before is not None and not self.is_reborn(where):
                assert now.leader_epoch >= before.leader_epoch
                assert now.partition_epoch >= before.partition_epoch
                if now.leader != before.leader:
                    assert now.leader_epoch > before.leader_epoch
            self.seen[where] = now

    def is_reborn(self, where: TopicPartition) -> bool:
        now = self.lab.loop.context.leaderships[where]
        return (now.leader_epoch, now.partition_epoch) == (0, 0)

    @invariant()
    def a_leader_is_in_the_isr(self) -> None:
        for now in self.lab.loop.context.leaderships.values():
            assert now.isr
            assert now.leader == NO_LEADER or now.leader in now.isr

    @invariant()
    def a_partition_with_an_online_replica_in_sync_has_a_leader(self) -> None:
        context = self.lab.loop.context
        for where, now in context.leaderships.items():
            queued = where.topic in context.topics_to_be_deleted
            able = [b for b in context.replicas(where) if b in now.isr and b in context.live]
            if able and not queued and not context.shutting_down:
                assert now.leader in context.live
                assert context.partition_state(where) is PartitionState.ONLINE

    @invariant()
    def what_is_assigned_is_what_is_stored(self) -> None:
        context = self.lab.loop.context
        for topic in TOPICS:
            stored = self.lab.assignments(topic)
            if stored is not None and topic not in context.topics_to_be_deleted:
                known = {
                    tp.partition: context.assignments[tp] for tp in context.partitions_of(topic)
                }
                assert known == stored

    @invariant()
    def no_event_failed(self) -> None:
        assert [e for e in self.lab.log if e.severity == "error"] == []

    @precondition(lambda self: len(self.up) == len(BROKERS))
    @rule(topic=TOPIC)
    def with_all_brokers_up_a_deletion_ends(self, topic: str) -> None:
        moving = {tp.topic for tp in self.lab.loop.context.being_reassigned}
        context = self.lab.loop.context
        if topic in context.topics and not context.shutting_down and topic not in moving:
            held = topic in context.topics_ineligible_for_deletion
            self.delete(topic)
            assert held or self.lab.assignments(topic) is None


def shape(now: Leadership) -> tuple[object, ...]:
    return now.leader, now.isr, now.leader_epoch, now.partition_epoch, now.recovery


def reassignment(where: TopicPartition, target: list[int] | None) -> ReassignmentRequested:
    return ReassignmentRequested({where: None if target is None else tuple(map(BrokerId, target))})


def run_partly(loop: Loop, event: Event, steps: int) -> None:
    """Run an event's script for so many effects, then forget about it."""
    script = script_for(loop.context, event)
    try:
        effect: Effect = next(script)
        for _ in range(steps):
            try:
                answer = loop._execute("dying", effect, lambda _: None)
            except KedgeError as error:
                effect = script.throw(error)
            else:
                effect = script.send(answer)
    except StopIteration:
        pass
    script.close()


TestControllerLaws = ControllerLaws.TestCase
TestControllerLaws.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
