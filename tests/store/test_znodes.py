"""Kafka's nodes: read as Kafka wrote them, written as Kafka would."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.errors import MalformedInput
from kedge.model import Broker, BrokerId, Endpoint, Leadership, Recovery, ReplicaAssignment
from kedge.model import TopicPartition as Tp
from kedge.model.scala_map_order import mutable_map_order
from kedge.store import znodes
from tests.store.samples import PARTITION_ORDER, REAL, REGISTRATIONS, SETTINGS


def ids(*numbers: int) -> tuple[BrokerId, ...]:
    return tuple(map(BrokerId, numbers))


def rewritten(path: str, data: bytes) -> bytes:
    """A node's content, decoded and encoded again by what its path says it is."""
    match path.split("/")[1:]:
        case ["brokers", "ids", broker]:
            return znodes.encode_broker(znodes.decode_broker(BrokerId(int(broker)), data))
        case ["brokers", "topics", topic]:
            return znodes.encode_topic(znodes.decode_topic(topic, data))
        case ["brokers", "topics", topic, "partitions", partition, "state"]:
            return znodes.encode_state(znodes.decode_state(Tp(topic, int(partition)), data, 0))
        case ["config", "changes", _]:
            return znodes.encode_config_change(znodes.decode_config_change(data, path))
        case ["config", *_]:
            return znodes.encode_config(znodes.decode_config(data, path))
        case ["admin", "reassign_partitions"]:
            return znodes.encode_reassignments(znodes.decode_reassignments(data))
        case ["controller"]:
            return znodes.encode_controller(znodes.decode_controller(data))
        case ["controller_epoch"]:
            return znodes.encode_controller_epoch(znodes.decode_controller_epoch(data))
        case ["cluster", "id"]:
            return znodes.encode_cluster_id(znodes.decode_cluster_id(data))
        case ["feature"]:
            return znodes.encode_features(znodes.decode_features(data))
        case _:
            raise AssertionError(path)


@pytest.mark.parametrize("path", REAL)
def test_a_real_node_is_rewritten_byte_for_byte(path: str) -> None:
    assert rewritten(path, REAL[path]) == REAL[path]


@pytest.mark.parametrize("data", REGISTRATIONS)
def test_a_registration_is_rewritten_byte_for_byte(data: bytes) -> None:
    assert rewritten("/brokers/ids/1", data) == data


@pytest.mark.parametrize("data", SETTINGS)
def test_settings_are_rewritten_byte_for_byte(data: bytes) -> None:
    assert rewritten("/config/topics/t", data) == data


@pytest.mark.parametrize("count", PARTITION_ORDER)
def test_partitions_come_in_the_order_of_kafkas_table(count: int) -> None:
    assert mutable_map_order(map(str, range(count))) == PARTITION_ORDER[count].split()


def test_notices_and_orders_are_written_as_kafka_writes_them() -> None:
    two = [Tp("b", 1), Tp("a", 0)]
    listed = b'{"version":1,"partitions":[{"topic":"b","partition":1},{"topic":"a","partition":0}]}'
    assert znodes.encode_partitions(two) == listed
    assert znodes.decode_preferred_election(listed) == tuple(two)
    assert znodes.encode_reassignments({Tp("b", 1): ids(3, 1), Tp("a", 0): ids(2)}) == (
        b'{"version":1,"partitions":[{"topic":"b","partition":1,"replicas":[3,1]},'
        b'{"topic":"a","partition":0,"replicas":[2]}]}'
    )
    event = b'{"version":1,"broker":7,"event":1}'
    assert znodes.encode_log_dir_event(BrokerId(7)) == event
    assert znodes.decode_log_dir_event(event, "/x") == 7
    block = b'{"version":1,"broker":7,"block_start":"5000","block_end":"5999"}'
    assert znodes.encode_producer_id_block(znodes.ProducerIdBlock(BrokerId(7), 5000, 5999)) == block
    assert znodes.decode_producer_id_block(block) == znodes.ProducerIdBlock(BrokerId(7), 5000, 5999)
    features = b'{"features":{"y":{"max_version_level":1},"x":{"max_version_level":3}},'
    features += b'"version":2,"status":1}'
    assert znodes.encode_features(znodes.Features(True, {"y": 1, "x": 3})) == features


# ---- what the values mean ----


