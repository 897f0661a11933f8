"""Topics from creation to deletion."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kedge.cli.demo.stage import Stage

GB = 10**9


def created_every_way(stage: Stage) -> None:
    """By command, by hand, by another client, by being asked for, and by writing it down."""
    stage.act("Topics, created in every way that exists")
    stage.tell("By command: the cluster places the replicas, one per rack.")
    stage.kedge(
        *(
            "topics",
            "create",
            "--topic",
            "orders",
            "--partitions",
            "18",
            "--replication-factor",
            "3",
        )
    )
    stage.grid("orders")
    stage.tell("By hand: the first broker of each list leads.")
    stage.kedge(
        *("topics", "create", "--topic", "payments", "--replica-assignment", "0:1:2,3:4:5,6:7:8")
    )
    stage.grid("payments")
    stage.tell("By another client's admin request: librdkafka's, here.")
    _by_librdkafka(stage, "clicks")
    stage.tell("By being asked for: a producer wants a topic that is not there.")
    _by_asking(stage, "views")
    stage.tell("By writing it into the metadata store, as the first tools did.")
    _by_writing(stage, "legacy")
    stage.kedge("topics", "list")


def _by_librdkafka(stage: Stage, name: str) -> None:
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.cimpl import NewTopic

    admin = AdminClient({"bootstrap.servers": stage.lab.bootstrap_servers, "log_level": 0})
    admin.create_topics([NewTopic(name, 24, 3)])[name].result(timeout=30)
    stage.grid(name)


def _by_asking(stage: Stage, name: str) -> None:
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": stage.lab.bootstrap_servers, "log_level": 0})
    stage.until(
        f"topic {name}",
        lambda: bool(producer.list_topics(name, timeout=10).topics[name].partitions),
    )
    stage.grid(name)


def _by_writing(stage: Stage, name: str) -> None:
    from kedge.cli.zookeeper_cluster import ZooKeeperCluster
    from kedge.cluster.port import TopicOrder
    from kedge.store.memory import MemoryStore

    through_store = ZooKeeperCluster(MemoryStore(stage.lab.cluster.ensemble))
    try:
        refusal = through_store.create_topics([TopicOrder(name, 3, 2)])[name]
    finally:
        through_store.close()
    if refusal is not None:
        raise refusal
    stage.until(f"topic {name}", lambda: name in stage.cluster.topic_names() and stage.at_rest())
    stage.grid(name)


def grown_and_configured(stage: Stage) -> None:
    """More partitions, and configs."""
    stage.act("Growth and configs")
    stage.tell("New partitions start where partition 0 does; old ones never move.")
    stage.kedge("topics", "alter", "--topic", "payments", "--partitions", "6")
    stage.grid("payments")
    name = ("--entity-type", "topics", "--entity-name", "payments")
    stage.kedge("configs", "alter", *name, "--add-config", "retention.ms=86400000")
    stage.kedge("configs", "describe", *name)


def deleted(stage: Stage) -> None:
    """A topic goes, on every broker."""
    stage.act("A topic is deleted")
    stage.kedge("topics", "delete", "--topic", "legacy", "--yes")
    stage.until("the deletion", lambda: "legacy" not in stage.cluster.topic_names())
    stage.kedge("topics", "list")
