"""`kedge configs …` on a cluster in memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from kedge.cluster.memory import MemoryCluster
from kedge.cluster.port import TopicCreation
from tests.cli.cluster_commands import Desk

RATE = "leader.replication.throttled.rate"


@pytest.fixture
def desk(capsys: pytest.CaptureFixture[str]) -> Desk:
    cluster = MemoryCluster(2)
    cluster.create_topics([TopicCreation("t", 1, 1), TopicCreation("u", 1, 1)])
    return Desk(cluster, capsys)


def test_configs_are_set_removed_and_told_as_kafka_tells_them(desk: Desk) -> None:
    alter = ("configs", "alter", "--topic", "t")
    done = ["Completed updating config for topic t."]
    assert (
        desk.lines(*alter, "--add-config", "retention.ms=5,cleanup.policy=[compact,delete]") == done
    )
    assert desk.lines("configs", "describe", "--topic", "t") == [
        "Dynamic configs for topic t are:",
        "  cleanup.policy=compact,delete sensitive=false synonyms={"
        "DYNAMIC_TOPIC_CONFIG:cleanup.policy=compact,delete, DEFAULT_CONFIG:cleanup.policy=delete}",
        "  retention.ms=5 sensitive=false synonyms={"
        "DYNAMIC_TOPIC_CONFIG:retention.ms=5, DEFAULT_CONFIG:retention.ms=604800000}",
    ]
    assert desk.lines(*alter, "--delete-config", "retention.ms,cleanup.policy") == done
    assert desk.lines("configs", "describe", "--topic", "t") == ["Dynamic configs for topic t are:"]


def test_all_configs_are_told_when_asked_for(desk: Desk) -> None:
    title, *lines = desk.lines("configs", "describe", "--topic", "t", "--all")
    assert title == "All configs for topic t are:"
    assert any(line.startswith("  segment.ms=604800000 ") for line in lines)


def test_without_a_name_everything_of_a_type_is_told(desk: Desk) -> None:
    topics = desk.lines("configs", "describe", "--entity-type", "topics")
    assert topics == ["Dynamic configs for topic t are:", "Dynamic configs for topic u are:"]
    assert desk.lines("configs", "describe", "--entity-type", "brokers") == [
        "Dynamic configs for broker 1 are:",
        "Dynamic configs for broker 2 are:",
        "Default configs for brokers in the cluster are:",
    ]


def test_brokers_and_their_defaults_are_different_things(desk: Desk) -> None:
    one = desk.lines("configs", "alter", "--broker", "1", "--add-config", f"{RATE}=7")
    assert one == ["Completed updating config for broker 1."]
    every = ("configs", "alter", "--entity-type", "brokers", "--entity-default")
    assert desk.lines(*every, "--add-config", f"{RATE}=9") == [
        "Completed updating default config for brokers in the cluster."
    ]
    found = desk.json("configs", "describe", "--entity-type", "brokers")["entities"]
    values = {entity["name"]: [c["value"] for c in entity["configs"]] for entity in found}
    assert values == {"1": ["7"], "2": [], None: ["9"]}


def test_configs_come_from_a_file_too(desk: Desk, tmp_path: Path) -> None:
    file = tmp_path / "more.properties"
    file.write_text("# two\nretention.ms: 5\nsegment.ms = 6\n")
    desk.lines("configs", "alter", "--topic", "t", "--add-config-file", str(file))
    (entity,) = desk.json("configs", "describe", "--topic", "t")["entities"]
    assert {c["name"]: c["value"] for c in entity["configs"]} == {
        "retention.ms": "5",
        "segment.ms": "6",
    }


def test_a_dry_run_judges_and_changes_nothing(desk: Desk) -> None:
    asked = ("configs", "alter", "--topic", "t", "--dry-run", "--add-config")
    assert desk.lines(*asked, "retention.ms=5") == ["Would update config for topic t."]
    assert "nonsense" in desk.refusal(*asked, "nonsense=5")
    assert len(desk.lines("configs", "describe", "--topic", "t")) == 1


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ((), "No entity"),
        (("--entity-type", "towns", "--entity-name", "x"), "one of topics"),
        (("--entity-type", "topics"), "No entity given"),
        (("--entity-type", "topics", "--topic", "t"), "exclude each other"),
        (("--entity-type", "topics", "--entity-default"), "no default"),
        (("--entity-type", "topics", "--entity-name", "t", "--entity-name", "u"), "More names"),
        (("--topic", "t", "--broker", "1"), "cannot be combined"),
        (("--broker", "one"), "not a broker id"),
        (("--broker", "1", "--broker-defaults"), "use one of them"),
        (("--broker", "9"), "Broker 9 is down"),
        (("--topic", "nothing"), "nothing"),
    ],
)
def test_entities_that_cannot_be_are_refused(
    desk: Desk, words: tuple[str, ...], named: str
) -> None:
    assert named in desk.refusal("configs", "alter", *words, "--add-config", "retention.ms=5")


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ((), "Nothing to change"),
        (("--add-config", "retention.ms"), "key=value"),
        (("--add-config", "retention.ms=soon"), "retention.ms"),
        (("--delete-config", "retention.ms"), "Invalid config(s): retention.ms"),
        (("--add-config", "a=1", "--add-config-file", "x"), "exclude"),
        (("--add-config", "a=1", "--delete-config", "a"), "more than once"),
    ],
)
def test_changes_that_cannot_be_are_refused(desk: Desk, words: tuple[str, ...], named: str) -> None:
    assert named in desk.refusal("configs", "alter", "--topic", "t", *words)
    assert len(desk.lines("configs", "describe", "--topic", "t")) == 1


def test_a_secret_that_was_mistyped_is_not_repeated(desk: Desk) -> None:
    said = desk.refusal(
        "configs", "alter", "--broker", "1", "--add-config", "ssl.key.password=a=hush"
    )
    assert "hush" not in said


def test_quotas_are_set_told_and_removed(desk: Desk) -> None:
    both = ("--user", "ada", "--client", "app")
    changed = desk.lines("configs", "alter", *both, "--add-config", "producer_byte_rate=1048576")
    assert changed == ["Completed updating config for client app."]
    desk.lines("configs", "alter", "--user", "ada", "--add-config", "request_percentage=12.5")
    desk.lines("configs", "alter", "--user-defaults", "--add-config", "consumer_byte_rate=1e9")
    assert desk.lines("configs", "describe", *both) == [
        "Quota configs for user-principal 'ada', client-id 'app' are producer_byte_rate=1048576.0"
    ]
    assert desk.lines("configs", "describe", "--user", "ada") == [
        "Quota configs for user-principal 'ada' are request_percentage=12.5"
    ]
    assert desk.lines("configs", "describe", "--user-defaults") == [
        "Quota configs for the default user-principal are consumer_byte_rate=1.0E9"
    ]
    everybody = desk.json("configs", "describe", "--entity-type", "users")["entities"]
    assert [each["entity"] for each in everybody] == [
        {"user": "ada"},
        {"user": None},
    ]
    desk.lines("configs", "alter", *both, "--delete-config", "producer_byte_rate")
    assert desk.lines("configs", "describe", *both) == []


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("--add-config", "producer_byte_rate=fast"), "is not a number"),
        (("--delete-config", "producer_byte_rate"), "Invalid config(s)"),
        (("--add-config", "SCRAM-SHA-256=[password=hush]"), "SCRAM"),
    ],
)
def test_quotas_that_cannot_be_are_refused(desk: Desk, words: tuple[str, ...], named: str) -> None:
    said = desk.refusal("configs", "alter", "--user", "ada", *words)
    assert named in said
    assert "hush" not in said


def test_a_dry_run_leaves_quotas_alone(desk: Desk) -> None:
    desk.lines(
        "configs", "alter", "--user", "a", "--add-config", "request_percentage=1", "--dry-run"
    )
    assert desk.lines("configs", "describe", "--user", "a") == []


@pytest.mark.parametrize("kind", ["group", "client-metrics"])
def test_an_unknown_group_or_subscription_is_named_as_unknown(desk: Desk, kind: str) -> None:
    word = kind.removesuffix("s")
    describe = ("configs", "describe", f"--{kind}")
    unknown = f"The {word} 'x' doesn't exist and doesn't have dynamic config."
    assert desk.lines(*describe, "x") == [unknown]
    assert desk.json(*describe, "x") == {"entities": []}
    desk.lines("configs", "alter", f"--{kind}", "x", "--add-config", "interval.ms=1000")
    assert desk.lines(*describe, "x")[1].startswith("  interval.ms=1000 ")
    every = desk.lines("configs", "describe", "--entity-type", f"{word}s")
    assert every[0] == f"Dynamic configs for {kind} x are:"
