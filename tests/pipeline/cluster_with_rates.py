"""A cluster of two brokers, and a Prometheus that has the rates of its partitions."""

from __future__ import annotations

import time
from pathlib import Path

from kedge.cluster.memory import MemoryCluster
from kedge.cluster.port import TopicCreation
from kedge.model import Broker, BrokerId
from kedge.model.broker import Endpoint
from tests.pipeline.fake_prometheus import FakePrometheus, broker_series


def small_cluster() -> MemoryCluster:
    """Broker 1 leads what carries all the traffic."""
    hosts = {i: Endpoint("", f"b{i}.example", 9092) for i in (1, 2)}
    brokers = [Broker(BrokerId(i), endpoints=(host,)) for i, host in hosts.items()]
    cluster = MemoryCluster(brokers)
    hot = {p: [BrokerId(1)] for p in range(4)}
    cold = {p: [BrokerId(2)] for p in range(4)}
    cluster.create_topics(
        [TopicCreation("hot", assignment=hot), TopicCreation("cold", assignment=cold)],
        validate_only=False,
    )
    return cluster


def server() -> FakePrometheus:
    """The counters of its brokers from a quarter of an hour ago on, as they will go on."""
    now = int(time.time()) // 15 * 15
    window = {"start": now - 900, "end": now + 900}
    hot = broker_series(
        {"hot": [(p, 1000.0 * (p + 1)) for p in range(4)]}, instance="b1.example:7071", **window
    )
    cold = broker_series(
        {"cold": [(p, 1.0) for p in range(4)]}, instance="b2.example:7071", **window
    )
    return FakePrometheus(hot + cold)


def shared_topic() -> MemoryCluster:
    """Each broker leads one partition of a topic and follows the other one."""
    cluster = MemoryCluster(small_cluster().describe().brokers)
    placed = {0: [BrokerId(1), BrokerId(2)], 1: [BrokerId(2), BrokerId(1)]}
    cluster.create_topics([TopicCreation("shared", assignment=placed)], validate_only=False)
    return cluster


def server_of_broker_1() -> FakePrometheus:
    """The series of broker 1 of that cluster; it follows partition 1, of 3000 bytes per second."""
    now = int(time.time()) // 15 * 15
    window = {"start": now - 900, "end": now + 900}
    led = broker_series({"shared": [(0, 1000.0)]}, instance="b1.example:7071", **window)
    followed = broker_series({"shared": [(1, 3000.0)]}, instance="b1.example:7071", **window)
    logs = [one for one in followed if one[0]["__name__"].startswith("kafka_log_log_")]
    count = {"__name__": "kafka_cluster_partition_replicascount", "partition": "1"}
    labels = {**led[-1][0], **count}
    return FakePrometheus([*led, *logs, (labels, dict.fromkeys(led[-1][1], 0.0))])


MAPPED = {
    "kafka_server_brokertopicmetrics_bytesin_total": "bytes_in",
    "kafka_server_brokertopicmetrics_bytesout_total": "bytes_out",
    "kafka_log_log_size": "log_size",
    "kafka_log_log_logendoffset": "log_end_offset",
    "kafka_log_log_logstartoffset": "log_start_offset",
    "kafka_cluster_partition_replicascount": "replicas",
}


def renamed(fake: FakePrometheus, rules: Path) -> FakePrometheus:
    """The same series under names of other exporter rules, and the mapping file for them."""
    for labels, _ in fake.series:
        if labels["__name__"] in MAPPED:
            labels["__name__"] = f"acme_{MAPPED[labels['__name__']]}"
    entries = (f'[[series]]\nmetric = "acme_{s}"\nseries = "{s}"\n' for s in MAPPED.values())
    rules.write_text("".join(entries))
    return fake
