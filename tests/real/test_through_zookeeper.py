"""Commands through ZooKeeper alone, on a real 3.9 cluster whose controller obeys them."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from jvm.clusters import RealCluster
from kedge.cli.app import run
from kedge.cluster.kafka_admin import KafkaAdmin
from kedge.cluster.port import TopicDescription, topic_resource
from kedge.errors import KedgeError
from kedge.model import BrokerId
from tests.real import clusters

pytestmark = pytest.mark.real

PATIENCE_S = 30.0
B1, B2, B3 = map(BrokerId, (1, 2, 3))


@pytest.fixture
def real(pytestconfig: pytest.Config) -> RealCluster:
    return clusters.zookeeper(pytestconfig)


@pytest.fixture
def admin(real: RealCluster) -> Iterator[KafkaAdmin]:
    made = KafkaAdmin(real.bootstrap)
    yield made
    made.close()


@pytest.fixture
def name(admin: KafkaAdmin) -> Iterator[str]:
    chosen = f"znodes-{uuid.uuid4().hex[:10]}"
    yield chosen
    admin.delete_topics([chosen])


@pytest.fixture
def kedge(real: RealCluster, capsys: pytest.CaptureFixture[str]) -> Callable[..., list[str]]:
    """Run a command that must succeed; what it printed."""

    def invoke(*words: str) -> list[str]:
        code = run([*words, "--zookeeper", real.zookeeper])
        captured = capsys.readouterr()
        assert code == 0, captured.err
        return captured.out.splitlines()

    return invoke


def replicas(admin: KafkaAdmin, name: str) -> dict[int, tuple[BrokerId, ...]]:
    topic = admin.describe_topics([name])[name]
    return topic.replicas() if isinstance(topic, TopicDescription) else {}


def leader(admin: KafkaAdmin, name: str) -> BrokerId | None:
    topic = admin.describe_topics([name])[name]
    return topic.partitions[0].leader if isinstance(topic, TopicDescription) else None


def until(look: Callable[[], object], wanted: object) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while (seen := look()) != wanted and time.monotonic() < deadline:
        time.sleep(0.05)
    assert seen == wanted


def test_a_topic_lives_and_dies_by_its_nodes(
    kedge: Callable[..., list[str]], admin: KafkaAdmin, name: str
) -> None:
    lists = ("--replica-assignment", "1:2,2:3")
    created = kedge("topics", "create", "--topic", name, *lists, "--config", "retention.ms=5000")
    assert created == [f"Created topic {name}."]
    until(lambda: replicas(admin, name), {0: (B1, B2), 1: (B2, B3)})
    entries = admin.describe_configs([topic_resource(name)])[topic_resource(name)]
    assert not isinstance(entries, KedgeError)
    assert {e.value for e in entries if e.name == "retention.ms"} == {"5000"}
    title, *partitions = kedge("topics", "describe", "--topic", name)
    assert title.endswith("ReplicationFactor: 2\tConfigs: retention.ms=5000")
    assert "\tLeader: 1\tReplicas: 1,2\t" in partitions[0]
    grown = ("--partitions", "3", "--replica-assignment", "1:2,2:3,3:1")
    kedge("topics", "alter", "--topic", name, *grown)
    until(lambda: replicas(admin, name), {0: (B1, B2), 1: (B2, B3), 2: (B3, B1)})
    assert name in kedge("topics", "list")
    kedge("topics", "delete", "--topic", name, "--yes")
    until(lambda: replicas(admin, name), {})


def test_a_move_and_an_election_are_requests_that_the_controller_takes(
    kedge: Callable[..., list[str]], admin: KafkaAdmin, name: str, tmp_path: Path
) -> None:
    kedge("topics", "create", "--topic", name, "--replica-assignment", "1:2")
    until(lambda: leader(admin, name), B1)
    moves = tmp_path / "moves.json"
    entry = {"topic": name, "partition": 0, "replicas": [2, 3]}
    moves.write_text(json.dumps({"version": 1, "partitions": [entry]}))
    file = ("--reassignment-json-file", str(moves))
    started = kedge("reassign", "execute", *file, "--throttle", "50000000", "--yes")
    assert started[-1] == f"Successfully started partition reassignment for {name}-0"
    until(lambda: replicas(admin, name), {0: (B2, B3)})
    until(lambda: kedge("reassign", "list"), ["No partition reassignments found."])
    assert f"Reassignment of partition {name}-0 is completed." in kedge("reassign", "verify", *file)
    until(lambda: leader(admin, name), B2)
    moves.write_text(json.dumps({"partitions": [entry | {"replicas": [3, 2]}]}))
    kedge("reassign", "execute", *file, "--yes")
    until(lambda: replicas(admin, name), {0: (B3, B2)})
    until(lambda: kedge("reassign", "list"), ["No partition reassignments found."])
    elect = ("elect", "--election-type", "preferred", "--topic", name, "--partition", "0")
    assert kedge(*elect) == [
        f"Successfully completed leader election (PREFERRED) for partitions {name}-0"
    ]
    until(lambda: leader(admin, name), B3)
    assert kedge(*elect) == [f"Valid replica already elected for partitions {name}-0"]


def test_what_never_went_through_zookeeper_is_refused(
    real: RealCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    unclean = ["elect", "--election-type", "unclean", "--all-topic-partitions", "--yes"]
    assert run([*unclean, "--zookeeper", real.zookeeper]) == 2
    assert capsys.readouterr().err.endswith("through ZooKeeper; use --bootstrap-server\n")
    both = ["topics", "list", "--zookeeper", real.zookeeper, "--bootstrap-server", real.bootstrap]
    assert run(both) == 2
    assert "Two clusters given" in capsys.readouterr().err
