"""What effects mean in the store's tree."""

from __future__ import annotations

import pytest

from kedge.controller.effects import (
    CreateLeaderships,
    DeleteTopic,
    InitialiseFeatures,
    ReadLeaderships,
    ReadUncleanAllowed,
    StoreAssignment,
    WriteLeaderships,
)
from kedge.errors import ControllerMoved
from kedge.model import BrokerId, Leadership, Recovery, TopicPartition
from kedge.runtime.controller_role import claim_role
from kedge.store.port import Children, Create, GetChildren, SetData
from kedge.store.znodes import (
    CONTROLLER_EPOCH,
    FEATURE,
    decode_features,
    encode_controller_epoch,
    partition_path,
    partitions_path,
    state_path,
    topic_config_path,
    topic_path,
)
from tests.runtime.lab import Lab

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
ONE = Leadership(BrokerId(1), (BrokerId(1),))


def lab_with_topic() -> Lab:
    lab = Lab()
    lab.create("t", [1, 2], [2, 1])
    lab.settle()
    return lab


def test_a_stale_write_is_an_answer_and_a_vanished_record_a_failure() -> None:
    lab = lab_with_topic()
    execute = lab.loop.executor.execute
    now = execute(ReadLeaderships([T0, T1]))
    lab.admin.batch([SetData(state_path(T1), b"{}")])
    gone = TopicPartition("t", 7)
    outcome = execute(WriteLeaderships({T0: now[T0], T1: now[T1], gone: ONE}, 1))
    assert outcome.stored[T0].partition_epoch == 1
    assert (outcome.stale, list(outcome.failed)) == ([T1], [gone])


def test_a_record_that_cannot_be_read_counts_as_none() -> None:
    lab = lab_with_topic()
    lab.admin.batch([SetData(state_path(T1), b"not json")])
    assert list(lab.loop.executor.execute(ReadLeaderships([T0, T1]))) == [T0]


def test_the_mark_of_an_unclean_leader_is_read_back() -> None:
    lab = lab_with_topic()
    marked = Leadership(BrokerId(1), (BrokerId(1),), 3, 0, 1, Recovery.RECOVERING)
    lab.loop.executor.execute(WriteLeaderships({T0: marked}, 1))
    assert lab.loop.executor.execute(ReadLeaderships([T0]))[T0].recovery is Recovery.RECOVERING


def test_a_first_leadership_fits_beside_a_partition_node_that_is_there() -> None:
    lab = Lab()
    lab.admin.batch(
        [Create(topic_path("t")), Create(partitions_path("t")), Create(partition_path(T0))]
    )
    outcome = lab.loop.executor.execute(CreateLeaderships({T0: ONE, T1: ONE}, 1))
    assert set(outcome.stored) == {T0, T1}
    again = lab.loop.executor.execute(CreateLeaderships({T0: ONE}, 1))
    assert list(again.failed) == [T0]


def test_without_a_topic_there_is_no_first_leadership() -> None:
    outcome = Lab().loop.executor.execute(CreateLeaderships({T0: ONE}, 1))
    assert list(outcome.failed) == [T0]


def test_a_fenced_controller_writes_nothing() -> None:
    lab = lab_with_topic()
    before = lab.stored(T0)
    lab.admin.batch([SetData(CONTROLLER_EPOCH, encode_controller_epoch(9))])
    with pytest.raises(ControllerMoved):
        lab.loop.executor.execute(WriteLeaderships({T0: ONE}, 1))
    assert lab.stored(T0) == before
    lab.loop.executor.leave_role()
    with pytest.raises(ControllerMoved):
        lab.loop.executor.execute(DeleteTopic("t"))


def test_an_assignment_of_a_topic_that_is_gone_is_not_stored() -> None:
    assert Lab().loop.executor.execute(StoreAssignment("t", None, {})) is False


def test_a_topic_is_deleted_with_everything_below_it() -> None:
    lab = lab_with_topic()
    lab.admin.batch([Create(topic_path("t") + "/stranger")])
    lab.loop.executor.execute(DeleteTopic("t"))
    (answer,) = lab.admin.batch([GetChildren("/brokers/topics")])
    assert answer == Children(())


@pytest.mark.parametrize(
    ("config", "allowed"),
    [
        (b'{"version":1,"config":{"unclean.leader.election.enable":"true"}}', True),
        (b'{"version":1,"config":{"unclean.leader.election.enable":"FALSE "}}', False),
        (b'{"version":1,"config":{"unclean.leader.election.enable":"perhaps"}}', None),
        (b'{"version":1,"config":{}}', True),
        (b"not json", None),
    ],
)
def test_a_topic_says_whether_unclean_leaders_are_allowed(
    config: bytes, allowed: bool | None
) -> None:
    lab = lab_with_topic()
    lab.admin.batch([Create(topic_config_path("t"), config)])
    asked = ReadUncleanAllowed(["t", "other"], default=True)
    assert lab.loop.executor.execute(asked) == {"t": allowed, "other": True}


def test_features_are_switched_by_the_protocol_and_levels_kept_while_enabled() -> None:
    lab = Lab()
    node = lab.read(FEATURE)
    assert node is not None
    assert decode_features(node.data).enabled
    levels = b'{"features":{"f":{"max_version_level":2}},"version":2,"status":1}'
    lab.admin.batch([SetData(FEATURE, levels)])
    lab.loop.executor.execute(InitialiseFeatures(enabled=True, version=2))
    node = lab.read(FEATURE)
    assert node is not None
    assert decode_features(node.data).levels == {"f": 2}
    lab.loop.executor.execute(InitialiseFeatures(enabled=False, version=1))
    node = lab.read(FEATURE)
    assert node is not None
    assert not decode_features(node.data).enabled


def test_a_role_that_is_held_cannot_be_claimed_by_another() -> None:
    lab = Lab()
    lab.store.listen(lambda _: None)
    with pytest.raises(ControllerMoved):
        claim_role(lab.loop.executor.store, BrokerId(101), 0)
    assert lab.loop.context.epoch == 1
