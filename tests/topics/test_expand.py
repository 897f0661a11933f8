from __future__ import annotations

from dataclasses import replace

import pytest

from kedge.errors import (
    InconsistentRacks,
    InvalidPartitions,
    InvalidReplicaAssignment,
    InvalidReplicationFactor,
    InvalidTopic,
    KedgeError,
    MissingPartitionZero,
    ReassignmentInProgress,
    UnknownTopicOrPartition,
)
from kedge.model import ReplicaAssignment
from kedge.topics import (
    ClusterView,
    ExpandRequest,
    NewPartitions,
    validate_expand,
    validate_expands,
)
from tests.topics.clusters import brokers, ids, topic, view

MOVING = {0: ReplicaAssignment(ids(0, 1), adding=ids(1))}


def cluster() -> ClusterView:
    three = topic([0, 1], [1, 2], [2, 0])
    topics = {"t": three, "going": MOVING, "moving": MOVING, "wide": topic([0, 1, 2, 3])}
    gap = {1: ReplicaAssignment(ids(0))}
    return replace(view({**topics, "gap": gap}), marked=frozenset({"going"}))


def test_new_partitions_follow_the_model_of_partition_0() -> None:
    answer = validate_expand(ExpandRequest("t", 5), cluster())
    assert answer == NewPartitions("t", {3: ids(0, 2), 4: ids(1, 0)})


def test_lists_count_from_the_partitions_that_are_there() -> None:
    answer = validate_expand(ExpandRequest("t", 5, [ids(2, 1), ids(1, 0)]), cluster())
    assert answer.added == {3: ids(2, 1), 4: ids(1, 0)}


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (ExpandRequest("going", 0), InvalidTopic),
        (ExpandRequest("moving", 0), ReassignmentInProgress),
        (ExpandRequest("absent", 0), UnknownTopicOrPartition),
        (ExpandRequest("t", 2, [ids(9)]), InvalidPartitions),
        (ExpandRequest("t", 3, [ids(9)]), InvalidPartitions),
        (ExpandRequest("gap", 2, [ids(9)]), InvalidReplicaAssignment),
        (ExpandRequest("gap", 2, [ids(0), ids(1)]), InvalidReplicaAssignment),
        (ExpandRequest("gap", 2), MissingPartitionZero),
        (ExpandRequest("t", 4, []), InvalidReplicaAssignment),
        (ExpandRequest("t", 4, [ids()]), InvalidReplicaAssignment),
        (ExpandRequest("t", 4, [ids(1, 1)]), InvalidReplicaAssignment),
        (ExpandRequest("t", 4, [ids(1)]), InvalidReplicaAssignment),
        (ExpandRequest("wide", 2), InvalidReplicationFactor),
    ],
)
def test_refusals_in_order(request_: ExpandRequest, error: type[KedgeError]) -> None:
    with pytest.raises(KedgeError) as refusal:
        validate_expand(request_, cluster())
    assert type(refusal.value) is error


def test_fewer_and_equal_counts_have_different_errors() -> None:
    with pytest.raises(InvalidPartitions, match="fewer"):
        validate_expand(ExpandRequest("t", 2), cluster())
    with pytest.raises(InvalidPartitions, match="already"):
        validate_expand(ExpandRequest("t", 3), cluster())


def test_mixed_racks_refuse_the_whole_batch_even_lists() -> None:
    mixed = replace(cluster(), brokers=brokers("a", None, "b"))
    requests = [ExpandRequest("t", 4, [ids(0, 1)]), ExpandRequest("absent", 1)]
    answers = validate_expands(requests, mixed)
    assert [type(answer) for answer in answers] == [InconsistentRacks] * 2


def test_a_batch_answers_each_and_refuses_what_is_named_twice() -> None:
    requests = [ExpandRequest(name, 4) for name in ("t", "moving", "wide", "wide")]
    answers = validate_expands(requests, cluster())
    assert [type(answer).__name__ for answer in answers] == [
        "NewPartitions",
        "ReassignmentInProgress",
        "DuplicateInRequest",
        "DuplicateInRequest",
    ]
