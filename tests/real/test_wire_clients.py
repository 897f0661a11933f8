"""Real clients on real brokers under Kedge: groups, transactions, compaction, and topics that
brokers create by themselves."""

from __future__ import annotations

import time

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient

from tests.real.clusters import under_kedge
from tests.real.kedge_cluster import Run, until

pytestmark = pytest.mark.real


@pytest.fixture(scope="module", params=["2.6", "3.9"])
def cluster(request: pytest.FixtureRequest) -> Run:
    run = under_kedge(request.config, request.param)
    until(lambda: run.node("/brokers/topics/__transaction_state/partitions/3/state"))
    return run


def test_a_group_shares_partitions_and_goes_on_where_it_was(cluster: Run) -> None:
    cluster.run("topics", "--create", "--topic", "shared", "--partitions", "4")
    settings = {
        "bootstrap.servers": cluster.fleet.bootstrap, "log_level": 0, "group.id": "team",
        "auto.offset.reset": "earliest", "enable.auto.commit": False,
    }  # fmt: skip
    first, second = Consumer(settings), Consumer(settings)
    seen: list[bytes] = []
    for consumer in (first, second):
        consumer.subscribe(["shared"])

    def read() -> bool:
        for consumer in (first, second):
            seen.extend(m.value() or b"" for m in consumer.consume(500, 0.2) if m.error() is None)
        return {2} == {len(c.assignment()) for c in (first, second)}

    until(read)  # they share before there is anything to read: nobody reads for the other
    cluster.produce("shared", [f"{n}" for n in range(1000)])
    until(lambda: read() and len(set(seen)) == 1000)
    for consumer in (first, second):
        read_to = [at for at in consumer.position(consumer.assignment()) if at.offset >= 0]
        if read_to:
            consumer.commit(offsets=read_to, asynchronous=False)
        consumer.close()
    cluster.produce("shared", ["new"])
    assert cluster.consume("shared", 1, **{"group.id": "team"}) == [b"new"]


def test_a_transaction_is_read_when_it_is_committed_and_never_when_aborted(cluster: Run) -> None:
    cluster.run("topics", "--create", "--topic", "money", "--partitions", "2")
    producer = Producer(
        {"bootstrap.servers": cluster.fleet.bootstrap, "log_level": 0, "transactional.id": "teller"}
    )
    producer.init_transactions(30)
    for outcome in ("aborted", "committed"):
        producer.begin_transaction()
        for number in range(10):
            producer.produce("money", f"{outcome} {number}")
        if outcome == "aborted":
            producer.flush(30)
            producer.abort_transaction(30)
        else:
            producer.commit_transaction(30)
    found = cluster.consume("money", 10, **{"isolation.level": "read_committed"})
    assert sorted(found) == [f"committed {n}".encode() for n in range(10)]


def test_a_compacted_topic_keeps_the_last_of_each_key(cluster: Run) -> None:
    cluster.run("topics", "--create", "--topic", "last", "--partitions", "1",
                "--config", "cleanup.policy=compact", "--config", "segment.ms=100",
                "--config", "min.cleanable.dirty.ratio=0.01")  # fmt: skip
    settings = {"bootstrap.servers": cluster.fleet.bootstrap, "log_level": 0, "acks": "all"}
    producer = Producer(settings)
    for number in range(300):
        producer.produce("last", f"{number}", key=f"k{number % 3}")
    producer.flush(30)

    def compacted() -> bool:
        time.sleep(0.3)
        producer.produce("last", "end", key="end")  # closes the segment before it
        producer.flush(30)
        found = [v for v in cluster.read_all("last", 1) if v != b"end"]
        return found == [b"297", b"298", b"299"]

    until(compacted)


def test_what_brokers_create_by_themselves_is_kept_off_the_controllers_node(cluster: Run) -> None:
    admin = AdminClient({
        "bootstrap.servers": cluster.fleet.bootstrap, "log_level": 0,
        "allow.auto.create.topics": True,
    })  # fmt: skip
    names = [f"auto-{n}" for n in range(6)]
    for name in names:
        producer = Producer({"bootstrap.servers": cluster.fleet.bootstrap, "log_level": 0})
        producer.produce(name, "hello")
        assert producer.flush(30) == 0
    found = admin.list_topics(timeout=10).topics
    for name in names:
        replicas = [set(p.replicas) for p in found[name].partitions.values()]
        assert replicas == [{1, 2, 3}], (name, replicas)
