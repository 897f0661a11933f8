from __future__ import annotations

from dataclasses import replace

import pytest

from kedge.errors import (
    DuplicateInRequest,
    TopicDeletionDisabled,
    UnknownTopicId,
    UnknownTopicOrPartition,
)
from kedge.topics import DeleteRequest, Marked, TopicId, validate_delete, validate_deletes
from tests.topics.clusters import topic, view

ID, OTHER = TopicId("MAvZHmeBQY2hOtHSHckptA"), TopicId("x" * 22)
CLUSTER = replace(
    view({"a": topic([0]), "b": topic([1]), "hidden": topic([2])}),
    topic_ids={ID: "a"},
    unseen=frozenset({"hidden"}),
)


def test_by_name_and_by_id() -> None:
    assert validate_delete(DeleteRequest("a"), CLUSTER) == Marked("a")
    assert validate_delete(DeleteRequest(topic_id=ID), CLUSTER) == Marked("a")


def test_a_topic_already_marked_is_marked_again() -> None:
    again = replace(CLUSTER, marked=frozenset({"a"}))
    assert validate_delete(DeleteRequest("a"), again) == Marked("a")


def test_what_clients_do_not_see_cannot_be_deleted() -> None:
    for name in ("absent", "hidden"):
        with pytest.raises(UnknownTopicOrPartition, match=name):
            validate_delete(DeleteRequest(name), CLUSTER)
    with pytest.raises(UnknownTopicId, match=OTHER):
        validate_delete(DeleteRequest(topic_id=OTHER), CLUSTER)


def test_deletion_may_be_switched_off_for_all() -> None:
    off = replace(CLUSTER, deletion_enabled=False)
    for request in (DeleteRequest("a"), DeleteRequest("absent")):
        with pytest.raises(TopicDeletionDisabled):
            validate_deletes([request], off)


@pytest.mark.parametrize("request_", [DeleteRequest(), DeleteRequest("a", ID)])
def test_a_name_or_an_id_and_not_both(request_: DeleteRequest) -> None:
    with pytest.raises(DuplicateInRequest):
        validate_delete(request_, CLUSTER)
    with pytest.raises(DuplicateInRequest):
        validate_deletes([DeleteRequest("b"), request_], CLUSTER)


def test_a_batch_answers_each_and_sees_through_ids() -> None:
    requests = [DeleteRequest("a"), DeleteRequest(topic_id=ID), DeleteRequest("b")]
    answers = validate_deletes([*requests, DeleteRequest("absent")], CLUSTER)
    assert [type(answer).__name__ for answer in answers] == [
        "DuplicateInRequest",
        "DuplicateInRequest",
        "Marked",
        "UnknownTopicOrPartition",
    ]
