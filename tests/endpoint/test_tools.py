"""Kafka's own command line tools, of the last release with ZooKeeper and of one without.

The tools run one after the other in one JVM for each release, on one lab, as a story.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from jvm import KAFKA_3_9, KAFKA_4_1, java
from jvm.tools import Answer, KafkaTools, kafka_tools
from tests.endpoint.endpoint_cluster import EndpointCluster, endpoint_cluster

pytestmark = pytest.mark.real


@dataclass
class Operator:
    """A user at a terminal."""

    cluster: EndpointCluster
    tools: KafkaTools
    directory: Path

    def run(self, tool: str, *arguments: str) -> str:
        """What a tool printed; it must have gone well."""
        answer = self.attempt(tool, *arguments)
        assert answer.code == 0, answer.out + answer.err
        return answer.out

    def attempt(self, tool: str, *arguments: str) -> Answer:
        return self.tools(tool, "--bootstrap-server", self.cluster.bootstrap, *arguments)

    def plan(self, *moves: tuple[str, int, list[int]], log_dirs: list[str] | None = None) -> str:
        """A reassignment file."""
        partitions = [
            {"topic": topic, "partition": number, "replicas": replicas}
            | ({"log_dirs": log_dirs} if log_dirs else {})
            for topic, number, replicas in moves
        ]
        path = self.directory / "plan.json"
        path.write_text(json.dumps({"version": 1, "partitions": partitions}))
        return str(path)


@pytest.fixture(scope="module", params=[KAFKA_3_9, KAFKA_4_1])
def operator(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Operator]:
    directory = tmp_path_factory.mktemp("tools")
    with endpoint_cluster() as cluster, kafka_tools(request.param, directory) as tools:
        yield Operator(cluster, tools, directory)


def test_topics_are_created_described_altered_and_deleted(operator: Operator) -> None:
    run = operator.run
    made = run("topics", "--create", "--topic", "one", "--partitions", "2",
               "--replication-factor", "2", "--config", "retention.ms=1000")  # fmt: skip
    assert made == "Created topic one.\n"
    run("topics", "--create", "--topic", "two", "--replica-assignment", "1:2,2:3")
    again = operator.attempt("topics", "--create", "--topic", "two")
    assert again.code == 1
    assert "already exists" in again.out
    assert run("topics", "--create", "--topic", "two", "--if-not-exists") == ""
    assert run("topics", "--list") == "one\ntwo\n"
    described = run("topics", "--describe", "--topic", "two").splitlines()
    assert re.match(
        r"Topic: two\tTopicId: \S{22}\tPartitionCount: 2\tReplicationFactor: 2\tConfigs: $",
        described[0],
    )
    assert described[1].startswith("\tTopic: two\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1,2")
    run("topics", "--alter", "--topic", "one", "--partitions", "4")
    assert "PartitionCount: 4" in run("topics", "--describe", "--topics-with-overrides")
    assert run("topics", "--describe", "--under-replicated-partitions") == ""
    run("topics", "--delete", "--topic", "one")
    assert run("topics", "--list") == "two\n"
    run("topics", "--delete", "--topic", "two")


def test_configs_of_topics_are_altered_and_described(operator: Operator) -> None:
    run = operator.run
    run("topics", "--create", "--topic", "conf", "--partitions", "1")
    assert run("configs", "--alter", "--topic", "conf", "--add-config",
               "retention.ms=5000,cleanup.policy=[compact,delete]") == (
        "Completed updating config for topic conf.\n"
    )  # fmt: skip
    assert run("configs", "--describe", "--topic", "conf") == (
        "Dynamic configs for topic conf are:\n"
        "  cleanup.policy=compact,delete sensitive=false "
        "synonyms={DYNAMIC_TOPIC_CONFIG:cleanup.policy=compact,delete, "
        "DEFAULT_CONFIG:log.cleanup.policy=delete}\n"
        "  retention.ms=5000 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:retention.ms=5000}\n"
    )
    run("configs", "--alter", "--topic", "conf", "--delete-config", "retention.ms")
    wrong = operator.attempt("configs", "--alter", "--topic", "conf",
                             "--add-config", "retention.ms=soon")  # fmt: skip
    assert wrong.code == 1
    assert "InvalidConfigurationException" in wrong.out + wrong.err
    run("topics", "--delete", "--topic", "conf")


def test_configs_of_brokers_are_altered_and_described(operator: Operator) -> None:
    run = operator.run
    rate = "leader.replication.throttled.rate"
    run("configs", "--alter", "--broker", "2", "--add-config", f"{rate}=100")
    assert f"  {rate}=100 sensitive=false synonyms={{DYNAMIC_BROKER_CONFIG:{rate}=100}}" in run(
        "configs", "--describe", "--broker", "2"
    )
    run("configs", "--alter", "--broker-defaults", "--add-config", "log.cleaner.threads=2")
    assert "log.cleaner.threads=2" in run("configs", "--describe", "--broker-defaults")
    assert "Dynamic configs for broker 3 are:\n" in run(
        "configs", "--describe", "--entity-type", "brokers"
    )
    assert "segment.bytes" in run("configs", "--describe", "--broker", "1", "--all")
    wrong = operator.attempt("configs", "--alter", "--broker", "2",
                             "--add-config", "num.partitions=3")  # fmt: skip
    assert "InvalidRequestException" in wrong.out + wrong.err
    run("configs", "--alter", "--broker", "2", "--delete-config", rate)


def test_a_reassignment_is_executed_verified_and_cancelled(operator: Operator) -> None:
    run, cluster = operator.run, operator.cluster
    run("topics", "--create", "--topic", "move", "--replica-assignment", "1:2,2:3")
    plan = operator.plan(("move", 0, [3, 2]), log_dirs=["/data/d1", "any"])
    started = run("reassign", "--execute", "--reassignment-json-file", plan, "--throttle", "1000")
    assert "The inter-broker throttle limit was set to 1000 B/s\n" in started
    assert "Successfully started partition reassignment for move-0\n" in started
    assert "moving log directory to /data/d1 for replica move-0 with broker 3" in started
    assert b'"leader.replication.throttled.replicas":"0:1,0:2"' in (
        cluster.data("/config/topics/move") or b""
    )
    assert run("reassign", "--list") == (
        "Current partition reassignments:\nmove-0: replicas: 3,2,1. adding: 3. removing: 1.\n"
    )
    verify = ("reassign", "--verify", "--reassignment-json-file", plan)
    assert "move-0 is still in progress." in run(*verify)
    cluster.catch_up("move", 0, [1, 2, 3])
    cluster.until(lambda: not cluster.loop.context.being_reassigned)
    finished = run(*verify)
    assert "Reassignment of partition move-0 is completed.\n" in finished
    assert "Reassignment of replica move-0-3 completed successfully.\n" in finished
    assert "Clearing topic-level throttles on topic move\n" in finished
    assert cluster.data("/config/topics/move") == b'{"version":1,"config":{}}'
    plan = operator.plan(("move", 0, [1, 2]))
    run("reassign", "--execute", "--reassignment-json-file", plan)
    cancelled = run("reassign", "--cancel", "--reassignment-json-file", plan)
    assert "Successfully cancelled partition reassignment for: move-0\n" in cancelled
    assert run("reassign", "--list") == "No partition reassignments found.\n"
    proposed = json.dumps({"topics": [{"topic": "move"}], "version": 1})
    topics = operator.directory / "topics.json"
    topics.write_text(proposed)
    generated = run("reassign", "--generate", "--topics-to-move-json-file", str(topics),
                    "--broker-list", "1,2,3")  # fmt: skip
    assert "Proposed partition reassignment configuration" in generated
    run("topics", "--delete", "--topic", "move")


def test_leaders_are_elected(operator: Operator) -> None:
    run, cluster = operator.run, operator.cluster
    run("topics", "--create", "--topic", "lead", "--replica-assignment", "3:2")
    cluster.stop(3)
    cluster.until(lambda: 3 not in cluster.loop.context.live)
    cluster.start(3)
    cluster.until(lambda: 3 in cluster.loop.context.live)
    cluster.catch_up("lead", 0, [2, 3])
    everywhere = ("elect", "--election-type", "preferred", "--all-topic-partitions")
    assert run(*everywhere) == (
        "Successfully completed leader election (PREFERRED) for partitions lead-0\n"
    )
    assert run(*everywhere) == ""
    one = run("elect", "--election-type", "preferred", "--topic", "lead", "--partition", "0")
    assert one == "Valid replica already elected for partitions lead-0\n"
    run("topics", "--delete", "--topic", "lead")


@pytest.mark.parametrize("release", [KAFKA_3_9, KAFKA_4_1])
def test_log_directories_are_described(release: str, tmp_path: Path) -> None:
    tool = "org.apache.kafka.tools.LogDirsCommand"
    with endpoint_cluster(brokers=2) as cluster:
        asked = ("--bootstrap-server", cluster.bootstrap, "--describe")
        with java(release, tool, *asked, cwd=tmp_path) as process:
            found = json.loads(process.wait_for_line("{"))
    assert {b["broker"]: sorted(d["logDir"] for d in b["logDirs"]) for b in found["brokers"]} == {
        1: ["/data/d0", "/data/d1"],
        2: ["/data/d0", "/data/d1"],
    }
