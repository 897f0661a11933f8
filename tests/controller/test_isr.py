"""ISR changes that leaders ask for: who is refused, and in which order the reasons count."""

from __future__ import annotations

from typing import Any

import pytest

from kedge.controller.effects import Reply, Send
from kedge.controller.events import IsrChangeRequested, RequestedIsr
from kedge.controller.isr import IsrAnswer, on_isr_change_requested
from kedge.model import BrokerId, Leadership, Recovery, TopicPartition
from kedge.model.error_codes import ErrorCode
from tests.controller.stage import Stage, brokers, tp


def stage_at_five() -> Stage:
    """t-0 on 1, 2, 3, led by 1 at leader epoch 4 and partition epoch 5."""
    stage = Stage()
    where = stage.add("t-0", [1, 2, 3])
    now = Leadership(BrokerId(1), brokers(1, 2, 3), 4, 5, 7)
    stage.stored[where] = now
    stage.context.set_leadership(where, now)
    stage.context.set_topic_id("t", "id-of-t")
    return stage


def ask(stage: Stage, **wish: Any) -> IsrAnswer:
    wanted = RequestedIsr(
        brokers(*wish.get("isr", (1, 2))),
        wish.get("leader_epoch", 4),
        wish.get("partition_epoch", 5),
        wish.get("recovery", Recovery.RECOVERED),
    )
    sender, version = BrokerId(wish.get("sender", 1)), wish.get("version", 3)
    topic = wish.get("topic", "id-of-t" if version > 1 else "t")
    epoch = wish.get("broker_epoch", 10 + sender)
    event = IsrChangeRequested(sender, epoch, {topic: {0: wanted}}, version)
    return stage.run(on_isr_change_requested(stage.context, event))


@pytest.mark.parametrize(
    ("wish", "code"),
    [
        ({"leader_epoch": 5}, ErrorCode.NOT_CONTROLLER),
        ({"partition_epoch": 6}, ErrorCode.NOT_CONTROLLER),
        ({"leader_epoch": 3}, ErrorCode.FENCED_LEADER_EPOCH),
        ({"leader_epoch": 3, "partition_epoch": 4}, ErrorCode.FENCED_LEADER_EPOCH),
        ({"partition_epoch": 4}, ErrorCode.INVALID_UPDATE_VERSION),
        ({"recovery": Recovery.RECOVERING}, ErrorCode.INVALID_REQUEST),
        ({"recovery": Recovery.RECOVERING, "isr": (1,)}, ErrorCode.INVALID_REQUEST),
        ({"isr": (1, 9)}, ErrorCode.INELIGIBLE_REPLICA),
        ({"isr": (1, 9), "version": 1}, ErrorCode.OPERATION_NOT_ATTEMPTED),
    ],
)
def test_a_wish_is_refused_for_the_first_reason(wish: dict[str, Any], code: ErrorCode) -> None:
    stage = stage_at_five()
    before = stage.stored[tp()]
    answer = ask(stage, **wish)
    assert (answer.errors, answer.stored) == ({tp(): code}, {})
    assert stage.stored[tp()] == before
    # everyone hears of the partition, even so
    assert stage.metadata_sent_to() == [1, 2, 3]


def test_a_broker_that_leaves_cannot_join_an_isr() -> None:
    stage = stage_at_five()
    stage.context.begin_shutdown(BrokerId(2))
    assert ask(stage).errors == {tp(): ErrorCode.INELIGIBLE_REPLICA}


@pytest.mark.parametrize("wrong", [{"broker_epoch": 10}, {"sender": 9}])
def test_a_stale_sender_is_refused_as_a_whole(wrong: dict[str, int]) -> None:
    stage = stage_at_five()
    assert ask(stage, **wrong) == IsrAnswer(ErrorCode.STALE_BROKER_EPOCH)
    assert stage.sent == []


def test_an_unknown_topic_id_is_answered_by_that_id() -> None:
    answer = ask(stage_at_five(), topic="nobody's")
    assert answer.errors == {TopicPartition("nobody's", 0): ErrorCode.UNKNOWN_TOPIC_ID}


def test_what_is_already_so_is_success_even_with_an_older_partition_epoch() -> None:
    stage = stage_at_five()
    answer = ask(stage, isr=(1, 2, 3), partition_epoch=2)
    assert answer.stored == {tp(): stage.stored[tp()]}
    assert stage.stored[tp()].partition_epoch == 5


def test_a_granted_wish_is_stored_with_the_sender_as_leader_and_the_epoch_untouched() -> None:
    stage = stage_at_five()
    answer = ask(stage, isr=(2, 3), sender=2)
    assert answer.stored == {tp(): Leadership(BrokerId(2), brokers(2, 3), 4, 6, 7)}


def test_a_write_in_between_is_told_to_the_leader() -> None:
    stage = stage_at_five()
    stage.stale_once.add(tp())
    assert ask(stage).errors == {tp(): ErrorCode.INVALID_UPDATE_VERSION}


def test_the_leader_is_answered_before_its_move_is_completed() -> None:
    stage = Stage()
    where = stage.add("t-0", [3, 1], adding=[3], removing=[1], leader=1, isr=[1])
    stage.context.set_topic_id("t", "id-of-t")
    ask(stage, isr=(1, 3), leader_epoch=0, partition_epoch=0)
    kinds = [type(e) for e in stage.effects if isinstance(e, Reply | Send)]
    assert kinds.index(Reply) == 1
    assert len(kinds) > 2
    assert stage.context.replicas(where) == brokers(3)


def test_a_leader_that_counts_a_stranger_in_is_set_right() -> None:
    stage = Stage(registered=(1, 2, 3, 4))
    where = stage.add("t-0", [1, 2], epoch=3)
    stage.context.set_topic_id("t", "id-of-t")
    answer = ask(stage, isr=(1, 2, 4), leader_epoch=3, partition_epoch=0)
    assert answer.errors == {where: ErrorCode.INELIGIBLE_REPLICA}
    assert stage.stored[where].isr == (1, 2)
    assert stage.stored[where].leader_epoch == 4
    assert (4, "t-0", True) in {(b, p, delete) for b, p, _, delete in stage.told_to_stop()}


def test_as_kafka_a_stranger_is_let_in() -> None:
    stage = Stage(registered=(1, 2, 3, 4), safer=False)
    where = stage.add("t-0", [1, 2], epoch=3)
    stage.context.set_topic_id("t", "id-of-t")
    assert ask(stage, isr=(1, 2, 4), leader_epoch=3, partition_epoch=0).errors == {}
    assert stage.stored[where].isr == (1, 2, 4)
