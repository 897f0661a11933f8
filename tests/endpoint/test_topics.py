"""Creating, expanding and deleting topics: checks in Kafka's order, answers when it is done."""

from __future__ import annotations

import time
import uuid
from typing import Any

import pytest

from kedge.endpoint.handlers.call import wire_id
from kedge.errors import PolicyViolation
from kedge.model import BrokerId, TopicPartition
from kedge.model.broker_requests import StopReplica
from kedge.model.error_codes import ErrorCode
from kedge.protocol.messages import (
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    MetadataRequest,
    MetadataResponse,
)
from kedge.store.port import Create
from kedge.store.znodes import decode_config, decode_topic, delete_topic_path, topic_path
from kedge.topics import AutoCreate, Defaults, Limits
from tests.endpoint.client import Client
from tests.endpoint.endpoint_cluster import ClusterSettings, EndpointCluster, endpoint_cluster
from tests.endpoint.requests import Topic, counted, create, create_all, delete, expand, placed


def code_for(client: Client, topic: Topic, **how: Any) -> int:
    (result,) = create_all(client, topic, **how).topics
    return result.error_code


def assignment_of(cluster: EndpointCluster, topic: str) -> dict[int, tuple[BrokerId, ...]]:
    stored = decode_topic(topic, cluster.data(topic_path(topic)))
    return {number: now.replicas for number, now in stored.partitions.items()}


# ---- create --------------------------------------------------------------------------------------


def test_a_created_topic_is_answered_when_all_its_partitions_are_led() -> None:
    with endpoint_cluster() as cluster, Client(cluster.ports[cluster.controller]) as client:
        (topic,) = create_all(client, counted("t", 6, 2, retention__ms="1000")).topics
        assert (topic.error_code, topic.num_partitions, topic.replication_factor) == (0, 6, 2)
        known = cluster.images.cache(cluster.controller).topics["t"]
        assert all(known.has_leader(p) for p in range(6))
        configs = {c.name: c for c in topic.configs or ()}
        assert (configs["retention.ms"].value, configs["retention.ms"].config_source) == ("1000", 1)
        assert (configs["segment.ms"].value, configs["segment.ms"].config_source) == (
            "604800000",
            5,
        )
        stored = decode_topic("t", cluster.data("/brokers/topics/t"))
        assert stored.topic_id == known.topic_id
        assert topic.topic_id == wire_id(known.topic_id)


def test_what_is_written_is_what_kafka_writes() -> None:
    with endpoint_cluster() as cluster, Client(cluster.ports[cluster.controller]) as client:
        create(client, "t", [[2, 1], [3, 2]])
        assert cluster.data("/config/topics/t") == b'{"version":1,"config":{}}'
        assert assignment_of(cluster, "t") == {0: (2, 1), 1: (3, 2)}