def test_a_registration_is_read_into_a_broker() -> None:
    found = znodes.decode_broker(BrokerId(1), REAL["/brokers/ids/1"])
    assert found.broker == Broker(
        BrokerId(1),
        "r1",
        endpoints=(
            Endpoint("PLAINTEXT", "127.0.0.1", 49981),
            Endpoint("EXTERNAL", "127.0.0.1", 49971),
        ),
    )
    assert (found.timestamp_ms, found.version) == (1794778094535, 5)


def test_a_missing_rack_is_none_and_an_empty_one_is_a_rack() -> None:
    assert znodes.decode_broker(BrokerId(2), REAL["/brokers/ids/2"]).broker.rack is None
    assert znodes.decode_broker(BrokerId(2), REGISTRATIONS[3]).broker.rack == ""


@pytest.mark.parametrize(
    ("data", "endpoint"),
    [
        (b'{"version":1,"host":"h","port":9,"jmx_port":5}', Endpoint("PLAINTEXT", "h", 9)),
        (
            b'{"version":2,"host":null,"port":-1,"jmx_port":5,"endpoints":["SSL://h:9"]}',
            Endpoint("SSL", "h", 9, "SSL"),
        ),
        (
            b'{"version":4,"listener_security_protocol_map":{"IN":"SASL_SSL"},'
            b'"endpoints":["IN://[::1]:9"],"host":null,"port":-1,"jmx_port":5,"new":1}',
            Endpoint("IN", "::1", 9, "SASL_SSL"),
        ),
    ],
)
def test_older_registrations_are_understood(data: bytes, endpoint: Endpoint) -> None:
    found = znodes.decode_broker(BrokerId(3), data)
    assert (found.broker.endpoints, found.jmx_port) == ((endpoint,), 5)


def test_a_move_under_way_is_read_from_the_topic() -> None:
    topic = znodes.decode_topic("orders", REAL["/brokers/topics/orders"])
    assert topic.topic_id == "ak3VpdvISxegMV3H2a759Q"
    assert list(topic.partitions) == list(range(30))
    assert topic.partitions[12] == ReplicaAssignment(ids(3, 2, 1), ids(3), ids(2, 1))
    assert topic.partitions[1] == ReplicaAssignment(ids(2, 1))


@pytest.mark.parametrize("version", [1, 2, 3])
def test_older_topics_are_understood_and_rewritten_in_version_3(version: int) -> None:
    extra = {1: b"", 2: b',"adding_replicas":{},"removing_replicas":{}'}.get(version, b"")
    data = b'{"version":%d,"partitions":{"0":[1]}%s}' % (version, extra)
    topic = znodes.decode_topic("t", data)
    assert topic == znodes.TopicAssignment({0: ReplicaAssignment(ids(1))})
    assert znodes.encode_topic(topic) == (
        b'{"partitions":{"0":[1]},"adding_replicas":{},"removing_replicas":{},"version":3}'
    )


def test_the_partition_epoch_of_a_state_is_its_nodes_version() -> None:
    data = REAL["/brokers/topics/orders/partitions/0/state"]
    assert znodes.decode_state(Tp("orders", 0), data, 9) == Leadership(
        BrokerId(1), ids(1), 5, partition_epoch=9, controller_epoch=2, recovery=Recovery.RECOVERING
    )


def test_an_old_controller_and_an_old_change_are_understood() -> None:
    old = znodes.decode_controller(b'{"version":1,"brokerid":5,"timestamp":"7"}')
    assert old == znodes.ControllerClaim(BrokerId(5), 7)
    change = b'{"version":1,"entity_type":"topics","entity_name":"t"}'
    assert znodes.decode_config_change(change, "/c") == "topics/t"


def test_empty_nodes_mean_nothing_yet() -> None:
    assert znodes.decode_producer_id_block(None) is None
    assert znodes.decode_config(None, "/config/topics/t") == {}


def test_paths_are_created_parents_first() -> None:
    paths = znodes.persistent_paths()
    assert set(znodes.PERSISTENT) < set(paths)
    for path in paths:
        parent = path.rpartition("/")[0]
        assert not parent or paths.index(parent) < paths.index(path)


def test_names_of_users_and_clients_are_percent_encoded() -> None:
    assert znodes.sanitized("a~b*c+d%é/ .") == "a%7Eb%2Ac%2Bd%25%C3%A9%2F%20."


def test_paths_are_kafkas() -> None:
    assert znodes.state_path(Tp("t", 3)) == "/brokers/topics/t/partitions/3/state"
    assert znodes.broker_config_path(None) == "/config/brokers/<default>"
    assert znodes.topic_config_path("t") == "/config/topics/t"
    assert znodes.broker_id_of("12") == 12
    assert znodes.sequence_of("isr_change_0000000042") == 42
    with pytest.raises(MalformedInput, match="/brokers/ids"):
        znodes.broker_id_of("x")


