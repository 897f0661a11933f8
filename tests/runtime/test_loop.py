"""The loop: one event at a time, and what it does when things go wrong."""

from __future__ import annotations

import threading

import pytest

from kedge.controller.events import (
    BrokersChanged,
    ElectionRequested,
    ElectionType,
    IsrChangeRequested,
    ProducerIdsRequested,
    ReassignmentRequested,
    ReassignmentsListed,
    ShutdownRequested,
    TopicsChanged,
)
from kedge.controller.settings import Settings
from kedge.controller.states import PartitionState
from kedge.errors import Unavailable
from kedge.model import BrokerId, TopicPartition
from kedge.model.broker_requests import LeaderAndIsr, StopReplica
from kedge.model.error_codes import ErrorCode
from kedge.runtime.event_queue import QUEUED_REQUESTS_MAX
from kedge.runtime.loop import Loop
from kedge.runtime.thread import LoopThread
from kedge.store.memory import MemoryStore
from kedge.store.port import Create, Delete, Multi, SetData
from kedge.store.znodes import (
    CONTROLLER,
    CONTROLLER_EPOCH,
    REASSIGN_PARTITIONS,
    ControllerClaim,
    encode_controller,
    encode_controller_epoch,
    encode_reassignments,
)
from tests.runtime.lab import Lab

T0 = TopicPartition("t", 0)


def test_a_created_topic_gets_a_leader_and_an_id() -> None:
    lab = Lab()
    lab.create("t", [1, 2], [2, 3])
    lab.settle()
    stored = lab.stored(T0)
    assert stored is not None
    assert (stored.leader, stored.isr) == (1, (1, 2))
    assert lab.loop.context.topic_ids == {"t": "AAAAAAAAQACAAAAAAAAAAQ"}


def test_a_topic_id_that_a_command_line_would_take_for_an_option_is_drawn_again() -> None:
    lab = Lab()
    lab.drawn = [b"\xfb" * 16, b"\x01" * 16]
    lab.create("t", [1, 2])
    lab.settle()
    assert lab.loop.context.topic_ids == {"t": "AQEBAQEBQQGBAQEBAQEBAQ"}


def test_a_lost_leader_is_replaced_and_the_survivors_are_told() -> None:
    lab = Lab()
    lab.create("t", [1, 2, 3])
    lab.settle()
    lab.recorder.sent.clear()
    lab.stop(1)
    lab.settle()
    stored = lab.stored(T0)
    assert stored is not None
    assert (stored.leader, stored.isr, stored.leader_epoch) == (2, (2, 3), 1)
    assert {r.to for r in lab.recorder.sent if isinstance(r, LeaderAndIsr)} == {2, 3}


def test_a_deleted_topic_leaves_nothing_behind() -> None:
    lab = Lab()
    lab.create("t", [1, 2])
    lab.settle()
    lab.delete("t")
    lab.settle()
    assert lab.assignments("t") is None
    assert lab.read("/admin/delete_topics/t") is None
    assert lab.loop.context.topics == set()


def test_a_deletion_waits_for_a_dead_broker() -> None:
    lab = Lab()
    lab.create("t", [1, 2])
    lab.settle()
    lab.stop(2)
    lab.settle()
    lab.delete("t")
    lab.settle()
    assert lab.loop.context.topics_ineligible_for_deletion == {"t"}
    lab.start(2)
    lab.settle()
    assert lab.assignments("t") is None


def test_a_broker_that_fails_to_delete_holds_the_topic_up() -> None:
    lab = Lab()
    lab.create("t", [1, 2])
    lab.settle()
    lab.recorder.answer(BrokerId(2), StopReplica, ErrorCode.KAFKA_STORAGE_ERROR)
    lab.delete("t")
    lab.settle()
    assert lab.assignments("t") is not None
    assert lab.loop.context.topics_ineligible_for_deletion == {"t"}


def test_deletion_switched_off_drops_the_order() -> None:
    lab = Lab(settings=Settings(delete_topics=False))
    lab.create("t", [1])
    lab.settle()
    lab.delete("t")
    lab.settle()
    assert lab.read("/admin/delete_topics/t") is None
    assert lab.stored(T0) is not None


def test_a_failed_log_dir_moves_leadership() -> None:
    lab = Lab()
    lab.create("t", [1, 2])
    lab.settle()
    lab.recorder.answer(BrokerId(1), LeaderAndIsr, ErrorCode.KAFKA_STORAGE_ERROR, {T0})
    note = b'{"version":1,"broker":1,"event":1}'
    path = "/log_dir_event_notification/log_dir_event_"
    lab.admin.batch([Create(path, note, sequential=True)])
    lab.settle()
    stored = lab.stored(T0)
    assert stored is not None
    assert (stored.leader, stored.isr) == (2, (2,))