@pytest.mark.parametrize(
    ("topic", "code"),
    [
        (counted("there", 1, 1), ErrorCode.TOPIC_ALREADY_EXISTS),
        (counted("n o", 1, 1), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (counted("", 1, 1), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (counted("with.dot", 1, 1), ErrorCode.INVALID_TOPIC_EXCEPTION),  # with_dot is there
        (counted("__cluster_metadata", 1, 1), ErrorCode.INVALID_REQUEST),
        (counted("t", 0, 1), ErrorCode.INVALID_PARTITIONS),
        (counted("t", 1, 4), ErrorCode.INVALID_REPLICATION_FACTOR),
        (counted("n o", 1, 4), ErrorCode.INVALID_REPLICATION_FACTOR),  # placement comes first
        (counted("t", 1, 1, no__such="1"), ErrorCode.INVALID_CONFIG),
        (counted("t", 1, 1, retention__ms="x"), ErrorCode.INVALID_CONFIG),
        (counted("t", 1, 1, retention__ms=None), ErrorCode.INVALID_CONFIG),
        (placed("t", [[1, 1]]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (placed("t", [[1], [1, 2]]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    ],
)
def test_a_topic_that_cannot_be_is_refused_with_kafkas_code(topic: Topic, code: int) -> None:
    with endpoint_cluster() as cluster, Client(cluster.ports[cluster.controller]) as client:
        create(client, "there", [[1]])
        create(client, "with_dot", [[1]])
        assert code_for(client, topic) == code
        assert code_for(client, topic, validate_only=True) == code
        assert set(cluster.children("/brokers/topics")) == {"there", "with_dot"}


def test_counts_and_lists_together_are_refused() -> None:
    with endpoint_cluster() as cluster, Client(cluster.ports[cluster.controller]) as client:
        both = placed("t", [[1]])
        both.num_partitions = 1
        assert code_for(client, both) == ErrorCode.INVALID_REQUEST


def test_a_name_that_comes_twice_is_refused_twice_and_spares_the_others() -> None:
    with endpoint_cluster() as cluster, Client(cluster.ports[cluster.controller]) as client:
        topics = counted("t", 1, 1), counted("u", 1, 1), counted("t", 2, 1)
        answer = create_all(client, *topics)
        found = {t.name: t.error_code for t in answer.topics}
        assert found == {"t": ErrorCode.INVALID_REQUEST, "u": 0}
        assert len(answer.topics) == 3
        assert cluster.children("/brokers/topics") == ("u",)


def test_only_validating_writes_nothing() -> None:
    with endpoint_cluster() as cluster, Client(cluster.ports[cluster.controller]) as client:
        (topic,) = create_all(client, counted("t", 3, 2), validate_only=True).topics
        assert (topic.error_code, topic.num_partitions, topic.topic_id) == (0, 3, None)
        assert cluster.children("/brokers/topics") == ()
        assert cluster.children("/config/topics") == ()


@pytest.mark.parametrize("timeout_ms", [0, -1])
def test_a_request_without_time_is_late_although_the_topic_is_created(timeout_ms: int) -> None:
    with endpoint_cluster() as cluster, Client(cluster.ports[cluster.controller]) as client:
        code = code_for(client, counted("t", 1, 1), timeout_ms=timeout_ms)
        assert code == ErrorCode.REQUEST_TIMED_OUT
        cluster.until(lambda: "t" in cluster.images.cache(cluster.controller).topics)


def test_a_topic_that_no_live_broker_can_lead_times_out() -> None:
    with endpoint_cluster() as cluster, Client(cluster.ports[cluster.controller]) as client:
        began = time.monotonic()
        code = code_for(client, placed("t", [[9]]), timeout_ms=150)
        assert code == ErrorCode.REQUEST_TIMED_OUT
        assert time.monotonic() - began >= 0.15
        assert cluster.children("/brokers/topics") == ("t",)


def test_the_clusters_counts_are_taken_where_none_are_given() -> None:
    settings = ClusterSettings(defaults=Defaults(4, 3))
    with (
        endpoint_cluster(settings=settings) as cluster,
        Client(cluster.ports[cluster.controller]) as client,
    ):
        (topic,) = create_all(client, counted("t", -1, -1)).topics
        assert (topic.num_partitions, topic.replication_factor) == (4, 3)


def test_an_operators_policy_has_the_last_word() -> None:
    settings = ClusterSettings(create_policy=Limits(partitions_max=2))
    with (
        endpoint_cluster(settings=settings) as cluster,
        Client(cluster.ports[cluster.controller]) as client,
    ):
        assert code_for(client, counted("t", 3, 1)) == ErrorCode.POLICY_VIOLATION
        assert code_for(client, counted("t", 2, 1)) == 0


def test_a_policy_sees_what_was_resolved() -> None:
    seen: list[Any] = []

    def refuse(proposal: Any, /) -> None:
        seen.append((proposal.topic, proposal.partitions, proposal.replication_factor))
        raise PolicyViolation("no")

    settings = ClusterSettings(defaults=Defaults(7, 2), create_policy=refuse)
    with (
        endpoint_cluster(settings=settings) as cluster,
        Client(cluster.ports[cluster.controller]) as client,
    ):
        assert code_for(client, counted("t", -1, -1)) == ErrorCode.POLICY_VIOLATION
        assert seen == [("t", 7, 2)]


@pytest.mark.parametrize("version", range(2, 8))
def test_topics_are_created_in_every_version(version: int) -> None:
    with endpoint_cluster() as cluster, Client(cluster.ports[cluster.controller]) as client:
        answer = create_all(client, counted("t", 2, 2), counted("n o", 1, 1), version=version)
        assert [(t.name, t.error_code) for t in answer.topics] == [("t", 0), ("n o", 17)]
        assert answer.topics[1].error_message


# ---- expand --------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(4))
def test_added_partitions_are_led_when_the_answer_comes(version: int) -> None:
    with endpoint_cluster() as cluster, Client(cluster.ports[cluster.controller]) as client:
        create(client, "t", [[1, 2]])
        before = decode_topic("t", cluster.data("/brokers/topics/t")).topic_id
        assert expand(client, ("t", 3, [[2, 3], [3, 1]]), version=version) == {"t": 0}
        known = cluster.images.cache(cluster.controller).topics["t"]
        assert [known.has_leader(p) for p in range(3)] == [True] * 3
        assert assignment_of(cluster, "t") == {0: (1, 2), 1: (2, 3), 2: (3, 1)}
        assert decode_topic("t", cluster.data("/brokers/topics/t")).topic_id == before


def test_partitions_that_cannot_be_added_are_refused_with_kafkas_code() -> None:
    with endpoint_cluster() as cluster, Client(cluster.ports[cluster.controller]) as client:
        create(client, "t", [[1, 2], [2, 3]])
        assert expand(client, ("t", 2, None)) == {"t": ErrorCode.INVALID_PARTITIONS}
        assert expand(client, ("t", 1, None)) == {"t": ErrorCode.INVALID_PARTITIONS}
        assert expand(client, ("x", 1, None)) == {"x": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
        assert expand(client, ("t", 3, [[9, 1]])) == {"t": ErrorCode.INVALID_REPLICA_ASSIGNMENT}
        assert expand(client, ("t", 4, [[1, 2]])) == {"t": ErrorCode.INVALID_REPLICA_ASSIGNMENT}
        twice = ("t", 3, None), ("t", 4, None)
        assert expand(client, *twice) == {"t": ErrorCode.INVALID_REQUEST}
        assert len(assignment_of(cluster, "t")) == 2


def test_validating_an_expansion_adds_nothing() -> None:
    with endpoint_cluster() as cluster, Client(cluster.ports[cluster.controller]) as client:
        create(client, "t", [[1, 2]])
        assert expand(client, ("t", 3, None), validate_only=True) == {"t": 0}
        assert len(assignment_of(cluster, "t")) == 1


def test_an_expansion_without_time_is_made_all_the_same() -> None:
    with endpoint_cluster() as cluster, Client(cluster.ports[cluster.controller]) as client:
        create(client, "t", [[1]])
        assert expand(client, ("t", 2, None), timeout_ms=0) == {"t": ErrorCode.REQUEST_TIMED_OUT}
        tp = TopicPartition("t", 1)
        cluster.until(lambda: cluster.images.cache(cluster.controller).entry(tp) is not None)


def test_a_topic_marked_for_deletion_does_not_grow() -> None:
    with endpoint_cluster() as cluster, Client(cluster.ports[cluster.controller]) as client:
        create(client, "t", [[1, 2]])
        cluster.recorder.stay_silent(BrokerId(2), StopReplica)
        cluster.admin.batch([Create(delete_topic_path("t"))])
        assert expand(client, ("t", 3, None)) == {"t": ErrorCode.INVALID_TOPIC_EXCEPTION}


# ---- delete --------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", range(1, 7))
def test_a_deleted_topic_is_gone_when_the_answer_comes(version: int) -> None:
    with endpoint_cluster() as cluster, Client(cluster.ports[cluster.controller]) as client:
        create(client, "t", [[1, 2]])
        assert delete(client, "t", "x", version=version) == [
            0,
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ]
        assert "t" not in cluster.images.cache(cluster.controller).topics
        cluster.until(lambda: cluster.children("/brokers/topics") == ())
        cluster.until(lambda: cluster.children("/admin/delete_topics") == ())
        assert cluster.children("/config/topics") == ()


def test_a_topic_is_deleted_by_its_id() -> None:
    with endpoint_cluster() as cluster, Client(cluster.ports[cluster.controller]) as client:
        (made,) = create_all(client, counted("t", 1, 1)).topics
        state = DeleteTopicsRequest.DeleteTopicState
        states = [state(topic_id=made.topic_id), state(topic_id=uuid.uuid4())]
        request = DeleteTopicsRequest(topics=states, timeout_ms=10_000)
        answer = client.ask(request, DeleteTopicsResponse)
        found = [(r.name, r.error_code) for r in answer.responses]
        assert found == [("t", 0), (None, ErrorCode.UNKNOWN_TOPIC_ID)]
        assert answer.responses[0].topic_id == made.topic_id


def test_a_topic_named_twice_is_deleted_once() -> None:
    with endpoint_cluster() as cluster, Client(cluster.ports[cluster.controller]) as client:
        create(client, "t", [[1]])
        assert delete(client, "t", "t") == [0, 0]


def test_too_many_partitions_in_one_request_are_not_even_placed() -> None:
    with endpoint_cluster() as cluster, Client(cluster.ports[cluster.controller]) as client:
        create(client, "t", [[1]])
        refused = ErrorCode.POLICY_VIOLATION
        answer = create_all(client, counted("a", 150_000, 1), counted("b", 150_000, 1))
        assert [t.error_code for t in answer.topics] == [refused, refused]
        assert code_for(client, counted("a", 2**31 - 1, 1)) == refused
        assert expand(client, ("t", 2**31 - 1, None)) == {"t": refused}


def test_name_and_id_together_are_refused() -> None:
    with endpoint_cluster() as cluster, Client(cluster.ports[cluster.controller]) as client:
        (made,) = create_all(client, counted("t", 1, 1)).topics
        state = DeleteTopicsRequest.DeleteTopicState(name="t", topic_id=made.topic_id)
        answer = client.ask(DeleteTopicsRequest(topics=[state]), DeleteTopicsResponse)
        assert [r.error_code for r in answer.responses] == [ErrorCode.INVALID_REQUEST]
        assert cluster.children("/brokers/topics") == ("t",)


def test_deletion_can_be_switched_off() -> None:
    settings = ClusterSettings(deletion_enabled=False)
    with (
        endpoint_cluster(settings=settings) as cluster,
        Client(cluster.ports[cluster.controller]) as client,
    ):
        create(client, "t", [[1]])
        assert delete(client, "t") == [ErrorCode.TOPIC_DELETION_DISABLED]
        assert delete(client, "t", version=2) == [ErrorCode.INVALID_REQUEST]
        assert cluster.children("/admin/delete_topics") == ()


def test_a_deletion_is_done_for_clients_while_a_broker_is_down() -> None:
    with endpoint_cluster() as cluster, Client(cluster.ports[cluster.controller]) as client:
        create(client, "t", [[1, 2]])
        cluster.stop(2)
        cluster.until(lambda: 2 not in cluster.images.cache(cluster.controller).brokers)
        assert delete(client, "t") == [0]
        assert cluster.children("/brokers/topics") == ("t",)
        assert code_for(client, counted("t", 1, 1)) == ErrorCode.TOPIC_ALREADY_EXISTS
        cluster.start(2)
        cluster.until(lambda: cluster.children("/brokers/topics") == ())
        assert code_for(client, counted("t", 1, 1)) == 0


def test_a_deletion_without_time_goes_on() -> None:
    with endpoint_cluster() as cluster, Client(cluster.ports[cluster.controller]) as client:
        create(client, "t", [[1]])
        assert delete(client, "t", timeout_ms=0) == [ErrorCode.REQUEST_TIMED_OUT]
        cluster.until(lambda: cluster.children("/brokers/topics") == ())


# ---- other nodes ---------------------------------------------------------------------------------


def test_only_the_controller_changes_topics() -> None:
    with endpoint_cluster() as cluster, Client(cluster.ports[BrokerId(2)]) as client:
        assert code_for(client, counted("t", 1, 1)) == ErrorCode.NOT_CONTROLLER
        assert expand(client, ("t", 2, None)) == {"t": ErrorCode.NOT_CONTROLLER}
        assert delete(client, "t") == [ErrorCode.NOT_CONTROLLER]
        assert cluster.children("/brokers/topics") == ()


# ---- topics that come by being asked for ---------------------------------------------------------


def ask_for(client: Client, *names: str, allowed: bool = True) -> dict[str | None, int]:
    topics = [MetadataRequest.MetadataRequestTopic(name=name) for name in names]
    request = MetadataRequest(topics=topics, allow_auto_topic_creation=allowed)
    answer = client.ask(request, MetadataResponse)
    return {topic.name: topic.error_code for topic in answer.topics}


def test_a_metadata_request_creates_an_unknown_topic() -> None:
    settings = ClusterSettings(defaults=Defaults(3, 2))
    with (
        endpoint_cluster(settings=settings) as cluster,
        Client(cluster.ports[cluster.controller]) as client,
    ):
        assert ask_for(client, "t", "n o") == {
            "t": ErrorCode.LEADER_NOT_AVAILABLE,
            "n o": ErrorCode.INVALID_TOPIC_EXCEPTION,
        }
        cluster.until(lambda: ask_for(client, "t") == {"t": 0})
        assert [len(ids) for ids in assignment_of(cluster, "t").values()] == [2, 2, 2]
        assert decode_config(cluster.data("/config/topics/t"), "") == {}


def test_another_node_knows_no_such_topic_yet() -> None:
    with endpoint_cluster() as cluster, Client(cluster.ports[BrokerId(2)]) as client:
        cluster.until(lambda: bool(cluster.images.cache(BrokerId(2)).brokers))
        assert ask_for(client, "t") == {"t": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
        cluster.until(lambda: ask_for(client, "t") == {"t": 0})


def test_too_many_replicas_are_not_lowered() -> None:
    settings = ClusterSettings(defaults=Defaults(1, 4))
    with (
        endpoint_cluster(settings=settings) as cluster,
        Client(cluster.ports[cluster.controller]) as client,
    ):
        assert ask_for(client, "t") == {"t": ErrorCode.INVALID_REPLICATION_FACTOR}
        assert cluster.children("/brokers/topics") == ()


@pytest.mark.parametrize(("brokers_allow", "client_allows"), [(False, True), (True, False)])
def test_both_sides_must_agree(brokers_allow: bool, client_allows: bool) -> None:
    settings = ClusterSettings(auto_create=AutoCreate(enabled=brokers_allow))
    with (
        endpoint_cluster(settings=settings) as cluster,
        Client(cluster.ports[cluster.controller]) as client,
    ):
        unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert ask_for(client, "t", allowed=client_allows) == {"t": unknown}
        assert cluster.children("/brokers/topics") == ()
