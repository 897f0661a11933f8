"""The partition and replica machines."""

from __future__ import annotations

import pytest

from kedge.controller.effects import RecordPartitions, RecordReplicas
from kedge.controller.leader_election import Strategy
from kedge.controller.partitions import ElectionRule, bring_online, mark_partitions, try_online
from kedge.controller.replicas import move_replicas
from kedge.controller.states import (
    PARTITION_MAY_COME_FROM,
    REPLICA_MAY_COME_FROM,
    PartitionState,
    ReplicaState,
)
from kedge.errors import ControllerMoved
from kedge.model import BrokerId, Leadership, Recovery, ReplicaAssignment
from tests.controller.stage import Stage, brokers, tp


def test_every_state_can_be_left_and_reached() -> None:
    for table in (PARTITION_MAY_COME_FROM, REPLICA_MAY_COME_FROM):
        left = {before for allowed in table.values() for before in allowed}
        assert left == set(table)


def test_a_new_partition_is_led_by_its_first_online_replica() -> None:
    stage, where = Stage(registered=(2, 3)), tp()
    stage.context.set_assignment(where, ReplicaAssignment(brokers(1, 3, 2)))
    stage.run(mark_partitions(stage.context, [where], PartitionState.NEW))
    stage.run(bring_online(stage.context, [where], ElectionRule()))
    assert stage.stored[where] == Leadership(BrokerId(3), brokers(3, 2), 0, 0, 7)
    assert stage.told_to_lead() == [(2, "t-0", 3, 0, True), (3, "t-0", 3, 0, True)]


def test_a_new_partition_without_online_replicas_stays_new_and_nobody_is_told() -> None:
    stage, where = Stage(), tp()
    stage.context.set_assignment(where, ReplicaAssignment(brokers(8, 9)))
    stage.run(mark_partitions(stage.context, [where], PartitionState.NEW))
    stage.run(try_online(stage.context))
    assert stage.context.partition_state(where) is PartitionState.NEW
    assert stage.sent == []


def test_an_election_that_loses_against_another_write_is_held_again() -> None:
    stage = Stage(registered=(2, 3))
    where = stage.add("t-0", [1, 2, 3])
    stage.stale_once.add(where)
    results = stage.run(bring_online(stage.context, [where], ElectionRule()))
    assert results.elected[where].leader == 2
    assert stage.stored[where].leader_epoch == 1


def test_a_record_of_a_later_controller_is_not_touched_and_others_go_on() -> None:
    stage = Stage(registered=(2,))
    later, mine = stage.add("t-0", [1, 2]), stage.add("t-1", [1, 2])
    stage.stored[later] = Leadership(BrokerId(1), brokers(1, 2), 3, 3, controller_epoch=8)
    results = stage.run(bring_online(stage.context, [later, mine], ElectionRule()))
    assert set(results.elected) == {mine}
    assert "epoch 8" in results.failed[later]


@pytest.mark.parametrize(("config", "leader"), [(True, 2), (False, None), (None, None)])
def test_a_topic_decides_about_unclean_leaders(config: bool | None, leader: int | None) -> None:
    stage = Stage(registered=(2,))
    where = stage.add("t-0", [1, 2], isr=[1])
    stage.unclean["t"] = config
    results = stage.run(bring_online(stage.context, [where], ElectionRule()))
    found = results.elected.get(where)
    assert (found and found.leader) == leader
    if found:
        assert found.recovery is Recovery.RECOVERING


def test_an_operator_can_force_an_unclean_leader_but_not_past_a_live_isr() -> None:
    stage = Stage(registered=(2, 3))
    lost = stage.add("t-0", [1, 2], isr=[1])
    # the only member of this ISR is alive, but no longer assigned
    outside = stage.add("t-1", [1, 2], isr=[3])
    rule = ElectionRule(Strategy.OFFLINE, force_unclean=True)
    results = stage.run(bring_online(stage.context, [lost, outside], rule))
    assert set(results.elected) == {lost}


def test_an_illegal_move_is_noted_and_the_others_happen() -> None:
    stage = Stage()
    legal, illegal = stage.add("t-0", [1]), stage.add("t-1", [1])
    stage.context.set_partition_state(illegal, PartitionState.NON_EXISTENT)
    stage.run(mark_partitions(stage.context, [legal, illegal], PartitionState.OFFLINE))
    (noted,) = [e for e in stage.effects if isinstance(e, RecordPartitions)]
    assert (list(noted.moved), list(noted.refused)) == ([legal], [illegal])


def test_a_fenced_write_changes_nothing_we_know() -> None:
    stage = Stage(registered=(2,))
    where = stage.add("t-0", [1, 2])
    before = stage.context.leaderships[where]
    stage.fence_at = 0
    with pytest.raises(ControllerMoved):
        stage.run(bring_online(stage.context, [where], ElectionRule()))
    assert stage.context.leaderships[where] == before
    assert stage.sent == []