def test_a_controlled_shutdown_moves_what_can_be_moved() -> None:
    lab = Lab()
    lab.create("t", [1, 2], [2, 1], [1])
    lab.settle()
    epoch = lab.loop.context.registered[BrokerId(1)].epoch
    answer = lab.ask(ShutdownRequested(BrokerId(1), epoch))
    assert (answer.error, answer.remaining) == (ErrorCode.NONE, ())
    leaders = [lab.loop.context.leaderships[TopicPartition("t", p)].leader for p in range(3)]
    assert leaders == [2, 2, 1]


def test_elections_are_answered_one_by_one() -> None:
    lab = Lab()
    lab.create("t", [1, 2], [1, 2])
    lab.settle()
    lab.stop(1)
    lab.settle()
    lab.start(1)
    lab.settle()
    lab.alter_isr(T0, [2, 1])
    t1, unknown = TopicPartition("t", 1), TopicPartition("x", 0)
    asked = ElectionRequested(frozenset({T0, t1, unknown}), ElectionType.PREFERRED)
    assert lab.ask(asked) == {
        T0: ErrorCode.NONE,
        t1: ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
        unknown: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert lab.ask(ElectionRequested(frozenset({T0}), ElectionType.PREFERRED)) == {
        T0: ErrorCode.ELECTION_NOT_NEEDED
    }


def test_leaders_are_rebalanced_when_the_clock_says_so() -> None:
    lab = Lab(settings=Settings(imbalance_check_seconds=60))
    lab.create("t", [1, 2])
    lab.settle()
    lab.stop(1)
    lab.settle()
    lab.start(1)
    lab.settle()
    lab.alter_isr(T0, [2, 1])
    assert lab.loop.context.leaderships[T0].leader == 2
    lab.now_ms = 5_000
    lab.settle()
    assert lab.loop.context.leaderships[T0].leader == 1
    assert lab.loop.rebalance_due_ms == 65_000


def test_producer_ids_are_given_in_blocks() -> None:
    lab = Lab()
    epoch = lab.loop.context.registered[BrokerId(2)].epoch
    assert lab.ask(ProducerIdsRequested(BrokerId(2), epoch)) == (0, 1000)
    assert lab.ask(ProducerIdsRequested(BrokerId(2), epoch)) == (1000, 1000)
    assert lab.ask(ProducerIdsRequested(BrokerId(2), 1)) is ErrorCode.STALE_BROKER_EPOCH
    assert lab.ask(ProducerIdsRequested(BrokerId(9), 1)) is ErrorCode.BROKER_ID_NOT_REGISTERED


def test_a_recreated_plan_is_noticed_although_the_old_one_was_edited_and_removed() -> None:
    lab = Lab()
    lab.create("t", [1, 2])
    lab.settle()
    plan = encode_reassignments({T0: [BrokerId(1), BrokerId(9)]})
    lab.admin.batch([Create(REASSIGN_PARTITIONS, plan)])
    lab.settle()
    lab.admin.batch([SetData(REASSIGN_PARTITIONS, plan)])
    lab.settle()
    lab.admin.batch([Delete(REASSIGN_PARTITIONS)])
    lab.settle()
    again = encode_reassignments({T0: [BrokerId(2), BrokerId(1)]})
    lab.admin.batch([Create(REASSIGN_PARTITIONS, again)])
    lab.settle()
    assert lab.loop.context.replicas(T0) == (2, 1)


# ---- the role ------------------------------------------------------------------------------------


def steal(lab: Lab) -> None:
    claim = Create(CONTROLLER, encode_controller(ControllerClaim(BrokerId(5), 0)), ephemeral=True)
    raised = SetData(CONTROLLER_EPOCH, encode_controller_epoch(9))
    lab.admin.batch([Multi((Delete(CONTROLLER), claim, raised))])


def test_a_replaced_controller_resigns_and_refuses() -> None:
    lab = Lab()
    lab.create("t", [1])
    lab.settle()
    steal(lab)
    lab.settle()
    assert not lab.loop.context.active
    assert lab.loop.context.assignments == {}
    asked = frozenset({T0})
    election = ElectionRequested(asked, ElectionType.PREFERRED)
    assert lab.ask(election) == {T0: ErrorCode.NOT_CONTROLLER}
    assert lab.ask(ReassignmentsListed()) is ErrorCode.NOT_CONTROLLER
    assert lab.ask(ReassignmentRequested({})) is ErrorCode.NOT_CONTROLLER
    assert lab.ask(IsrChangeRequested(BrokerId(1), 0, {})).error is ErrorCode.NOT_CONTROLLER
    shutdown = lab.ask(ShutdownRequested(BrokerId(1)))
    assert shutdown.error is ErrorCode.STALE_CONTROLLER_EPOCH


def test_a_zombie_that_has_not_heard_writes_nothing() -> None:
    lab = Lab()
    lab.create("t", [1, 2])
    lab.settle()
    before = lab.stored(T0)
    lab.loop.put(BrokersChanged())
    steal(lab)
    lab.stop(1)
    lab.settle()
    assert lab.stored(T0) == before
    assert not lab.loop.context.active


def test_the_next_controller_takes_over_with_the_next_epoch() -> None:
    lab = Lab()
    lab.create("t", [1, 2])
    lab.settle()
    lab.loop.close()
    lab.stop(1)
    lab.elect(101)
    assert lab.loop.context.epoch == 2
    stored = lab.stored(T0)
    # once without the dead replica, once with its new leader
    assert stored is not None
    assert (stored.leader, stored.leader_epoch, stored.controller_epoch) == (2, 2, 2)


def test_a_lost_session_is_followed_by_a_new_election() -> None:
    lab = Lab()
    lab.create("t", [1, 2])
    lab.settle()
    answers: list[object] = []
    lab.loop.put(ReassignmentsListed(), answers.append)
    lab.store.expire()
    assert answers == [ErrorCode.NOT_CONTROLLER]
    lab.settle()
    assert lab.loop.context.active
    assert lab.loop.context.epoch == 2
    assert lab.loop.context.partition_state(T0) is PartitionState.ONLINE


def test_leaders_whose_requests_are_preempted_get_no_answer() -> None:
    lab = Lab()
    answers: list[object] = []
    lab.loop.put(IsrChangeRequested(BrokerId(1), 0, {}), answers.append)
    lab.store.expire()
    lab.settle()
    assert answers == []
    assert lab.loop.metrics.preempted == 1


@pytest.mark.parametrize("after", range(12))
def test_a_connection_that_breaks_anywhere_ends_in_a_fresh_start(after: int) -> None:
    lab = Lab()
    lab.create("t", [1, 2], [2, 3])
    lab.settle()
    lab.stop(1)
    lab.store.disconnect_during_next_batch(after=after % 3)
    for _ in range(after // 3):
        lab.loop.step()
    lab.settle()
    lab.store.reconnect()
    lab.settle()
    assert lab.loop.context.active
    stored = lab.stored(T0)
    assert stored is not None
    assert stored.leader == 2


def test_a_claim_whose_answer_was_lost_is_won_anew() -> None:
    lab = Lab()
    lab.create("t", [1])
    lab.settle()
    lab.store.expire()
    lab.loop.step()
    lab.loop._recover()
    lab.store.disconnect_during_next_batch(after=9)
    lab.settle()
    lab.store.reconnect()
    lab.settle()
    assert lab.loop.context.active
    assert lab.loop.context.partition_state(T0) is PartitionState.ONLINE


# ---- the queue -----------------------------------------------------------------------------------


def test_a_look_again_that_waits_is_not_queued_twice() -> None:
    lab = Lab()
    for _ in range(3):
        lab.loop.put(TopicsChanged())
        lab.loop.put(BrokersChanged())
    assert lab.loop.run_until_idle() == 2


def test_too_many_callers_are_turned_away() -> None:
    lab = Lab()
    for _ in range(QUEUED_REQUESTS_MAX):
        lab.loop.put(ReassignmentsListed())
    with pytest.raises(Unavailable, match="busy"):
        lab.loop.put(ReassignmentsListed())
    lab.settle()
    assert lab.ask(ReassignmentsListed()) == {}


def test_an_unexpected_error_is_noted_and_the_next_event_is_taken() -> None:
    lab = Lab()
    lab.loop.put(ReassignmentRequested({T0: ("no id",)}))  # pyright: ignore[reportArgumentType]
    lab.create("t", [1])
    lab.settle()
    assert any(entry.severity == "error" for entry in lab.log)
    assert lab.loop.metrics.events["ReassignmentRequested"].failures == 1
    assert lab.stored(T0) is not None


def test_events_are_counted_with_their_times() -> None:
    lab = Lab()
    lab.loop.put(TopicsChanged())
    lab.now_ms = 30
    lab.settle()
    timing = lab.loop.metrics.events["TopicsChanged"]
    assert (timing.count, timing.waited_ms, timing.failures) == (1, 30, 0)


def test_state_changes_are_noted_with_their_details() -> None:
    lab = Lab()
    lab.create("t", [1, 9])
    lab.settle()
    moved = [e.details for e in lab.log if e.details.get("state") == "OnlinePartition"]
    assert moved == [{"state": "OnlinePartition", "partitions": [T0]}]


def test_the_loop_runs_on_a_thread_of_its_own() -> None:
    lab = Lab()
    lab.loop.close()
    answered = threading.Event()
    loop = Loop(BrokerId(101), MemoryStore(lab.ensemble), lab.recorder, now_ms=lambda: 0)
    with LoopThread(loop) as thread:
        thread.put(ReassignmentsListed(), lambda _: answered.set())
        assert answered.wait(10)
        assert loop.context.epoch == 2
    assert lab.read(CONTROLLER) is None


def test_a_leader_whose_change_is_fenced_off_is_told_of_an_error_and_not_of_success() -> None:
    lab = Lab()
    lab.create("t", [1, 2])
    lab.settle()
    lab.admin.batch([SetData(CONTROLLER_EPOCH, encode_controller_epoch(9))])
    assert lab.alter_isr(T0, [1]).error is ErrorCode.UNKNOWN_SERVER_ERROR
    stored = lab.stored(T0)
    assert stored is not None
    assert stored.isr == (1, 2)
