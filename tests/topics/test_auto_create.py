from __future__ import annotations

import pytest

from kedge.errors import InvalidReplicationFactor, InvalidTopic, UnknownTopicOrPartition
from kedge.topics import (
    AutoCreate,
    CreateRequest,
    Defaults,
    InternalTopic,
    automatic_request,
    validate_auto_create,
    validate_create,
)
from tests.topics.clusters import topic, view, zero

CLUSTER = view({"there": topic([0])})


def test_an_ordinary_topic_gets_the_defaults_and_no_configs() -> None:
    request = automatic_request("t", AutoCreate(), Defaults(6, 2))
    assert request == CreateRequest("t", 6, 2)


def test_the_internal_topics_have_configs_of_their_own() -> None:
    assert automatic_request("__consumer_offsets", AutoCreate()) == CreateRequest(
        "__consumer_offsets",
        50,
        3,
        configs={
            "cleanup.policy": "compact",
            "compression.type": "producer",
            "segment.bytes": "104857600",
        },
    )
    assert automatic_request("__transaction_state", AutoCreate()) == CreateRequest(
        "__transaction_state",
        50,
        3,
        configs={
            "cleanup.policy": "compact",
            "compression.type": "uncompressed",
            "segment.bytes": "104857600",
            "min.insync.replicas": "2",
            "unclean.leader.election.enable": "false",
        },
    )


@pytest.mark.parametrize("name", ["__consumer_offsets", "__transaction_state"])
def test_an_unknown_topic_can_be_created(name: str) -> None:
    made = validate_create(automatic_request(name, AutoCreate()), CLUSTER, draw=zero)
    assert (made.partitions, made.replication_factor) == (50, 3)


def test_the_replication_factor_is_not_lowered_for_a_small_cluster() -> None:
    request = automatic_request("__consumer_offsets", AutoCreate())
    with pytest.raises(InvalidReplicationFactor):
        validate_create(request, view(count=2), draw=zero)


def test_settings_shape_the_internal_topics() -> None:
    settings = AutoCreate(offsets=InternalTopic(partitions=4, replication_factor=1))
    request = validate_auto_create("__consumer_offsets", CLUSTER, settings)
    assert request is not None
    assert (request.partitions, request.replication_factor) == (4, 1)


def test_a_topic_that_is_there_needs_nothing() -> None:
    off = AutoCreate(enabled=False)
    assert validate_auto_create("there", CLUSTER, off, client_allows=False) is None


@pytest.mark.parametrize(
    ("enabled", "client_allows", "all_topics", "created"),
    [
        (True, True, False, True),
        (False, True, False, False),
        (True, False, False, False),
        (True, True, True, False),
    ],
)
def test_both_sides_must_agree(
    enabled: bool, client_allows: bool, all_topics: bool, created: bool
) -> None:
    settings = AutoCreate(enabled=enabled)

    def ask() -> CreateRequest | None:
        return validate_auto_create(
            "t", CLUSTER, settings, client_allows=client_allows, all_topics=all_topics
        )

    if created:
        assert ask() == CreateRequest("t", 1, 1)
    else:
        with pytest.raises(UnknownTopicOrPartition):
            ask()


def test_a_coordinators_topic_needs_no_permission() -> None:
    off = AutoCreate(enabled=False)
    assert validate_auto_create("__consumer_offsets", CLUSTER, off, for_coordinator=True)


def test_an_invalid_name_is_reported_first() -> None:
    for settings in (AutoCreate(), AutoCreate(enabled=False)):
        with pytest.raises(InvalidTopic):
            validate_auto_create("a b", CLUSTER, settings, in_flight=["a b"])


def test_a_topic_in_the_making_is_not_made_twice() -> None:
    with pytest.raises(UnknownTopicOrPartition, match="being created"):
        validate_auto_create("t", CLUSTER, AutoCreate(), in_flight={"t"})