# ---- replicas ------------------------------------------------------------------------------------


def test_an_offline_replica_leaves_the_isr_and_the_others_are_told() -> None:
    stage = Stage()
    where = stage.add("t-0", [1, 2, 3], epoch=4)
    stage.run(move_replicas(stage.context, {BrokerId(2): [where]}, ReplicaState.OFFLINE))
    assert stage.stored[where].isr == brokers(1, 3)
    assert stage.told_to_lead() == [(1, "t-0", 1, 5, False), (3, "t-0", 1, 5, False)]
    # the epoch from before the replica left
    assert stage.told_to_stop() == [(2, "t-0", 4, False)]


def test_a_replica_outside_the_isr_writes_nothing_but_refreshes_the_record() -> None:
    stage = Stage()
    where = stage.add("t-0", [1, 2], isr=[1])
    stage.stored[where] = Leadership(BrokerId(1), brokers(1), 0, 0, controller_epoch=3)
    stage.run(move_replicas(stage.context, {BrokerId(2): [where]}, ReplicaState.OFFLINE))
    assert stage.stored[where].controller_epoch == 3
    assert stage.context.leaderships[where].controller_epoch == 7
    assert stage.told_to_lead() == [(1, "t-0", 1, 0, False)]


@pytest.mark.parametrize(("safer", "isr"), [(True, (1,)), (False, (3,))])
def test_the_last_replica_of_an_isr_stays_though_a_broker_without_a_replica_is_in_it(
    safer: bool, isr: tuple[int, ...]
) -> None:
    stage = Stage(safer=safer)
    where = stage.add("t-0", [1], isr=[1, 3])
    stage.run(move_replicas(stage.context, {BrokerId(1): [where]}, ReplicaState.OFFLINE))
    assert (stage.stored[where].leader, stage.stored[where].isr) == (-1, isr)


def test_a_leader_without_a_replica_stays_when_the_last_replica_leaves_the_isr() -> None:
    stage = Stage()
    where = stage.add("t-0", [1], isr=[3, 1], leader=3)
    stage.run(move_replicas(stage.context, {BrokerId(1): [where]}, ReplicaState.OFFLINE))
    assert (stage.stored[where].leader, stage.stored[where].isr) == (3, (3,))


def test_replicas_leaving_together_leave_in_the_order_of_their_ids() -> None:
    stage = Stage()
    where = stage.add("t-0", [3, 2, 1])
    leaving = {b: [where] for b in brokers(3, 1, 2)}
    stage.run(move_replicas(stage.context, leaving, ReplicaState.OFFLINE))
    assert (stage.stored[where].leader, stage.stored[where].isr) == (-1, (3,))
    assert stage.stored[where].leader_epoch == 3


def test_a_leader_cannot_become_a_new_replica() -> None:
    stage = Stage()
    where = stage.add("t-0", [1, 2])
    stage.context.set_replica_state(BrokerId(1), where, ReplicaState.NON_EXISTENT)
    stage.run(move_replicas(stage.context, {BrokerId(1): [where]}, ReplicaState.NEW))
    (noted,) = [e for e in stage.effects if isinstance(e, RecordReplicas)]
    assert noted.refused == {where: "it leads the partition"}
    assert stage.sent == []


def test_a_replica_without_a_stored_leadership_stays_unless_its_topic_is_deleted() -> None:
    stage = Stage()
    where = stage.add("t-0", [1, 2])
    del stage.stored[where]
    stage.run(move_replicas(stage.context, {BrokerId(2): [where]}, ReplicaState.OFFLINE))
    assert stage.context.replica_state(BrokerId(2), where) is ReplicaState.ONLINE


def test_a_new_replica_missing_in_the_assignment_is_appended() -> None:
    stage = Stage()
    where = stage.add("t-0", [1, 2])
    stage.context.set_replica_state(BrokerId(3), where, ReplicaState.NEW)
    everyone = {b: [where] for b in brokers(1, 3)}
    stage.run(move_replicas(stage.context, everyone, ReplicaState.ONLINE))
    assert stage.context.replicas(where) == brokers(1, 2, 3)
    assert stage.told_to_lead() == [(1, "t-0", 1, 0, False)]


def test_a_replica_that_cannot_move_is_known_not_to_exist() -> None:
    stage = Stage()
    where = stage.add("t-0", [1, 2])
    stage.run(move_replicas(stage.context, {BrokerId(3): [where]}, ReplicaState.OFFLINE))
    assert stage.context.replica_states[BrokerId(3)] == {where: ReplicaState.NON_EXISTENT}
