"""Kafka's own command line tools and two other clients on a lab whose data really moves."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from kafka.admin import KafkaAdminClient

from jvm import KAFKA_3_9, KAFKA_4_1
from jvm.tools import KafkaTools, kafka_tools
from kedge.lab import Lab, LabSettings

pytestmark = pytest.mark.real

MB = 1_000_000


@dataclass
class Operator:
    """Somebody at a terminal, with a lab at thirty times the speed."""

    lab: Lab
    tools: KafkaTools
    directory: Path

    def run(self, tool: str, *arguments: str) -> str:
        """What a tool printed; it must have gone well."""
        answer = self.tools(tool, "--bootstrap-server", self.lab.bootstrap_servers, *arguments)
        assert answer.code == 0, answer.out + answer.err
        return answer.out

    def file(self, name: str, content: object) -> str:
        path = self.directory / name
        path.write_text(json.dumps(content))
        return str(path)

    def moves(self, topic: str, replicas: list[int]) -> tuple[str, str]:
        entry = {"topic": topic, "partition": 0, "replicas": replicas}
        return (
            "--reassignment-json-file",
            self.file("moves.json", {"version": 1, "partitions": [entry]}),
        )

    def until(self, holds: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 60
        while not holds():
            assert time.monotonic() < deadline, "it did not come about"
            time.sleep(0.05)

    def at_rest(self) -> bool:
        seen = self.lab.status()
        return not (seen["moves"] or seen["under_replicated"] or seen["offline"])


@pytest.fixture(scope="module", params=[KAFKA_3_9, KAFKA_4_1])
def operator(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Operator]:
    directory = tmp_path_factory.mktemp("tools")
    settings = LabSettings(brokers=6, racks=3, speed=30, session_timeout_ms=3000)
    with Lab.running(settings) as lab, kafka_tools(request.param, directory) as tools:
        yield Operator(lab, tools, directory)


def test_topics_and_configs_have_a_life(operator: Operator) -> None:
    run = operator.run
    run("topics", "--create", "--topic", "life", "--partitions", "3", "--replication-factor", "3")
    described = run("topics", "--describe", "--topic", "life").splitlines()
    assert len(described) == 4
    run("topics", "--alter", "--topic", "life", "--partitions", "5")
    name = ("--entity-type", "topics", "--entity-name", "life")
    run("configs", "--alter", *name, "--add-config", "retention.ms=5000")
    assert "retention.ms=5000" in run("configs", "--describe", *name)
    run("configs", "--alter", *name, "--delete-config", "retention.ms")
    assert "retention.ms=5000" not in run("configs", "--describe", *name)
    assert "life" in run("topics", "--list").split()
    run("topics", "--delete", "--topic", "life")
    assert "life" not in run("topics", "--list").split()


def test_data_moves_under_a_throttle_and_lies_where_it_was_sent(operator: Operator) -> None:
    run = operator.run
    run("topics", "--create", "--topic", "move", "--replica-assignment", "0:1:2")
    operator.lab.fill("move", 300 * MB)
    moves = operator.moves("move", [3, 1, 2])
    started = run("reassign", "--execute", *moves, "--throttle", str(3 * MB))
    assert "Successfully started partition reassignment for move-0\n" in started
    assert "move-0: replicas: 3,1,2,0. adding: 3. removing: 0." in run("reassign", "--list")
    assert "move-0 is still in progress." in run("reassign", "--verify", *moves)
    operator.until(operator.at_rest)
    finished = run("reassign", "--verify", *moves)
    assert "Reassignment of partition move-0 is completed.\n" in finished
    assert "Clearing topic-level throttles on topic move\n" in finished
    told = run("log-dirs", "--describe", "--topic-list", "move")
    brokers = json.loads(next(line for line in told.splitlines() if line.startswith("{")))
    sizes = {
        broker["broker"]: replica["size"]
        for broker in brokers["brokers"]
        for log_dir in broker["logDirs"]
        for replica in log_dir["partitions"]
    }
    assert sizes == dict.fromkeys((1, 2, 3), 300 * MB)
    run("topics", "--delete", "--topic", "move")


def test_a_move_is_cancelled_and_another_is_proposed(operator: Operator) -> None:
    run = operator.run
    run("topics", "--create", "--topic", "back", "--replica-assignment", "0:1:2")
    operator.lab.fill("back", 3000 * MB)
    moves = operator.moves("back", [3, 1, 2])
    run("reassign", "--execute", *moves, "--throttle", str(MB))
    cancelled = run("reassign", "--cancel", *moves)
    assert "Successfully cancelled partition reassignment for: back-0\n" in cancelled
    operator.until(operator.at_rest)
    assert "Replicas: 1,2,0" in run("topics", "--describe", "--topic", "back")
    topics = operator.file("topics.json", {"topics": [{"topic": "back"}], "version": 1})
    generated = run("reassign", "--generate", "--topics-to-move-json-file", topics,
                    "--broker-list", "3,4,5")  # fmt: skip
    assert "Proposed partition reassignment configuration" in generated
    run("topics", "--delete", "--topic", "back")


def test_a_broker_that_comes_back_is_made_leader_again(operator: Operator) -> None:
    run = operator.run
    run("topics", "--create", "--topic", "lead", "--replica-assignment", "5:4:3")
    operator.lab.inject("broker-crash", 5)
    operator.until(lambda: "Leader: 4" in run("topics", "--describe", "--topic", "lead"))
    operator.lab.inject("broker-start", 5)
    operator.until(operator.at_rest)
    preferred = ("elect", "--election-type", "preferred", "--topic", "lead", "--partition", "0")
    assert run(*preferred) == (
        "Successfully completed leader election (PREFERRED) for partitions lead-0\n"
    )
    run("topics", "--delete", "--topic", "lead")


def test_other_clients_administer_the_lab_too() -> None:
    with Lab.running(LabSettings(brokers=3)) as lab:
        theirs = AdminClient({"bootstrap.servers": lab.bootstrap_servers, "log_level": 0})
        theirs.create_topics([NewTopic("c", 2, 2)])["c"].result(timeout=20)
        assert len(theirs.list_topics("c", timeout=10).topics["c"].partitions) == 2
        pure = KafkaAdminClient(bootstrap_servers=lab.bootstrap_servers.split(","))
        try:
            pure.delete_topics(["c"])
            assert "c" not in pure.list_topics()
        finally:
            pure.close()


def test_kafkas_tools_authenticate(operator: Operator, tmp_path: Path) -> None:
    users = tmp_path / "users"
    users.write_text("ada:secret\n")
    users.chmod(0o600)
    with Lab.running(LabSettings(brokers=1, sasl_users=str(users))) as lab:

        def listed(password: str) -> int:
            config = tmp_path / f"{password}.properties"
            module = "org.apache.kafka.common.security.plain.PlainLoginModule"
            config.write_text(
                "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"
                f'sasl.jaas.config={module} required username="ada" password="{password}";\n'
            )
            words = ("--bootstrap-server", lab.bootstrap_servers, "--command-config", str(config))
            return operator.tools("topics", *words, "--list").code

        assert listed("secret") == 0
        assert listed("wrong") != 0