# ---- what cannot be read ----

DECODERS: dict[str, Callable[[bytes | None], Any]] = {
    "/brokers/ids/1": lambda data: znodes.decode_broker(BrokerId(1), data),
    "/brokers/topics/t": lambda data: znodes.decode_topic("t", data),
    "/brokers/topics/t/partitions/0/state": lambda data: znodes.decode_state(Tp("t", 0), data, 0),
    "/admin/reassign_partitions": znodes.decode_reassignments,
    "/admin/preferred_replica_election": znodes.decode_preferred_election,
    "/isr_change_notification/i1": lambda d: znodes.decode_partitions(
        d, "/isr_change_notification/i1"
    ),
    "/log_dir_event_notification/l1": lambda d: znodes.decode_log_dir_event(
        d, "/log_dir_event_notification/l1"
    ),
    "/config/changes/c1": lambda d: znodes.decode_config_change(d, "/config/changes/c1"),
    "/config/topics/t": lambda d: znodes.decode_config(d, "/config/topics/t"),
    "/controller": znodes.decode_controller,
    "/controller_epoch": znodes.decode_controller_epoch,
    "/cluster/id": znodes.decode_cluster_id,
    "/feature": znodes.decode_features,
    "/latest_producer_id_block": znodes.decode_producer_id_block,
}


@pytest.mark.parametrize("path", DECODERS)
@pytest.mark.parametrize("data", [b"{", b"[]", b'"x"', b"{}", b'{"version":"x"}', b"\xff", b"nul"])
def test_what_cannot_be_read_is_refused_with_its_place(path: str, data: bytes) -> None:
    if path == "/brokers/topics/t" and data in (b"{}", b'{"version":"x"}'):
        assert not DECODERS[path](data).partitions  # Kafka asks for nothing in a topic
        return
    with pytest.raises(MalformedInput, match=path):
        DECODERS[path](data)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)
FIELDS = [
    "version",
    "brokerid",
    "timestamp",
    "partitions",
    "topic",
    "partition",
    "replicas",
    "isr",
    "leader",
    "leader_epoch",
    "controller_epoch",
    "leader_recovery_state",
    "endpoints",
    "listener_security_protocol_map",
    "features",
    "rack",
    "adding_replicas",
    "removing_replicas",
    "topic_id",
    "entity_path",
    "entity_type",
    "entity_name",
    "config",
    "id",
    "status",
    "broker",
    "block_start",
    "block_end",
    "host",
    "port",
    "jmx_port",
    "0",
]


@given(
    path=st.sampled_from(sorted(DECODERS)),
    version=st.integers(0, 6),
    fields=st.dictionaries(st.sampled_from(FIELDS), json_values, max_size=8),
)
def test_no_json_brings_a_decoder_down(path: str, version: int, fields: dict[str, Any]) -> None:
    try:
        DECODERS[path](orjson.dumps({"version": version, **fields}))
    except MalformedInput as error:
        assert path in str(error)  # noqa: PT017 -- either outcome is fine, a traceback is not


broker_ids = st.integers(0, 9).map(BrokerId)
replica_lists = st.lists(broker_ids, unique=True, max_size=4).map(tuple)
assignments = st.builds(ReplicaAssignment, replica_lists, replica_lists, replica_lists)


@given(st.dictionaries(st.integers(0, 3000), assignments), st.none() | st.text(min_size=1))
def test_topics_survive_being_written_and_read(
    partitions: dict[int, ReplicaAssignment], topic_id: str | None
) -> None:
    topic = znodes.TopicAssignment(partitions, topic_id)
    assert znodes.decode_topic("t", znodes.encode_topic(topic)) == topic


@given(
    st.builds(
        Leadership,
        broker_ids,
        replica_lists,
        st.integers(0, 99),
        st.integers(0, 99),
        st.integers(0, 99),
        st.sampled_from(Recovery),
    )
)
def test_states_survive_being_written_and_read(leadership: Leadership) -> None:
    data = znodes.encode_state(leadership)
    assert znodes.decode_state(Tp("t", 0), data, leadership.partition_epoch) == leadership


@given(st.dictionaries(st.text(), st.text()))
def test_settings_survive_being_written_and_read(settings: dict[str, str]) -> None:
    data = znodes.encode_config(settings)
    assert znodes.decode_config(data, "/config/topics/t") == settings
