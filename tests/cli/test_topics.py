"""`kedge topics …` on a cluster in memory."""

from __future__ import annotations

import pytest

from kedge.cluster.memory import MemoryCluster
from kedge.model import BrokerId, TopicPartition
from tests.cli.cluster_commands import Desk


@pytest.fixture
def desk(capsys: pytest.CaptureFixture[str]) -> Desk:
    return Desk(MemoryCluster(3), capsys)


def create(desk: Desk, name: str, lists: str = "1:2,2:3", *more: str) -> None:
    desk.lines("topics", "create", "--topic", name, "--replica-assignment", lists, *more)


def test_a_topic_is_created_and_told_as_kafka_tells_it(desk: Desk) -> None:
    assert desk.lines("topics", "create", "--topic", "t", "--partitions", "2") == [
        "Created topic t."
    ]
    assert desk.lines("topics", "list") == ["t"]
    assert desk.json("topics", "create", "--topic", "u") == {
        "topic": "u",
        "created": True,
        "dry_run": False,
    }


def test_a_dry_run_judges_and_creates_nothing(desk: Desk) -> None:
    asked = ("topics", "create", "--topic", "t", "--dry-run")
    assert desk.lines(*asked) == ["Would create topic t."]
    assert "replicas" in desk.refusal(*asked, "--replication-factor", "9")
    assert desk.lines("topics", "list") == []


def test_a_topic_that_is_there_already_fails_unless_that_is_fine(desk: Desk) -> None:
    create(desk, "t")
    again = desk("topics", "create", "--topic", "t")
    assert (again.code, again.out) == (1, "")
    assert "already exists" in again.err
    assert desk.lines("topics", "create", "--topic", "t", "--if-not-exists") == []
    told = desk.json("topics", "create", "--topic", "t", "--if-not-exists")
    assert told["created"] is False


def test_names_that_collide_in_metrics_are_noted_beside_the_data(desk: Desk) -> None:
    outcome = desk("topics", "create", "--topic", "a.b")
    assert outcome.out == "Created topic a.b.\n"
    assert outcome.err.startswith("note: ")


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("--partitions", "0"), "--partitions 0"),
        (("--replication-factor", "0"), "--replication-factor 0"),
        (("--replication-factor", "40000"), "32767"),
        (("--partitions", "1", "--replica-assignment", "1:2"), "excludes"),
        (("--replica-assignment", "1:1"), "twice"),
        (("--config", "retention.ms="), "key=value"),
        (("--config", "nonsense=1"), "nonsense"),
    ],
)
def test_orders_that_cannot_be_are_refused(desk: Desk, words: tuple[str, ...], named: str) -> None:
    assert named in desk.refusal("topics", "create", "--topic", "t", *words)
    assert desk.lines("topics", "list") == []


def test_topics_are_chosen_by_pattern(desk: Desk) -> None:
    for name in ("orders", "orders-eu", "logs", "__consumer_offsets"):
        create(desk, name)
    listed = ("topics", "list")
    assert desk.lines(*listed, "--topic", "orders") == ["orders"]
    assert desk.lines(*listed, "--topic", "ord.*, logs") == ["logs", "orders", "orders-eu"]
    assert desk.lines(*listed, "--topic", "'logs'") == ["logs"]
    assert desk.lines(*listed, "--exclude-internal") == ["logs", "orders", "orders-eu"]
    assert desk.lines(*listed, "--topic", "nothing") == []
    assert desk.json(*listed, "--topic", "logs") == {"topics": ["logs"]}
    assert "is not a valid pattern" in desk.refusal(*listed, "--topic", "(")


def test_a_topic_is_described_as_kafka_describes_it(desk: Desk) -> None:
    create(desk, "t", "1:2,2:3", "--config", "retention.ms=5", "--config", "cleanup.policy=compact")
    first, *partitions = desk.lines("topics", "describe", "--topic", "t")
    configs = "Configs: cleanup.policy=compact,retention.ms=5"
    assert first.split("\t") == [
        "Topic: t",
        "TopicId: memory0000000000000001",
        "PartitionCount: 2",
        "ReplicationFactor: 2",
        configs,
    ]
    assert partitions == [
        "\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1,2\tElr: N/A\tLastKnownElr: N/A",
        "\tTopic: t\tPartition: 1\tLeader: 2\tReplicas: 2,3\tIsr: 2,3\tElr: N/A\tLastKnownElr: N/A",
    ]


def test_a_description_for_programs_has_the_same_facts(desk: Desk) -> None:
    create(desk, "t", "1:2")
    (topic,) = desk.json("topics", "describe")["topics"]
    assert (topic["topic"], topic["partition_count"], topic["replication_factor"]) == ("t", 1, 2)
    (partition,) = topic["partitions"]
    assert (partition["leader"], partition["replicas"], partition["isr"]) == (1, [1, 2], [1, 2])


