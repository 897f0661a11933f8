"""The section of the demonstration about topics, from creation to deletion."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kedge.cli.demo.demo_lab import Demo

GB = 10**9


def created_every_way(demo: Demo) -> None:
    """By command, by replica lists, by another client, automatically, and in the metadata store."""
    demo.section("Topics, created in every way that exists")
    demo.explain("By command: the cluster places the replicas, one per rack.")
    demo.kedge(
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
    demo.grid("orders")
    demo.explain("By replica lists: the first broker of each list leads.")
    demo.kedge(
        *("topics", "create", "--topic", "payments", "--replica-assignment", "0:1:2,3:4:5,6:7:8")
    )
    demo.grid("payments")
    demo.explain("By another client's admin request: librdkafka's, here.")
    _by_librdkafka(demo, "clicks")
    demo.explain("Automatically: a producer requests a topic that does not exist.")
    _automatically(demo, "views")
    demo.explain("By writing it into the metadata store, as Kafka's first tools did.")
    _by_writing(demo, "legacy")
    demo.kedge("topics", "list")


def _by_librdkafka(demo: Demo, name: str) -> None:
    from confluent_kafka.admin import AdminClient
    from confluent_kafka.cimpl import NewTopic

    admin = AdminClient({"bootstrap.servers": demo.lab.bootstrap_servers, "log_level": 0})
    admin.create_topics([NewTopic(name, 24, 3)])[name].result(timeout=30)
    demo.grid(name)


def _automatically(demo: Demo, name: str) -> None:
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": demo.lab.bootstrap_servers, "log_level": 0})
    demo.until(
        f"topic {name}",
        lambda: bool(producer.list_topics(name, timeout=10).topics[name].partitions),
    )
    demo.grid(name)


def _by_writing(demo: Demo, name: str) -> None:
    from kedge.cluster.port import TopicCreation
    from kedge.wiring import open_cluster_on_store

    with open_cluster_on_store(demo.lab.world.new_session("demo")) as through_store:
        refusal = through_store.create_topics([TopicCreation(name, 3, 2)])[name]
    if refusal is not None:
        raise refusal
    demo.until(f"topic {name}", lambda: name in demo.cluster.topic_names() and demo.at_rest())
    demo.grid(name)


def grown_and_configured(demo: Demo) -> None:
    """More partitions, and configs."""
    demo.section("Growth and configs")
    demo.explain("New partitions start where partition 0 does; old ones never move.")
    demo.kedge("topics", "alter", "--topic", "payments", "--partitions", "6")
    demo.grid("payments")
    name = ("--entity-type", "topics", "--entity-name", "payments")
    demo.kedge("configs", "alter", *name, "--add-config", "retention.ms=86400000")
    demo.kedge("configs", "describe", *name)


def deleted(demo: Demo) -> None:
    """A topic is deleted on every broker."""
    demo.section("A topic is deleted")
    demo.kedge("topics", "delete", "--topic", "legacy", "--yes")
    demo.until("the deletion", lambda: "legacy" not in demo.cluster.topic_names())
    demo.kedge("topics", "list")
