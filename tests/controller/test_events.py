"""Brokers, topics and shutdowns: the parts that only their own scripts decide."""

from __future__ import annotations

from kedge.controller import effects as f
from kedge.controller.brokers import on_broker_modified, on_brokers_changed
from kedge.controller.context import Registration
from kedge.controller.deletion import on_deletions_requested
from kedge.controller.dispatch import script_for
from kedge.controller.events import LeaderAndIsrAnswered, ReplicasDeleted, ShutdownRequested
from kedge.controller.shutdown import on_shutdown_requested
from kedge.controller.states import PartitionState
from kedge.controller.topics import on_topic_modified, on_topics_changed
from kedge.model import Broker, BrokerId, Endpoint, ReplicaAssignment
from kedge.model.broker_requests import LeaderAndIsr, UpdateMetadata
from kedge.model.error_codes import ErrorCode
from tests.controller.stage import Stage, brokers, tp


class Answering(Stage):
    """A stage with ready answers for some effects."""

    def __init__(self, **known: object) -> None:
        super().__init__()
        self.answers: dict[type, object] = {}
        for name, answer in known.items():
            self.answers[getattr(f, name)] = answer

    def answer(self, effect: f.Effect) -> object:
        if type(effect) in self.answers:
            return self.answers[type(effect)]
        return super().answer(effect)


def registrations(**epochs: int) -> dict[BrokerId, Registration]:
    ids = {BrokerId(int(name[1:])): epoch for name, epoch in epochs.items()}
    return {b: Registration(Broker(b), epoch) for b, epoch in ids.items()}


def test_a_bounced_broker_is_treated_as_dead_and_then_as_new() -> None:
    stage = Answering(ReadBrokers=registrations(b1=99, b2=12, b3=13))
    where = stage.add("t-0", [1, 2])
    stage.run(on_brokers_changed(stage.context))
    assert stage.stored[where].leader == 2
    assert stage.context.registered[BrokerId(1)].epoch == 99
    # told nothing while it was dead, and everything it hosts once it was back
    (told,) = [r for r in stage.sent if isinstance(r, LeaderAndIsr) and r.to == 1]
    assert (list(told.partitions), told.sender.broker_epoch) == ([where], 99)


def test_brokers_learn_of_a_new_one_before_it_is_told_anything() -> None:
    stage = Answering(ReadBrokers=registrations(b1=11, b2=12, b3=13, b4=14))
    stage.add("t-0", [4, 1], isr=[1])
    stage.run(on_brokers_changed(stage.context))
    first = [r for r in stage.sent if isinstance(r, UpdateMetadata)][:4]
    assert [(r.to, len(r.partitions)) for r in first] == [(1, 0), (2, 0), (3, 0), (4, 1)]


def test_a_death_that_changes_no_leader_is_still_told() -> None:
    stage = Answering(ReadBrokers=registrations(b1=11, b2=12))
    stage.add("t-0", [1, 2])
    stage.run(on_brokers_changed(stage.context))
    assert stage.metadata_sent_to() == [1, 2]
    assert stage.told_to_lead() == []


def test_new_endpoints_are_told_and_a_new_rack_is_not() -> None:
    moved = Broker(BrokerId(1), endpoints=(Endpoint("PLAINTEXT", "elsewhere", 1),))
    stage = Answering(ReadBroker=Registration(moved, 11))
    stage.run(on_broker_modified(stage.context, BrokerId(1)))
    assert stage.metadata_sent_to() == [1, 2, 3]
    racked = Answering(ReadBroker=Registration(Broker(BrokerId(1), rack="r"), 11))
    racked.run(on_broker_modified(racked.context, BrokerId(1)))
    assert racked.sent == []


def test_a_topic_being_deleted_cannot_grow() -> None:
    grown = {tp("t-0"): ReplicaAssignment(brokers(9)), tp("t-1"): ReplicaAssignment(brokers(2))}
    stage = Answering(
        ReadTopicRecords={"t": f.TopicRecord("id", grown)}, ReadInitialisedPartitions={0}
    )
    stage.add("t-0", [1, 2])
    stage.context.queue_deletion(["t"])
    stage.run(on_topic_modified(stage.context, "t"))
    assert stage.topics["t"] == {tp("t-0"): ReplicaAssignment(brokers(1, 2))}
    assert tp("t-1") not in stage.context.assignments