def test_while_a_partition_moves_its_line_says_what_comes_and_goes(desk: Desk) -> None:
    create(desk, "t", "1:2")
    desk.cluster.hold_moves = True
    desk.cluster.alter_reassignments({TopicPartition("t", 0): (BrokerId(3), BrokerId(2))})
    first, partition = desk.lines("topics", "describe", "--topic", "t")
    assert "ReplicationFactor: 2" in first
    assert "\tAdding Replicas: 3\tRemoving Replicas: 1\t" in partition
    assert desk.lines("topics", "describe", "--under-replicated-partitions") == []


def test_partitions_are_filtered_by_what_is_wrong_with_them(desk: Desk) -> None:
    create(desk, "t", "1:3,1:2,3:1")
    create(desk, "lonely", "3")
    desk.cluster.stop_broker(BrokerId(3))

    def shown(*flags: str) -> list[str]:
        lines = desk.lines("topics", "describe", *flags)
        return ["-".join(word.split(": ")[1] for word in line.split("\t")[1:3]) for line in lines]

    assert shown("--under-replicated-partitions") == ["t-0", "t-2"]
    assert shown("--unavailable-partitions") == ["lonely-0"]
    assert shown("--under-min-isr-partitions") == ["lonely-0"]
    assert shown("--at-min-isr-partitions") == ["lonely-0", "t-0", "t-2"]
    both = shown("--unavailable-partitions", "--under-replicated-partitions")
    assert both == ["lonely-0", "t-0", "t-2"]
    (row,) = desk.json("topics", "describe", "--unavailable-partitions")["topics"]
    assert row["partitions"][0]["leader"] is None


def test_topics_with_configs_of_their_own_are_told_without_partitions(desk: Desk) -> None:
    create(desk, "plain")
    create(desk, "own", "1", "--config", "retention.ms=5")
    (line,) = desk.lines("topics", "describe", "--topics-with-overrides")
    assert line.startswith("Topic: own\t")
    flags = ("--topics-with-overrides", "--under-replicated-partitions")
    assert "filter" in desk.refusal("topics", "describe", *flags)


def test_a_topic_is_found_by_its_id(desk: Desk) -> None:
    create(desk, "t", "1")
    found = desk.lines("topics", "describe", "--topic-id", "memory0000000000000001")
    assert found[0].startswith("Topic: t\t")
    absent = ("topics", "describe", "--topic-id", "AAAAAAAAAAAAAAAAAAAAAQ")
    assert desk.refusal(*absent) == "No topic has the id AAAAAAAAAAAAAAAAAAAAAQ"
    assert desk.lines(*absent, "--if-exists") == []


def test_what_is_no_topic_id_is_refused_before_the_cluster_is_asked(desk: Desk) -> None:
    said = desk.refusal("topics", "describe", "--topic-id", "N/A", "--if-exists")
    assert said.startswith("--topic-id: 'N/A' is not a topic id")


@pytest.mark.parametrize(
    "words", [("describe",), ("alter", "--partitions", "3"), ("delete",)], ids=lambda w: w[0]
)
def test_no_topic_is_an_error_unless_that_is_fine(desk: Desk, words: tuple[str, ...]) -> None:
    said = desk.refusal("topics", *words, "--topic", "nothing")
    assert said == "Topic 'nothing' not found"
    assert desk.lines("topics", *words, "--topic", "nothing", "--if-exists") == []


def test_topics_grow_by_count_and_by_lists(desk: Desk) -> None:
    create(desk, "t", "1:2")
    assert desk.lines("topics", "alter", "--topic", "t", "--partitions", "2") == []
    lists = ("--replica-assignment", "1:2,2:3,3:1,1:3")
    desk.lines("topics", "alter", "--topic", "t", "--partitions", "4", *lists)
    (topic,) = desk.json("topics", "describe")["topics"]
    assert [p["replicas"] for p in topic["partitions"]][2:] == [[3, 1], [1, 3]]
    assert "already" in desk.refusal("topics", "alter", "--topic", "t", "--partitions", "4")
    dry = desk.lines("topics", "alter", "--topic", "t", "--partitions", "9", "--dry-run")
    assert dry == ["Would give topic t 9 partitions."]
    assert desk.json("topics", "describe")["topics"][0]["partition_count"] == 4


def test_topics_are_deleted_by_pattern(desk: Desk) -> None:
    for name in ("a1", "a2", "b"):
        create(desk, name)
    dry = desk.lines("topics", "delete", "--topic", "a.*", "--dry-run")
    assert dry == ["Would delete topic a1.", "Would delete topic a2."]
    assert desk.lines("topics", "delete", "--topic", "a.*", "--yes") == []
    assert desk.lines("topics", "list") == ["b"]


def test_the_properties_file_is_named_when_it_is_wrong(desk: Desk) -> None:
    said = desk.refusal("topics", "list", "--command-config", "/nowhere/client.properties")
    assert said == "/nowhere/client.properties: there is no such file or directory"
