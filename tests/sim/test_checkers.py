"""Every rule fires when it is broken: a checker that never does proves nothing."""

import pytest

from kedge.errors import InvariantViolated
from kedge.model import BrokerId, Leadership, ReplicaAssignment, TopicPartition
from kedge.model.broker_requests import Sender, UpdateMetadata
from kedge.sim.checked_cluster import ClusterShape
from kedge.sim.cluster_under_test import ClusterUnderTest
from kedge.sim.controller_machine import controller_node
from kedge.store.port import ANY_VERSION, Create, Delete, Multi, SetData
from kedge.store.znodes import (
    CONTROLLER,
    CONTROLLER_EPOCH,
    ControllerClaim,
    TopicAssignment,
    encode_controller,
    encode_controller_epoch,
    encode_state,
    encode_topic,
    partition_path,
    partitions_path,
    state_path,
    topic_path,
)

TP = TopicPartition("t", 0)
GOOD = Leadership(BrokerId(1), (BrokerId(1), BrokerId(2)), leader_epoch=3, controller_epoch=5)


def ids(*numbers: int) -> tuple[BrokerId, ...]:
    return tuple(map(BrokerId, numbers))


class Scene:
    """A cluster in which nothing runs, and one partition on brokers 1, 2 and 3."""

    def __init__(self) -> None:
        self.cluster = ClusterUnderTest(1, ClusterShape(brokers=4, controllers=2))
        self.store = self.cluster.new_session()
        self.write(Create(topic_path("t"), self.topic(ReplicaAssignment(ids(1, 2, 3)))))
        self.write(Create(partitions_path("t")))
        self.write(Create(partition_path(TP)))
        self.write(Create(state_path(TP), encode_state(GOOD)))

    @staticmethod
    def topic(now: ReplicaAssignment, topic_id: str | None = None) -> bytes:
        return encode_topic(TopicAssignment({0: now}, topic_id))

    def write(self, write: Create | SetData | Delete | Multi, who: str = "test") -> None:
        self.cluster.batch(who, self.store, [write])

    def write_state(self, state: Leadership) -> None:
        self.write(SetData(state_path(TP), encode_state(state), ANY_VERSION))

    def claim(self, controller: int, epoch: int) -> None:
        claim = encode_controller(ControllerClaim(BrokerId(controller), 0))
        node = controller_node(BrokerId(controller))
        if epoch == 1:
            self.write(Create(CONTROLLER_EPOCH, encode_controller_epoch(0)), node)
        raised = SetData(CONTROLLER_EPOCH, encode_controller_epoch(epoch))
        self.write(Multi((Create(CONTROLLER, claim), raised)), node)


def test_a_good_change_of_leadership_breaks_nothing() -> None:
    scene = Scene()
    scene.write_state(GOOD._replace(leader=BrokerId(2), isr=ids(2), leader_epoch=4))
    scene.write_state(GOOD._replace(leader=BrokerId(-1), isr=ids(2), leader_epoch=5))
    assert scene.cluster.checkers.violation is None


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (GOOD._replace(leader=BrokerId(3), leader_epoch=4), "is not in its ISR"),
        (GOOD._replace(isr=ids(1, 4)), r"took \[4\] into its ISR"),
        (GOOD._replace(isr=ids(1, 1)), "twice"),
        (GOOD._replace(leader=BrokerId(-1), isr=()), "empty ISR"),
        (GOOD._replace(leader_epoch=2), "leader_epoch decreased"),
        (GOOD._replace(controller_epoch=4), "controller_epoch decreased"),
        (GOOD._replace(leader=BrokerId(2)), "within the leader epoch 3"),
        (
            GOOD._replace(leader=BrokerId(3), isr=ids(3), leader_epoch=4),
            "elected from outside the ISR",
        ),
    ],
)
def test_a_bad_leadership_is_noticed(bad: Leadership, words: str) -> None:
    scene = Scene()
    with pytest.raises(InvariantViolated, match=words):
        scene.write_state(bad)
    assert scene.cluster.checkers.violation is not None


def test_an_unclean_election_is_allowed_where_the_topic_allows_it() -> None:
    scene = Scene()
    scene.cluster.checkers.exempt_topic("t")
    scene.write_state(GOOD._replace(leader=BrokerId(3), isr=ids(3), leader_epoch=4))


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (ReplicaAssignment(()), "no replicas"),
        (ReplicaAssignment(ids(1, 1)), "twice"),
        (ReplicaAssignment(ids(1, 2), adding=ids(4)), "adding"),
        (ReplicaAssignment(ids(1, 2), removing=ids(4)), "removing"),
        (ReplicaAssignment(ids(1, 2), removing=ids(1, 2)), "left without replicas"),
    ],
)
def test_a_bad_assignment_is_noticed(bad: ReplicaAssignment, words: str) -> None:
    scene = Scene()
    with pytest.raises(InvariantViolated, match=words):
        scene.write(SetData(topic_path("t"), scene.topic(bad)))


