"""Requests, retries, and when there are none: against a scripted broker."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from jvm import free_port
from kedge.cluster.access import Access
from kedge.cluster.admin_session import parse_bootstrap
from kedge.cluster.broker_connection import Address
from kedge.cluster.kafka_admin import KafkaAdmin
from kedge.cluster.port import TopicCreation, TopicDescription, broker_resource
from kedge.errors import (
    BrokerFailed,
    ClusterUnavailable,
    KedgeError,
    MalformedInput,
    NotController,
    QuotaExceeded,
    RequestTimedOut,
    Unavailable,
    UnknownBroker,
    UnsupportedByCluster,
)
from kedge.model import BrokerId, TopicPartition
from kedge.protocol.messages import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    MetadataRequest,
)
from tests.cluster.broker import CLOSE, SILENCE, ScriptedBroker, scripted_broker

NOT_CONTROLLER, QUOTA_EXCEEDED = 41, 89
QUICK = Access(request_timeout_ms=300, call_timeout_ms=600)


@pytest.fixture
def broker() -> Iterator[ScriptedBroker]:
    with scripted_broker() as made:
        yield made


@pytest.fixture
def cluster(broker: ScriptedBroker) -> Iterator[KafkaAdmin]:
    made = KafkaAdmin(broker.address, Access(call_timeout_ms=10_000))
    yield made
    made.close()


def created(code: int, throttle_ms: int = 0) -> Any:
    kind = CreateTopicsResponse
    topic = kind.CreatableTopicResult(name="t", error_code=code, error_message=None)
    return kind(throttle_time_ms=throttle_ms, topics=[topic])


def moved(request: Any) -> Any:
    kind = AlterPartitionReassignmentsResponse
    topic = kind.ReassignableTopicResponse
    partition = topic.ReassignablePartitionResponse
    return kind(
        throttle_time_ms=0,
        error_code=0,
        error_message=None,
        responses=[
            topic(
                name=each.name,
                partitions=[
                    partition(partition_index=p.partition_index, error_code=0, error_message=None)
                    for p in each.partitions
                ],
            )
            for each in request.topics
        ],
    )


def test_ten_thousand_moves_go_out_in_five_requests(
    broker: ScriptedBroker, cluster: KafkaAdmin
) -> None:
    broker.answers[AlterPartitionReassignmentsRequest] = moved
    targets = {TopicPartition(f"t{i % 7}", i // 7): (BrokerId(1),) for i in range(10_000)}
    answers = cluster.alter_reassignments(targets)
    assert answers == dict.fromkeys(targets)
    sizes = [
        sum(len(topic.partitions) for topic in request.topics)
        for request in broker.asked(AlterPartitionReassignmentsRequest)
    ]
    assert sizes == [2_000] * 5


@pytest.mark.parametrize("code", [NOT_CONTROLLER, QUOTA_EXCEEDED])
def test_a_change_that_did_not_happen_is_asked_again(
    broker: ScriptedBroker, cluster: KafkaAdmin, code: int
) -> None:
    codes = iter([code, code, 0])
    broker.answers[CreateTopicsRequest] = lambda _: created(next(codes))
    assert cluster.create_topics([TopicCreation("t")]) == {"t": None}
    assert len(broker.asked(CreateTopicsRequest)) == 3


def test_whom_the_cluster_throttles_waits_as_long_as_it_says(
    broker: ScriptedBroker, cluster: KafkaAdmin
) -> None:
    answers = iter([created(QUOTA_EXCEEDED, throttle_ms=400), created(0)])
    broker.answers[CreateTopicsRequest] = lambda _: next(answers)
    begin = time.monotonic()
    assert cluster.create_topics([TopicCreation("t")]) == {"t": None}
    assert time.monotonic() - begin >= 0.4


@pytest.mark.parametrize(
    ("code", "fault"), [(NOT_CONTROLLER, NotController), (QUOTA_EXCEEDED, QuotaExceeded)]
)
def test_at_the_deadline_the_last_fault_is_told(
    broker: ScriptedBroker, code: int, fault: type[Unavailable]
) -> None:
    broker.answers[CreateTopicsRequest] = lambda _: created(code)
    cluster = KafkaAdmin(broker.address, QUICK)
    with pytest.raises(fault):
        cluster.create_topics([TopicCreation("t")])
    cluster.close()


def test_a_read_is_asked_again_when_the_broker_hangs_up(
    broker: ScriptedBroker, cluster: KafkaAdmin
) -> None:
    answers = iter([CLOSE, CLOSE, broker.metadata()])
    broker.answers[MetadataRequest] = lambda _: next(answers)
    assert cluster.describe().cluster_id == "scripted"


def test_a_change_is_not_asked_again_when_the_broker_hangs_up(
    broker: ScriptedBroker, cluster: KafkaAdmin
) -> None:
    broker.answers[CreateTopicsRequest] = lambda _: CLOSE
    with pytest.raises(ClusterUnavailable, match="closed the connection"):
        cluster.create_topics([TopicCreation("t")])
    assert len(broker.asked(CreateTopicsRequest)) == 1


def test_a_change_goes_over_a_new_connection_where_an_idle_one_was_closed(
    broker: ScriptedBroker, cluster: KafkaAdmin
) -> None:
    broker.answers[CreateTopicsRequest] = lambda _: created(0)
    cluster.describe()
    broker.hang_up()
    assert cluster.create_topics([TopicCreation("t")]) == {"t": None}


def test_after_a_fault_the_next_call_connects_anew(
    broker: ScriptedBroker, cluster: KafkaAdmin
) -> None:
    answers = iter([CLOSE, created(0)])
    broker.answers[CreateTopicsRequest] = lambda _: next(answers)
    with pytest.raises(ClusterUnavailable):
        cluster.create_topics([TopicCreation("t")])
    assert cluster.create_topics([TopicCreation("t")]) == {"t": None}


def test_silence_ends_at_the_deadline(broker: ScriptedBroker) -> None:
    broker.answers[CreateTopicsRequest] = lambda _: SILENCE
    cluster = KafkaAdmin(broker.address, QUICK)
    begin = time.monotonic()
    with pytest.raises(RequestTimedOut, match=broker.address):
        cluster.create_topics([TopicCreation("t")])
    assert time.monotonic() - begin < 5
    cluster.close()


@pytest.mark.parametrize(
    ("access", "listening_ms"),
    [
        (Access(request_timeout_ms=2_000, call_timeout_ms=60_000), 2_000),
        (Access(request_timeout_ms=60_000, call_timeout_ms=3_000), 3_000),
    ],
)
def test_the_controller_answers_before_this_client_stops_listening(
    broker: ScriptedBroker, access: Access, listening_ms: int
) -> None:
    broker.answers[CreateTopicsRequest] = lambda _: created(7)
    cluster = KafkaAdmin(broker.address, access)
    answer = cluster.create_topics([TopicCreation("t", partitions=1, replication_factor=1)])["t"]
    cluster.close()
    assert isinstance(answer, RequestTimedOut)  # of this topic, by the controller's own word
    [request] = broker.asked(CreateTopicsRequest)
    assert listening_ms / 2 < request.timeout_ms < listening_ms


def test_a_request_that_the_brokers_do_not_know_is_told(
    broker: ScriptedBroker, cluster: KafkaAdmin
) -> None:
    assert CreateTopicsRequest not in broker.answers
    with pytest.raises(UnsupportedByCluster, match="do not support CreateTopics"):
        cluster.create_topics([TopicCreation("t")])


def test_an_answer_that_does_not_read_is_a_fault_of_the_broker(
    broker: ScriptedBroker, cluster: KafkaAdmin
) -> None:
    broker.answers[CreateTopicsRequest] = lambda _: b"\0\0\0\7\0\0\0\3abc"
    with pytest.raises(BrokerFailed):
        cluster.create_topics([TopicCreation("t")])


def test_whoever_does_not_speak_kafka_is_told_apart(broker: ScriptedBroker) -> None:
    broker.answers[MetadataRequest] = lambda _: b"HTTP/1.1 400 Bad Request\r\n\r\n"
    cluster = KafkaAdmin(broker.address, QUICK)
    with pytest.raises(ClusterUnavailable, match="not a Kafka broker"):
        cluster.describe()
    cluster.close()


def test_the_next_address_is_tried_where_one_is_dead(broker: ScriptedBroker) -> None:
    cluster = KafkaAdmin(f"127.0.0.1:{free_port()},{broker.address}")
    assert cluster.describe().alive == {1}
    cluster.close()


def test_a_cluster_that_nobody_answers_for_is_told_in_one_sentence() -> None:
    port = free_port()
    cluster = KafkaAdmin(f"127.0.0.1:{port}", QUICK)
    with pytest.raises(ClusterUnavailable, match=f"127.0.0.1:{port}: connection refused"):
        cluster.describe()


def test_a_cluster_without_a_controller_is_waited_for(
    broker: ScriptedBroker, cluster: KafkaAdmin
) -> None:
    broker.controller = -1
    looks = 0

    def look(_: Any) -> Any:
        nonlocal looks
        looks += 1
        broker.controller = 1 if looks > 2 else -1
        return broker.metadata()

    broker.answers[MetadataRequest] = look
    broker.answers[CreateTopicsRequest] = lambda _: created(0)
    assert cluster.create_topics([TopicCreation("t")]) == {"t": None}
    assert looks == 3


def test_a_controller_that_died_is_looked_for_anew(
    broker: ScriptedBroker, cluster: KafkaAdmin
) -> None:
    broker.controller = 2
    dead = {2: free_port()}
    looks = iter([dead, dead, {}])

    def look(_: Any) -> Any:
        others = next(looks)
        broker.controller = 2 if others else 1
        return broker.metadata(others=others)

    broker.answers[MetadataRequest] = look
    broker.answers[CreateTopicsRequest] = lambda _: created(0)
    assert cluster.create_topics([TopicCreation("t")]) == {"t": None}


def test_a_broker_that_died_is_told_as_not_alive(
    broker: ScriptedBroker, cluster: KafkaAdmin
) -> None:
    looks = iter([{2: free_port()}, {}])
    broker.answers[MetadataRequest] = lambda _: broker.metadata(others=next(looks))
    (refusal,) = cluster.log_dirs([BrokerId(2)]).values()
    assert isinstance(refusal, UnknownBroker)


def test_a_topic_that_fills_several_pages_is_put_together(
    broker: ScriptedBroker, cluster: KafkaAdmin
) -> None:
    def page(request: Any) -> Any:
        first = 0 if request.cursor is None else request.cursor.partition_index
        return _page(first, more=first < 2)

    broker.answers[DescribeTopicPartitionsRequest] = page
    topic = cluster.describe_topics(["t"])["t"]
    assert isinstance(topic, TopicDescription)
    assert [p.partition for p in topic.partitions] == [0, 1, 2]


def _page(partition: int, *, more: bool) -> Any:
    kind = DescribeTopicPartitionsResponse
    topic = kind.DescribeTopicPartitionsResponseTopic
    one = topic.DescribeTopicPartitionsResponsePartition(
        error_code=0,
        partition_index=partition,
        leader_id=1,
        leader_epoch=0,
        replica_nodes=[1],
        isr_nodes=[1],
        eligible_leader_replicas=None,
        last_known_elr=None,
        offline_replicas=[],
    )
    cursor = kind.Cursor(topic_name="t", partition_index=partition + 1) if more else None
    return kind(
        throttle_time_ms=0,
        topics=[topic(error_code=0, name="t", is_internal=False, partitions=[one])],
        next_cursor=cursor,
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("h:1", [("h", 1)]),
        (" a:1 , b:2 ,", [("a", 1), ("b", 2)]),
        ("[::1]:9092", [("::1", 9092)]),
    ],
)
def test_addresses_are_read(text: str, expected: list[tuple[str, int]]) -> None:
    assert list(parse_bootstrap(text)) == [Address(*each) for each in expected]


@pytest.mark.parametrize("text", ["", ",", "h", "h:", ":1", "h:x", "h:70000", "h:-1"])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(MalformedInput):
        parse_bootstrap(text)


def described(request: Any) -> Any:
    kind = DescribeConfigsResponse
    results = [
        kind.DescribeConfigsResult(
            error_code=0,
            error_message=None,
            resource_type=each.resource_type,
            resource_name=each.resource_name,
            configs=[],
        )
        for each in request.resources
    ]
    return kind(throttle_time_ms=0, results=results)


def test_a_broker_that_hangs_does_not_hide_those_after_it(broker: ScriptedBroker) -> None:
    with scripted_broker() as hung:
        brokers = {MetadataRequest: lambda _: broker.metadata(others={2: hung.port})}
        broker.answers |= brokers | {DescribeConfigsRequest: described}
        hung.answers |= brokers | {DescribeConfigsRequest: lambda _: SILENCE}
        cluster = KafkaAdmin(broker.address, Access(call_timeout_ms=1_000))
        second, first = broker_resource(BrokerId(2)), broker_resource(BrokerId(1))
        found = cluster.describe_configs([second, first], synonyms=False)
        cluster.close()
    assert isinstance(found[second], RequestTimedOut)
    assert not isinstance(found[first], KedgeError)
