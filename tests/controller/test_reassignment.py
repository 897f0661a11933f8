"""Moving a partition, step by step, and stopped at every step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kedge.controller.deletion import on_deletions_requested, on_replicas_deleted
from kedge.controller.effects import (
    DeleteTopic,
    Effect,
    ReadLeaderships,
    Send,
    StoreAssignment,
    WriteLeaderships,
)
from kedge.controller.events import ReassignmentRequested, ReplicasDeleted
from kedge.controller.failover import remove_all_non_replica_isr_members
from kedge.controller.reassignment import (
    list_reassignments,
    maybe_complete,
    on_reassignment_planned,
    on_reassignment_requested,
    resume_moves,
)
from kedge.controller.settings import Ibp
from kedge.controller.states import PartitionState, ReplicaState
from kedge.model import NO_LEADER, BrokerId, Leadership, ReplicaAssignment, TopicPartition
from kedge.model.broker_requests import LeaderAndIsr
from kedge.model.error_codes import ErrorCode
from tests.controller.stage import Crashed, Stage, brokers, tp


def order(stage: Stage, where: TopicPartition, *target: int) -> ErrorCode:
    event = ReassignmentRequested({where: brokers(*target)})
    return stage.run(on_reassignment_requested(stage.context, event))[where]


def catch_up(stage: Stage, where: TopicPartition, *isr: int) -> None:
    """The leader has taken replicas into the ISR."""
    now = stage.stored[where]
    grown = Leadership(
        now.leader, brokers(*isr), now.leader_epoch, now.partition_epoch + 1, now.controller_epoch
    )
    stage.stored[where] = grown
    stage.context.set_leadership(where, grown)


def test_as_kafka_three_brokers_move_to_three_others_as_the_table_says() -> None:
    stage = Stage(registered=range(1, 7), safer=False)
    where = stage.add("t-0", [1, 2, 3])
    assert order(stage, where, 4, 5, 6) is ErrorCode.NONE
    assert stage.topics["t"][where] == ReplicaAssignment(
        brokers(4, 5, 6, 1, 2, 3), brokers(4, 5, 6), brokers(1, 2, 3)
    )
    assert (stage.stored[where].leader, stage.stored[where].leader_epoch) == (1, 1)
    first = [(b, "t-0", 1, 1, b > 3) for b in range(1, 7)]
    assert stage.told_to_lead() == first + [(b, "t-0", 1, 1, True) for b in (4, 5, 6)]

    stage.sent.clear()
    catch_up(stage, where, 1, 2, 3, 4, 5, 6)
    stage.run(maybe_complete(stage.context, where))
    done = stage.stored[where]
    assert (done.leader, done.leader_epoch, done.isr) == (4, 5, (4, 5, 6))
    assert stage.topics["t"][where] == ReplicaAssignment(brokers(4, 5, 6))
    assert [(b, e) for b, _, e, delete in stage.told_to_stop() if delete] == [
        (1, 5),
        (2, 5),
        (3, 5),
    ]
    assert not stage.context.being_reassigned
    # the old leader learns from StopReplica alone
    assert {b for b, *_ in stage.told_to_lead()} == {4, 5, 6}


def test_a_change_of_order_completes_at_once_and_keeps_the_leader() -> None:
    stage = Stage()
    where = stage.add("t-0", [1, 2, 3])
    assert order(stage, where, 3, 1, 2) is ErrorCode.NONE
    assert stage.context.assignment(where) == ReplicaAssignment(brokers(3, 1, 2))
    assert (stage.stored[where].leader, stage.stored[where].leader_epoch) == (1, 1)
    assert not stage.context.being_reassigned


def test_the_same_list_again_is_not_refused_and_raises_the_epoch() -> None:
    stage = Stage()
    where = stage.add("t-0", [1, 2])
    assert order(stage, where, 1, 2) is ErrorCode.NONE
    assert stage.stored[where].leader_epoch == 1


def test_a_plain_removal_of_a_replica_in_sync_is_one_event() -> None:
    stage = Stage()
    where = stage.add("t-0", [1, 2, 3])
    assert order(stage, where, 2, 3) is ErrorCode.NONE
    now = stage.stored[where]
    # one write moves the leader and leaves the old one behind
    assert (now.leader, now.isr, now.leader_epoch) == (2, (2, 3), 1)
    assert stage.told_to_stop() == [(1, "t-0", 1, False), (1, "t-0", 1, True)]


def test_a_raised_epoch_leaves_strangers_out_of_the_isr() -> None:
    stage = Stage(registered=(1, 2, 3, 4))
    where = stage.add("t-0", [1, 2], isr=[1, 2, 4])
    order(stage, where, 3, 1)
    assert stage.stored[where].isr == (1, 2)


def test_at_a_failover_strangers_are_expelled() -> None:
    stage = Stage(registered=(1, 2, 4))
    where = stage.add("t-0", [1, 2], isr=[1, 4])
    stage.run(remove_all_non_replica_isr_members(stage.context))
    assert stage.stored[where].isr == (1,)
    assert (4, "t-0", 1, True) in stage.told_to_stop()


def test_an_override_stops_what_the_new_plan_does_not_know() -> None:
    stage = Stage(registered=range(1, 6))
    where = stage.add("t-0", [1, 2])
    order(stage, where, 3, 4)
    assert order(stage, where, 5, 2) is ErrorCode.NONE
    assert stage.context.assignment(where) == ReplicaAssignment(
        brokers(5, 2, 1), brokers(5), brokers(1)
    )
    assert {(b, delete) for b, _, _, delete in stage.told_to_stop()} == {
        (3, False),
        (4, False),
        (3, True),
        (4, True),
    }


def test_a_cancel_goes_back_to_the_origin() -> None:
    stage = Stage(registered=range(1, 5))
    where = stage.add("t-0", [1, 2])
    order(stage, where, 3, 4)
    catch_up(stage, where, 1, 2, 3)
    event = ReassignmentRequested({where: None})
    assert stage.run(on_reassignment_requested(stage.context, event)) == {where: ErrorCode.NONE}
    now = stage.stored[where]
    assert stage.topics["t"][where] == ReplicaAssignment(brokers(1, 2))
    assert (now.leader, now.isr) == (1, (1, 2))
    assert not stage.context.being_reassigned


def test_a_cancel_that_would_delete_all_data_is_refused() -> None:
    stage = Stage(registered=(3,))
    where = stage.add("t-0", [3, 1], adding=[3], removing=[1], leader=3, isr=[3])
    event = ReassignmentRequested({where: None})
    outcomes = stage.run(on_reassignment_requested(stage.context, event))
    assert outcomes == {where: ErrorCode.INVALID_REPLICA_ASSIGNMENT}
    assert stage.sent == []
    assert not any(isinstance(e, StoreAssignment) for e in stage.effects)


def test_without_the_guard_kedge_does_as_kafka_does() -> None:
    stage = Stage(registered=(3,), safer=False)
    where = stage.add("t-0", [3, 1], adding=[3], removing=[1], leader=3, isr=[3])
    event = ReassignmentRequested({where: None})
    assert stage.run(on_reassignment_requested(stage.context, event)) == {where: ErrorCode.NONE}
    assert (3, "t-0", True) in {(b, p, delete) for b, p, _, delete in stage.told_to_stop()}
    assert stage.stored[where].leader == -1


@pytest.mark.parametrize(
    ("target", "code"),
    [
        ((), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ((1, 1), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ((-1, 2), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ((1, 9), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ((8, 1), ErrorCode.NONE),  # dead, but there already
    ],
)
def test_a_target_must_be_a_list_of_live_brokers(target: tuple[int, ...], code: ErrorCode) -> None:
    stage = Stage()
    where = stage.add("t-0", [1, 8], isr=[1])
    assert order(stage, where, *target) is code


def test_unknown_partitions_and_idle_cancels_get_their_own_answers() -> None:
    stage = Stage()
    idle = stage.add("t-0", [1])
    unknown = tp("x-0")
    event = ReassignmentRequested({idle: None, unknown: brokers(1)})
    assert stage.run(on_reassignment_requested(stage.context, event)) == {
        idle: ErrorCode.NO_REASSIGNMENT_IN_PROGRESS,
        unknown: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }


def test_a_stored_plan_loses_the_entries_that_cannot_be_started() -> None:
    stage = Stage()
    where = stage.add("t-0", [1, 2])
    stage.plan = {where: brokers(1, 3), tp("x-0"): brokers(1)}
    started = stage.run(on_reassignment_planned(stage.context))
    assert started == {where}
    assert stage.plan == {where: brokers(1, 3)}


def test_the_newest_order_wins_over_a_stored_plan() -> None:
    stage = Stage()
    where = stage.add("t-0", [1, 2])
    stage.plan = {where: brokers(1, 3)}
    order(stage, where, 2, 3)
    assert stage.plan is None


def test_an_empty_target_in_a_stored_plan_deletes_nothing() -> None:
    stage = Stage()
    where = stage.add("t-0", [1, 2])
    stage.plan = {where: ()}
    assert stage.run(on_reassignment_planned(stage.context)) == set()
    assert (stage.plan, stage.told_to_stop()) == (None, [])


def test_only_moves_in_progress_are_listed() -> None:
    stage = Stage()
    moving = stage.add("t-0", [3, 1], adding=[3], removing=[1], isr=[1])
    idle = stage.add("t-1", [1])
    assert list(list_reassignments(stage.context, None)) == [moving]
    assert list(list_reassignments(stage.context, [idle, tp("x-0")])) == []


def test_a_completion_that_dies_at_any_step_is_finished_by_the_next_controller() -> None:
    steps = 0
    for steps in range(1, 200):
        stage = ready_to_complete()
        try:
            stage.run(maybe_complete(stage.context, tp()), crash_after=steps)
        except Crashed:
            after = successor(stage)
            after.run(resume_moves(after.context, lambda *_: True))
            stage = after
            finished = False
        else:
            finished = True
        assert stage.topics["t"][tp()] == ReplicaAssignment(brokers(3, 4))
        now = stage.stored[tp()]
        assert now.leader in now.isr
        assert set(now.isr) == {3, 4}
        if finished:
            break
    assert steps > 10


def ready_to_complete() -> Stage:
    stage = Stage(registered=range(1, 5))
    stage.add(
        "t-0", [3, 4, 1, 2], adding=[3, 4], removing=[1, 2], leader=1, isr=[1, 2, 3, 4], epoch=1
    )
    return stage


def successor(stage: Stage) -> Stage:
    """A controller that knows only what is stored."""
    after = Stage(registered=range(1, 5))
    after.context.epoch = 8
    stored = stage.topics["t"][tp()]
    now = stage.stored[tp()]
    after.add(
        "t-0",
        stored.replicas,
        adding=stored.adding,
        removing=stored.removing,
        leader=now.leader,
        isr=now.isr,
    )
    after.stored[tp()] = now
    after.context.set_leadership(tp(), now)
    assert after.context.replica_state(BrokerId(3), tp()) is ReplicaState.ONLINE
    return after


def test_replicas_that_leave_are_out_of_the_isr_before_the_leader_knows() -> None:
    stage = Stage()
    where = stage.add("t-0", [1, 3, 2], adding=[3], removing=[2], isr=[1, 2, 3])
    stage.run(maybe_complete(stage.context, where))
    told = [r.partitions[where] for r in stage.sent if isinstance(r, LeaderAndIsr)]
    knowing = [entry.leadership for entry in told if entry.assignment.replicas == (1, 3)]
    assert knowing
    assert all(2 not in leadership.isr for leadership in knowing)
    assert stage.topics["t"][where] == ReplicaAssignment(brokers(1, 3))


# ---- leaders that write ISRs themselves (IBP below 2.7) act between any two effects ----


class SelfWriting(Stage):
    """A stage on which the leader writes an ISR once, after the first effect of a kind."""

    def __init__(self, numbers: range, **settings: Any) -> None:
        super().__init__(numbers, ibp=Ibp.parse("2.6"), **settings)
        self.leader_writes: Callable[[], None] | None = None
        self.after: type[Any] = object

    def answer(self, effect: Effect) -> Any:
        answer = super().answer(effect)
        if self.leader_writes is not None and isinstance(effect, self.after):
            write, self.leader_writes = self.leader_writes, None
            write()
        return answer

    def write_isr_after(self, kind: type[Any], where: TopicPartition, *isr: int) -> None:
        self.after = kind

        def write() -> None:
            self.stored[where] = with_isr(self.stored[where], *isr)
            self.stale_once.add(where)

        self.leader_writes = write


def with_isr(now: Leadership, *isr: int) -> Leadership:
    return now._replace(isr=brokers(*isr), partition_epoch=now.partition_epoch + 1)


def cancel(stage: Stage, where: TopicPartition) -> ErrorCode:
    event = ReassignmentRequested({where: None})
    return stage.run(on_reassignment_requested(stage.context, event))[where]


def overridden(*, safer: bool = True) -> SelfWriting:
    """The replica of the second target is in sync before phase A: it was named to its broker, and
    to the leader, when the replica of the first target was dropped."""
    stage = SelfWriting(range(1, 5), safer=safer)
    where = stage.add("t-0", [3, 1, 2], adding=[3], removing=[2], leader=1, isr=[1, 2])
    stage.write_isr_after(Send, where, 1, 2, 4)
    assert order(stage, where, 4, 1) is ErrorCode.NONE
    assert stage.topics["t"][where] == ReplicaAssignment(brokers(4, 1))
    return stage


def test_a_replica_that_is_in_sync_before_phase_a_exists() -> None:
    stage = overridden()
    assert stage.context.replica_state(BrokerId(4), tp()) is ReplicaState.ONLINE


def test_as_kafka_a_replica_that_is_in_sync_before_phase_a_never_exists() -> None:
    stage = overridden(safer=False)
    assert stage.context.replica_state(BrokerId(4), tp()) is ReplicaState.NON_EXISTENT


def test_a_topic_whose_replica_was_in_sync_before_phase_a_can_be_deleted() -> None:
    stage = overridden()
    stage.deletions = {"t"}
    stage.run(on_deletions_requested(stage.context))
    for broker in brokers(1, 4):
        answered = ReplicasDeleted(broker, {tp(): ErrorCode.NONE})
        stage.run(on_replicas_deleted(stage.context, answered))
    assert DeleteTopic("t") in stage.effects


def never_led(*, safer: bool = True) -> tuple[Stage, TopicPartition]:
    stage = Stage(registered=(2, 3), safer=safer)
    where = stage.add("t-0", [1])
    del stage.context.leaderships[where], stage.stored[where]
    stage.context.set_partition_state(where, PartitionState.NEW)
    return stage, where


def test_a_partition_that_never_had_a_leader_gets_one_by_its_move() -> None:
    stage, where = never_led()
    assert order(stage, where, 2, 3) is ErrorCode.NONE
    assert stage.topics["t"][where] == ReplicaAssignment(brokers(2, 3))
    assert (stage.stored[where].leader, stage.stored[where].isr) == (2, brokers(2, 3))
    for broker in brokers(2, 3):
        assert stage.context.replica_state(broker, where) is ReplicaState.ONLINE


def test_as_kafka_a_partition_that_never_had_a_leader_cannot_move() -> None:
    stage, where = never_led(safer=False)
    assert order(stage, where, 2, 3) is ErrorCode.UNKNOWN_SERVER_ERROR
    assert stage.context.assignment(where).adding == brokers(2, 3)
    assert stage.context.replica_state(BrokerId(2), where) is ReplicaState.NON_EXISTENT


def test_added_replicas_exist_although_none_can_lead_yet() -> None:
    stage, where = never_led()
    stage.context.remove_brokers(brokers(2, 3))
    stage.plan = {where: brokers(2, 3)}
    stage.run(on_reassignment_planned(stage.context))
    assert stage.context.assignment(where).adding == brokers(2, 3)
    assert stage.context.replica_state(BrokerId(2), where) is ReplicaState.NEW


def moving_from_1_to_3(isr: list[int]) -> tuple[SelfWriting, TopicPartition]:
    stage = SelfWriting(range(1, 4))
    where = stage.add("t-0", [3, 2, 1], adding=[3, 2], removing=[1], leader=3, isr=isr)
    return stage, where


def test_a_cancel_is_judged_by_the_stored_isr() -> None:
    stage, where = moving_from_1_to_3([3, 1])
    stage.stored[where] = with_isr(stage.stored[where], 3)
    assert cancel(stage, where) is ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert stage.told_to_stop() == []
    assert stage.topics["t"][where].in_progress


def test_an_isr_that_shrinks_after_the_read_is_judged_again() -> None:
    stage, where = moving_from_1_to_3([3, 1])
    stage.write_isr_after(ReadLeaderships, where, 3)
    assert cancel(stage, where) is ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert stage.told_to_stop() == []
    assert (stage.stored[where].leader, stage.stored[where].isr) == (3, brokers(3))


def test_a_leader_that_goes_is_replaced_before_its_replica_is_dropped() -> None:
    stage, where = moving_from_1_to_3([3, 2, 1])
    assert cancel(stage, where) is ErrorCode.NONE
    writes = [e for e in stage.effects if isinstance(e, WriteLeaderships | StoreAssignment)]
    first = writes[0]
    assert isinstance(first, WriteLeaderships)
    assert (first.wanted[where].leader, first.wanted[where].isr) == (1, brokers(1))
    assert stage.stored[where].leader == 1
    assert {b for b, _, _, delete in stage.told_to_stop() if delete} == {2, 3}


@pytest.mark.parametrize("ibp", ["2.6", "3.9"])
def test_a_partition_whose_staying_replica_is_down_is_offline_until_it_is_back(ibp: str) -> None:
    stage = Stage(ibp=Ibp.parse(ibp))
    where = stage.add("t-0", [3, 1], adding=[3], removing=[1], leader=3, isr=[3, 1])
    stage.context.remove_brokers(brokers(1))
    assert cancel(stage, where) is ErrorCode.NONE
    assert (stage.stored[where].leader, stage.stored[where].isr) == (NO_LEADER, brokers(1))
    assert stage.context.partition_state(where) is PartitionState.OFFLINE


def test_where_leaders_ask_the_controller_the_known_isr_stays_as_it_is() -> None:
    stage = Stage()
    where = stage.add("t-0", [3, 1], adding=[3], removing=[1], leader=3, isr=[3, 1])
    assert cancel(stage, where) is ErrorCode.NONE
    first = next(e for e in stage.effects if isinstance(e, WriteLeaderships | StoreAssignment))
    assert isinstance(first, StoreAssignment)
    assert stage.stored[where].isr == brokers(1)


def test_a_completion_waits_when_the_target_has_left_the_isr_meanwhile() -> None:
    stage = SelfWriting(range(1, 4))
    where = stage.add("t-0", [2, 1], adding=[2], removing=[1], leader=1, isr=[1, 2])
    stage.write_isr_after(ReadLeaderships, where, 1)
    stage.run(resume_moves(stage.context, lambda *_: True))
    assert stage.told_to_stop() == []
    assert stage.context.assignment(where) == stage.topics["t"][where]
    assert list(list_reassignments(stage.context, None)) == [where]

    stage.stored[where] = with_isr(stage.stored[where], 1, 2)
    stage.run(maybe_complete(stage.context, where))
    assert stage.topics["t"][where] == ReplicaAssignment(brokers(2))
    assert (stage.stored[where].leader, stage.stored[where].isr) == (2, brokers(2))