def test_changed_replicas_of_a_known_partition_are_ignored() -> None:
    changed = {tp("t-0"): ReplicaAssignment(brokers(3))}
    stage = Answering(ReadTopicRecords={"t": f.TopicRecord("id", changed)})
    stage.add("t-0", [1, 2])
    stage.run(on_topic_modified(stage.context, "t"))
    assert stage.context.replicas(tp("t-0")) == brokers(1, 2)


def test_a_vanished_topic_is_forgotten_and_can_come_back() -> None:
    stage = Answering(ReadTopics=set[str](), ReadTopicRecords={})
    where = stage.add("t-0", [1, 2], leader=2)
    stage.run(on_topics_changed(stage.context))
    assert stage.context.preferred_replica_imbalance_count == 0
    assert stage.sent == []
    del stage.stored[where]
    record = f.TopicRecord("id", {where: ReplicaAssignment(brokers(2, 3))})
    stage.answers |= {f.ReadTopics: {"t"}, f.ReadTopicRecords: {"t": record}}
    stage.run(on_topics_changed(stage.context))
    assert stage.context.partition_state(where) is PartitionState.ONLINE


def test_orders_to_delete_unknown_topics_are_dropped() -> None:
    stage = Answering(ReadDeletionRequests={"ghost"})
    stage.run(on_deletions_requested(stage.context))
    assert f.RemoveDeletionRequests(["ghost"]) in stage.effects
    assert stage.context.topics_to_be_deleted == set()


def test_a_move_does_not_hold_back_a_deletion_that_is_new() -> None:
    stage = Answering(ReadDeletionRequests={"t"})
    stage.add("t-0", [3, 1], adding=[3], removing=[1], leader=1, isr=[1])
    stage.run(on_deletions_requested(stage.context))
    assert stage.context.topics_with_deletion_started == {"t"}
    assert stage.context.topics_ineligible_for_deletion == set()


def test_a_broker_asking_to_leave_must_be_known_and_current() -> None:
    stage = Stage()

    def ask(broker: int, epoch: int) -> ErrorCode:
        event = ShutdownRequested(BrokerId(broker), epoch)
        return stage.run(on_shutdown_requested(stage.context, event)).error

    assert ask(1, 10) is ErrorCode.STALE_BROKER_EPOCH
    assert ask(9, -1) is ErrorCode.BROKER_NOT_AVAILABLE
    assert ask(9, 5) is ErrorCode.UNKNOWN_SERVER_ERROR
    assert ask(1, -1) is ErrorCode.NONE
    assert stage.context.shutting_down == {1}


def test_a_follower_that_leaves_is_stopped_twice_and_taken_out_of_the_isr() -> None:
    stage = Stage()
    where = stage.add("t-0", [1, 2])
    alone = stage.add("t-1", [2])
    answer = stage.run(on_shutdown_requested(stage.context, ShutdownRequested(BrokerId(2), -1)))
    assert (answer.remaining, stage.stored[where].isr) == ((), (1,))
    assert stage.told_to_stop() == [(2, "t-0", 0, False)] * 2
    assert stage.stored[alone].leader == 2


def test_an_answer_to_an_earlier_controllers_question_counts_for_nothing() -> None:
    stage = Stage()
    where = stage.add("t-0", [1, 2])
    failed = {where: ErrorCode.KAFKA_STORAGE_ERROR}
    for epoch, known in ((6, {}), (7, {BrokerId(2): {where}})):
        event = LeaderAndIsrAnswered(BrokerId(2), failed, controller_epoch=epoch)
        stage.run(script_for(stage.context, event))
        assert stage.context.offline_dirs == known


def test_an_answer_from_an_earlier_registration_of_the_broker_counts_for_nothing() -> None:
    stage = Stage()
    where = stage.add("t-0", [1, 2])
    failed = {where: ErrorCode.KAFKA_STORAGE_ERROR}
    for registered_as, known in ((11, {}), (12, {BrokerId(2): {where}})):
        event = LeaderAndIsrAnswered(BrokerId(2), failed, broker_epoch=registered_as)
        stage.run(script_for(stage.context, event))
        assert stage.context.offline_dirs == known


def test_a_deletion_counts_only_for_the_registration_that_it_was_ordered_of() -> None:
    stage = Stage()
    where = stage.add("t-0", [2])
    stage.deletions = {"t"}
    stage.run(on_deletions_requested(stage.context))
    for registered_as, known in ((11, {"t"}), (12, set[str]())):
        deleted = {where: ErrorCode.NONE}
        event = ReplicasDeleted(BrokerId(2), deleted, broker_epoch=registered_as)
        stage.run(script_for(stage.context, event))
        assert stage.context.topics == known
