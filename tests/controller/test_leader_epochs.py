"""Leaders that count brokers in that hold no replica: who gives way, and whose copy is kept."""

from __future__ import annotations

import pytest

from kedge.controller.events import IsrChangeRequested, RequestedIsr
from kedge.controller.isr import on_isr_change_requested
from kedge.controller.leader_epochs import bump_epoch, remove_non_replica_isr_members
from kedge.model import NO_LEADER, BrokerId, Recovery, TopicPartition
from tests.controller.stage import Stage, brokers


def expelled(stage: Stage, where: TopicPartition) -> Stage:
    stage.run(remove_non_replica_isr_members(stage.context, where, stage.stored[where].isr))
    return stage


def deleted(stage: Stage) -> list[int]:
    return [broker for broker, _, _, delete in stage.told_to_stop() if delete]


def test_a_leader_among_its_replicas_only_lets_the_stranger_go() -> None:
    stage = Stage()
    where = stage.add("t-0", [1, 2], leader=1, isr=[1, 2, 3])
    now = expelled(stage, where).stored[where]
    assert (now.leader, now.isr) == (1, brokers(1, 2))
    assert deleted(stage) == [3]


def test_a_leader_without_a_replica_gives_way_to_one_that_is_in_sync() -> None:
    stage = Stage()
    where = stage.add("t-0", [1, 2], leader=3, isr=[3, 2])
    now = expelled(stage, where).stored[where]
    assert (now.leader, now.isr) == (2, brokers(2))
    assert deleted(stage) == [3]


def test_where_no_member_can_lead_yet_nobody_does() -> None:
    stage = Stage(registered=[2, 3])
    where = stage.add("t-0", [1, 2], leader=3, isr=[3, 1])
    now = expelled(stage, where).stored[where]
    assert (now.leader, now.isr) == (NO_LEADER, brokers(1))
    assert deleted(stage) == [3]


@pytest.mark.parametrize("unclean", [False, True])
def test_the_only_copy_is_kept_and_copied_from(unclean: bool) -> None:
    stage = Stage(unclean_elections=unclean)
    where = stage.add("t-0", [1, 2], leader=3, isr=[3])
    now = expelled(stage, where).stored[where]
    assert (now.leader, now.isr, now.leader_epoch) == (3, brokers(3), 1)
    assert stage.told_to_stop() == []
    assert {broker for broker, *_ in stage.told_to_lead()} == {1, 2, 3}


def test_the_first_replica_to_be_in_sync_lets_the_stranger_go() -> None:
    stage = Stage()
    where = stage.add("t-0", [1, 2], leader=3, isr=[3])
    stage.context.set_topic_id("t", "id-of-t")
    wanted = RequestedIsr(brokers(3, 2), 0, 0, Recovery.RECOVERED)
    asked = IsrChangeRequested(BrokerId(3), 13, {"id-of-t": {0: wanted}}, 3)
    answer = stage.run(on_isr_change_requested(stage.context, asked))
    assert answer.errors == {}
    now = stage.stored[where]
    assert (now.leader, now.isr) == (2, brokers(2))
    assert deleted(stage) == [3]


def test_as_kafka_does_it_the_isr_stays_as_it_is() -> None:
    stage = Stage(safer=False)
    where = stage.add("t-0", [1, 2], leader=3, isr=[3, 2])
    stage.run(bump_epoch(stage.context, where, stage.context.assignment(where)))
    now = stage.stored[where]
    assert (now.leader, now.isr, now.leader_epoch) == (3, brokers(3, 2), 1)
