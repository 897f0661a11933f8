"""Clients from the street, unchanged: the admin clients of kafka-python and confluent-kafka."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from confluent_kafka import ElectionType, KafkaException, TopicCollection
from confluent_kafka import TopicPartition as Partition
from confluent_kafka import admin as confluent_admin

from kedge.model.error_codes import ErrorCode
from tests.endpoint.endpoint_cluster import EndpointCluster, endpoint_cluster

with warnings.catch_warnings():
    # as in kedge.protocol.messages
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka import admin as kafka_python
    from kafka import errors as kafka_errors
    from kafka.structs import TopicPartition

ca: Any = confluent_admin  # it does not say what it exports


@pytest.fixture(scope="module")
def cluster() -> Iterator[EndpointCluster]:
    with endpoint_cluster(racks=True) as made:
        yield made


# ---- kafka-python --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def python_admin(cluster: EndpointCluster) -> Iterator[Any]:
    with closing(kafka_python.KafkaAdminClient(bootstrap_servers=cluster.bootstrap)) as admin:
        yield admin


def test_kafka_python_sees_the_cluster(cluster: EndpointCluster, python_admin: Any) -> None:
    found = python_admin.describe_cluster()
    assert (found["cluster_id"], found["controller_id"]) == ("lab-cluster-id", 1)
    assert {b["broker_id"]: b["rack"] for b in found["brokers"]} == {1: "a", 2: "b", 3: "a"}


def test_kafka_python_creates_expands_and_deletes(
    cluster: EndpointCluster, python_admin: Any
) -> None:
    python_admin.create_topics({"py-t": {"num_partitions": 2, "replication_factor": 2}})
    python_admin.create_partitions({"py-t": 4})
    (topic,) = python_admin.describe_topics(["py-t"])
    assert [p["partition_index"] for p in topic["partitions"]] == [0, 1, 2, 3]
    assert "py-t" in python_admin.list_topics()
    with pytest.raises(kafka_errors.TopicAlreadyExistsError):
        python_admin.create_topics({"py-t": {"num_partitions": 2, "replication_factor": 2}})
    page = python_admin.describe_topic_partitions(["py-t"], response_partition_limit=3)
    assert page["next_cursor"] == {"topic_name": "py-t", "partition_index": 3}
    python_admin.delete_topics(["py-t"])
    assert "py-t" not in python_admin.list_topics()


def test_kafka_python_configures(cluster: EndpointCluster, python_admin: Any) -> None:
    python_admin.create_topics({"py-c": {"num_partitions": 1, "replication_factor": 1}})
    topic = kafka_python.ConfigResourceType.TOPIC
    resource = kafka_python.ConfigResource(topic, "py-c", configs={"retention.ms": "5"})
    python_admin.alter_configs([resource])
    found = python_admin.describe_configs([kafka_python.ConfigResource(topic, "py-c")])
    assert "5" in str(found)
    wrong = kafka_python.ConfigResource(topic, "py-c", configs={"retention.ms": "x"})
    assert "retention.ms=x" in str(python_admin.alter_configs([wrong]))


def test_kafka_python_moves_and_elects(cluster: EndpointCluster, python_admin: Any) -> None:
    python_admin.create_topics({"py-m": {"assignments": {0: [1, 2]}}})
    tp = TopicPartition("py-m", 0)
    python_admin.alter_partition_reassignments({tp: [3, 2]})
    moving = python_admin.list_partition_reassignments([tp])
    assert moving[tp]["adding_replicas"] == [3]
    cluster.catch_up("py-m", 0, [1, 2, 3])
    cluster.until(lambda: not python_admin.list_partition_reassignments([tp]))
    python_admin.elect_leaders(0, {"py-m": [0]})
    (topic,) = python_admin.describe_topics(["py-m"])
    assert [p["leader_id"] for p in topic["partitions"]] == [3]


def test_kafka_python_looks_into_directories(cluster: EndpointCluster, python_admin: Any) -> None:
    python_admin.create_topics({"py-d": {"assignments": {0: [2]}}})
    cluster.until(lambda: "py-d" in str(python_admin.describe_log_dirs(brokers=[2])))
    assert "py-d" not in str(python_admin.describe_log_dirs(brokers=[1]))


# ---- confluent-kafka -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def confluent(cluster: EndpointCluster) -> Any:
    return ca.AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 0})


def done(futures: Any) -> list[Any]:
    """Wait for all; the first failure is raised."""
    return [future.result(timeout=20) for future in futures.values()]


def test_confluent_sees_the_cluster(confluent: Any) -> None:
    found = confluent.describe_cluster().result(timeout=20)
    assert (found.cluster_id, found.controller.id) == ("lab-cluster-id", 1)
    assert {node.id: node.rack for node in found.nodes} == {1: "a", 2: "b", 3: "a"}


def test_confluent_creates_expands_and_deletes(confluent: Any) -> None:
    done(confluent.create_topics([ca.NewTopic("co-t", 2, 2, config={"retention.ms": "9"})]))
    done(confluent.create_partitions([ca.NewPartitions("co-t", 3)]))
    (found,) = done(confluent.describe_topics(TopicCollection(["co-t"])))
    assert [len(p.replicas) for p in found.partitions] == [2, 2, 2]
    with pytest.raises(KafkaException) as refusal:
        done(confluent.create_topics([ca.NewTopic("co-t", 2, 2)]))
    assert refusal.value.args[0].code() == ErrorCode.TOPIC_ALREADY_EXISTS
    done(confluent.delete_topics(["co-t"]))
    assert "co-t" not in confluent.list_topics(timeout=20).topics


def test_confluent_configures_topics_and_brokers(confluent: Any) -> None:
    done(confluent.create_topics([ca.NewTopic("co-c", 1, 1)]))
    step = ca.ConfigEntry("retention.ms", "5", incremental_operation=ca.AlterConfigOpType.SET)
    topic = ca.ConfigResource(ca.ResourceType.TOPIC, "co-c", incremental_configs=[step])
    done(confluent.incremental_alter_configs([topic]))
    (found,) = done(confluent.describe_configs([ca.ConfigResource(ca.ResourceType.TOPIC, "co-c")]))
    assert found["retention.ms"].value == "5"
    rate = "leader.replication.throttled.rate"
    step = ca.ConfigEntry(rate, "1000", incremental_operation=ca.AlterConfigOpType.SET)
    broker = ca.ConfigResource(ca.ResourceType.BROKER, "3", incremental_configs=[step])
    done(confluent.incremental_alter_configs([broker]))
    (found,) = done(confluent.describe_configs([ca.ConfigResource(ca.ResourceType.BROKER, "3")]))
    assert found[rate].value == "1000"


def test_confluent_elects(confluent: Any) -> None:
    done(confluent.create_topics([ca.NewTopic("co-e", 1, 1)]))
    partitions = [Partition("co-e", 0), Partition("co-none", 0)]
    future = confluent.elect_leaders(ElectionType.PREFERRED, partitions)
    outcome = {tp.topic: error.code() for tp, error in future.result(timeout=20).items()}
    assert outcome == {
        "co-e": ErrorCode.ELECTION_NOT_NEEDED,
        "co-none": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }


def test_confluent_finds_no_groups(confluent: Any) -> None:
    found = confluent.list_consumer_groups().result(timeout=20)
    assert (found.valid, found.errors) == ([], [])
