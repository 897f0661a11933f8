"""Kafka's own tools and clients on real 4.1 brokers under Kedge as the only controller."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer

from jvm import KAFKA_4_1
from jvm.kraft import Quorum, quorum, until
from jvm.tools import KafkaTools, kafka_tools
from tests.real.quorum_view import describe

pytestmark = [pytest.mark.real, pytest.mark.timeout(600)]

KEDGE = 3003


class Cluster:
    """Three brokers, Kedge's controller, and Kafka's tools."""

    def __init__(self, quorum: Quorum, tools: KafkaTools, directory: Path, brokers: Any) -> None:
        self.quorum, self.tools, self.directory, self.brokers = quorum, tools, directory, brokers

    def run(self, tool: str, *arguments: str) -> str:
        answer = self.tools(tool, "--bootstrap-server", self.quorum.bootstrap, *arguments)
        assert answer.code == 0, answer.out + answer.err
        return answer.out

    def create(self, topic: str, partitions: int = 3, factor: int = 3, *more: str) -> None:
        self.run(
            "topics", "--create", "--topic", topic, "--partitions", str(partitions),
            "--replication-factor", str(factor), *more,
        )  # fmt: skip

    def partitions(self, topic: str) -> list[dict[str, str]]:
        lines: list[str] = []

        def described() -> bool:
            at = ("--bootstrap-server", self.quorum.bootstrap)
            answer = self.tools("topics", *at, "--describe", "--topic", topic)
            lines[:] = answer.out.splitlines()[1:]
            return answer.code == 0

        # each broker learns of a topic a moment after the controller has answered
        until(f"a description of {topic}", described)
        return [
            dict(part.split(": ", 1) for part in line.strip().split("\t") if ": " in part)
            for line in lines
        ]

    def json(self, name: str, value: Any) -> str:
        path = self.directory / name
        path.write_text(json.dumps(value))
        return str(path)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    directory = tmp_path_factory.mktemp("kraft")
    with quorum(directory, kedge=(KEDGE,)) as made:
        made.kedge(KEDGE).start()
        until("a leader", lambda: describe(made.ports[KEDGE]))
        with made.brokers(1, 2, 3) as brokers, kafka_tools(KAFKA_4_1, directory) as tools:
            yield Cluster(made, tools, directory, brokers)


def produce(cluster: Cluster, topic: str, count: int, **settings: Any) -> None:
    failed: list[Any] = []
    producer = Producer({"bootstrap.servers": cluster.quorum.bootstrap, "acks": "all", **settings})
    for number in range(count):
        producer.produce(
            topic, str(number).encode(), on_delivery=lambda e, _: failed.append(e) if e else None
        )
        producer.poll(0)
    assert producer.flush(60) == 0
    assert not failed, failed[:3]


def consume(cluster: Cluster, topic: str, count: int, **settings: Any) -> list[bytes]:
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.quorum.bootstrap,
            "auto.offset.reset": "earliest",
            "group.id": f"group-{topic}",
            **settings,
        }
    )
    consumer.subscribe([topic])
    found: list[bytes] = []
    deadline = time.monotonic() + 90
    try:
        while len(found) < count and time.monotonic() < deadline:
            message = consumer.poll(0.5)
            if message is not None and message.error() is None:
                found.append(message.value() or b"")
        consumer.commit(asynchronous=False)
    finally:
        consumer.close()
    return found


def test_topics_are_created_expanded_configured_and_deleted(cluster: Cluster) -> None:
    cluster.create("orders", 6)
    rows = cluster.partitions("orders")
    assert len(rows) == 6
    assert all(len(row["Isr"].split(",")) == 3 for row in rows)
    cluster.run("topics", "--alter", "--topic", "orders", "--partitions", "8")
    until("eight partitions", lambda: len(cluster.partitions("orders")) == 8)
    named = ("--entity-type", "topics", "--entity-name", "orders")
    cluster.run("configs", "--alter", *named, "--add-config", "retention.ms=60000")
    assert "retention.ms=60000" in cluster.run("configs", "--describe", *named)
    cluster.run("configs", "--alter", *named, "--delete-config", "retention.ms")
    assert "retention.ms" not in cluster.run("configs", "--describe", *named)
    cluster.run("topics", "--delete", "--topic", "orders")
    assert "orders" not in cluster.run("topics", "--list")


def test_partitions_move_with_a_throttle_and_are_verified(cluster: Cluster) -> None:
    cluster.create("moved", 1, 1)
    produce(cluster, "moved", 500)
    (row,) = cluster.partitions("moved")
    target = [b for b in (1, 2, 3) if str(b) != row["Leader"]]
    plan = cluster.json(
        "moved.json",
        {"version": 1, "partitions": [{"topic": "moved", "partition": 0, "replicas": target}]},
    )
    cluster.run("reassign", "--execute", "--reassignment-json-file", plan, "--throttle", "1000000")

    def verified() -> bool:
        out = cluster.run("reassign", "--verify", "--reassignment-json-file", plan)
        return "is completed" in out or "is complete" in out

    until("the move", verified, timeout_s=90)
    (row,) = cluster.partitions("moved")
    assert row["Replicas"] == ",".join(map(str, target))
    shown = cluster.run("configs", "--describe", "--entity-type", "brokers", "--entity-name", "1")
    assert "throttled.rate" not in shown
    assert len(consume(cluster, "moved", 500)) == 500


def test_a_move_can_be_cancelled(cluster: Cluster) -> None:
    cluster.create("stays", 1, 1)
    produce(cluster, "stays", 3000, **{"compression.type": "none"})
    (row,) = cluster.partitions("stays")
    target = [b for b in (1, 2, 3) if str(b) != row["Leader"]][:1]
    plan = cluster.json(
        "stays.json",
        {"version": 1, "partitions": [{"topic": "stays", "partition": 0, "replicas": target}]},
    )
    cluster.run("reassign", "--execute", "--reassignment-json-file", plan, "--throttle", "1")
    cluster.run("reassign", "--cancel", "--reassignment-json-file", plan)
    (now,) = cluster.partitions("stays")
    assert now["Replicas"] in (row["Replicas"], ",".join(map(str, target)))


def test_preferred_leaders_are_elected(cluster: Cluster) -> None:
    cluster.create("led", 3)
    cluster.run("elect", "--election-type", "preferred", "--all-topic-partitions")
    rows = cluster.partitions("led")
    assert [row["Leader"] for row in rows] == [row["Replicas"].split(",")[0] for row in rows]


def test_features_and_the_quorum_are_described(cluster: Cluster) -> None:
    shown = cluster.run("features", "describe")
    assert "metadata.version" in shown
    assert "4.1-IV1" in shown
    status = cluster.run("quorum", "describe", "--status")
    assert ["LeaderId:", str(KEDGE)] in [line.split() for line in status.splitlines()]
    replication = cluster.run("quorum", "describe", "--replication")
    assert replication.count("Observer") == 3
    cluster.run("features", "upgrade", "--feature", "share.version=1")
    assert "share.version" in cluster.run("features", "describe")


def test_records_are_produced_and_consumed_by_both_kinds_of_groups(cluster: Cluster) -> None:
    cluster.create("stream", 3)
    produce(cluster, "stream", 1000, **{"enable.idempotence": True})
    assert len(set(consume(cluster, "stream", 1000))) == 1000
    new = {"group.protocol": "consumer", "group.id": "new-protocol"}
    assert len(set(consume(cluster, "stream", 1000, **new))) == 1000


def test_transactions_commit_and_abort(cluster: Cluster) -> None:
    cluster.create("money", 3)
    producer = Producer(
        {"bootstrap.servers": cluster.quorum.bootstrap, "transactional.id": "teller"}
    )
    producer.init_transactions(60)
    for what in (b"kept", b"dropped", b"kept"):
        producer.begin_transaction()
        producer.produce("money", what)
        if what == b"kept":
            producer.commit_transaction(60)
        else:
            producer.abort_transaction(60)
    read = consume(cluster, "money", 2, **{"isolation.level": "read_committed"})
    assert read == [b"kept", b"kept"]


def test_a_broker_stops_in_order_and_returns(cluster: Cluster) -> None:
    cluster.create("steady", 6)
    _order(cluster.brokers, "stop 2")
    rows = cluster.partitions("steady")
    assert all(row["Leader"] != "2" and "2" not in row["Isr"].split(",") for row in rows)
    _order(cluster.brokers, "start 2")
    until(
        "full ISRs",
        lambda: all(len(r["Isr"].split(",")) == 3 for r in cluster.partitions("steady")),
        timeout_s=90,
    )


@pytest.mark.slow
def test_replicas_that_left_the_isr_stay_eligible_below_its_minimum(cluster: Cluster) -> None:
    cluster.create("eligible", 1, 3, "--config", "min.insync.replicas=2")
    _order(cluster.brokers, "stop 3")
    (row,) = cluster.partitions("eligible")
    assert row["Elr"].strip() == ""
    _order(cluster.brokers, "stop 2")
    (row,) = cluster.partitions("eligible")
    assert (row["Isr"], row["Elr"].strip()) == ("1", "2")
    _order(cluster.brokers, "start 2")
    _order(cluster.brokers, "start 3")

    def is_whole() -> bool:
        (now,) = cluster.partitions("eligible")
        return len(now["Isr"].split(",")) == 3 and not now["Elr"].strip()

    until("a full ISR", is_whole, timeout_s=120)


@pytest.mark.slow
def test_a_share_group_reads(cluster: Cluster) -> None:
    if "FinalizedVersionLevel: 1" not in _feature(cluster, "share.version"):
        cluster.run("features", "upgrade", "--feature", "share.version=1")
    cluster.create("shared", 3)
    named = ("--entity-type", "groups", "--entity-name", "sharers")
    cluster.run("configs", "--alter", *named, "--add-config", "share.auto.offset.reset=earliest")
    produce(cluster, "shared", 50)
    read = cluster.run(
        "share-consumer", "--topic", "shared", "--group", "sharers",
        "--max-messages", "50", "--timeout-ms", "90000",
    )  # fmt: skip
    assert len(set(read.split())) == 50


def _feature(cluster: Cluster, name: str) -> str:
    lines = cluster.run("features", "describe").splitlines()
    return next((line for line in lines if f"Feature: {name}" in line), "")


def test_the_controller_is_killed_and_goes_on_from_its_log(cluster: Cluster) -> None:
    cluster.create("before", 3)
    node = cluster.quorum.kedge(KEDGE)
    node.kill()
    produce(cluster, "before", 100)  # brokers need no controller for this
    node.start()
    until("a leader again", lambda: describe(cluster.quorum.ports[KEDGE]))
    cluster.create("after", 3)
    assert all(len(row["Isr"].split(",")) == 3 for row in cluster.partitions("after"))
    assert len(consume(cluster, "before", 100)) == 100


def _order(process: Any, order: str) -> None:
    process.say(order)
    process.wait_for_line(f"DONE {order}", timeout_s=120)