def test_a_topic_keeps_its_id() -> None:
    scene = Scene()
    now = ReplicaAssignment(ids(1, 2, 3))
    scene.write(SetData(topic_path("t"), scene.topic(now, "AAAAAAAAAAAAAAAAAAAAAQ")))
    with pytest.raises(InvariantViolated, match="another id"):
        scene.write(SetData(topic_path("t"), scene.topic(now, "AAAAAAAAAAAAAAAAAAAAAg")))


def test_a_topic_cannot_go_while_a_replica_is_there() -> None:
    scene = Scene()
    scene.cluster.machines[BrokerId(2)].disks.create(TP, "")
    for path in (state_path(TP), partition_path(TP), partitions_path("t")):
        scene.write(Delete(path))
    with pytest.raises(InvariantViolated, match="broker 2 still has t-0"):
        scene.write(Delete(topic_path("t")))


def test_an_in_sync_replica_without_an_acknowledged_record_is_noticed() -> None:
    scene = Scene()
    for broker in ids(1, 2):
        scene.cluster.machines[broker].disks.create(TP, "").append_new(77, 3, 1)
    checkers = scene.cluster.checkers
    checkers.record_acked(TP, 0, 77)
    checkers.check_changed()
    log = scene.cluster.machines[BrokerId(2)].disks.find(TP)
    assert log is not None
    log.truncate(0)
    with pytest.raises(InvariantViolated, match="record 77 at offset 0 is lost on broker 2"):
        checkers.check_changed()


def test_two_records_cannot_be_acknowledged_at_one_offset() -> None:
    checkers = Scene().cluster.checkers
    checkers.record_acked(TP, 4, 77)
    with pytest.raises(InvariantViolated, match="where record 77 was before"):
        checkers.record_acked(TP, 4, 78)


def test_a_leader_that_was_replaced_may_acknowledge_what_its_successor_has() -> None:
    scene = Scene()
    for broker in ids(1, 2):
        log = scene.cluster.machines[broker].disks.create(TP, "")
        log.append_new(77, 3, 1)
        log.append_new(78, 4, 1)
    checkers = scene.cluster.checkers
    for offset, identity in ((1, 78), (0, 77)):
        checkers.record_acked(TP, offset, identity)
        checkers.check_changed()


def test_a_late_acknowledgement_of_what_the_successor_lacks_is_noticed() -> None:
    scene = Scene()
    for broker in ids(1, 2):
        log = scene.cluster.machines[broker].disks.create(TP, "")
        log.append_new(76, 4, 1)
        log.append_new(78, 4, 1)
    checkers = scene.cluster.checkers
    checkers.record_acked(TP, 1, 78)
    checkers.check_changed()
    checkers.record_acked(TP, 0, 77)
    with pytest.raises(InvariantViolated, match="record 77 at offset 0 is lost on broker 1"):
        checkers.check_changed()


def test_a_controller_of_an_earlier_epoch_cannot_write() -> None:
    scene = Scene()
    scene.claim(1001, 1)
    scene.write(Delete(CONTROLLER))
    scene.claim(1002, 2)
    with pytest.raises(InvariantViolated, match="controller 1001 wrote /x in epoch 2 of 1002"):
        scene.write(Create("/x"), controller_node(BrokerId(1001)))
    scene.write(Create("/y"), controller_node(BrokerId(1002)))


def test_the_controller_epoch_rises_by_one() -> None:
    scene = Scene()
    scene.claim(1001, 1)
    scene.write(Delete(CONTROLLER))
    with pytest.raises(InvariantViolated, match="went from 1 to 3"):
        scene.claim(1002, 3)


def test_a_controller_speaks_only_in_its_own_epoch() -> None:
    scene = Scene()
    scene.claim(1001, 1)
    request = UpdateMetadata(BrokerId(1), 8, Sender(BrokerId(1002), 1, 0), {}, {}, ())
    scene.cluster.checkers.request_sent(BrokerId(1001), request)
    with pytest.raises(InvariantViolated, match="1002 sent to broker 1 in epoch 1 of 1001"):
        scene.cluster.checkers.request_sent(BrokerId(1002), request)
