"""Deleting topics that something else is going on with."""

from __future__ import annotations

from kedge.controller.deletion import begin, finish, queue
from tests.controller.stage import Stage, brokers, tp


def moving_topic(*, safer: bool = True) -> Stage:
    stage = Stage(safer=safer)
    stage.add("t-0", [3, 1, 2], adding=[3], removing=[2], isr=[1, 2])
    stage.add("u-0", [3, 1], adding=[3], isr=[1])
    return stage


def test_a_topic_on_its_way_out_moves_no_more() -> None:
    stage = moving_topic()
    queue(stage.context, {"t"})
    assert stage.context.being_reassigned == {tp("u-0")}


def test_as_kafka_the_move_goes_on() -> None:
    stage = moving_topic(safer=False)
    queue(stage.context, {"t"})
    assert stage.context.being_reassigned == {tp("t-0"), tp("u-0")}


def test_after_a_failover_a_move_does_not_hold_a_deletion_up() -> None:
    stage = moving_topic()
    stage.deletions = {"t"}
    stage.run(begin(stage.context))
    assert stage.context.topics_to_be_deleted == {"t"}
    assert stage.context.topics_ineligible_for_deletion == set()


def test_the_plan_forgets_a_topic_that_is_gone() -> None:
    stage = Stage()
    stage.add("t-0", [1, 2])
    stage.plan = {tp("t-0"): brokers(3), tp("u-0"): brokers(1)}
    stage.run(finish(stage.context, "t"))
    assert stage.plan == {tp("u-0"): brokers(1)}
