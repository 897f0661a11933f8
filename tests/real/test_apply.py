"""A plan carried out on real brokers: throttled, killed half-way, resumed, rolled back."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from jvm.clusters import RealCluster
from kedge.cluster.kafka_admin import KafkaAdmin
from kedge.cluster.port import TopicDescription, TopicOrder, broker_resource, topic_resource
from kedge.errors import KedgeError
from kedge.model import BrokerId

pytestmark = pytest.mark.real

TOPIC = "applied"
B1, B2, B3 = map(BrokerId, (1, 2, 3))
BYTES = 3_000_000


class Operator:
    """Somebody at a shell, with a cluster and a file of moves."""

    def __init__(self, bootstrap: str, directory: Path) -> None:
        self.admin = KafkaAdmin(bootstrap)
        self._where = ("--bootstrap-server", bootstrap, "--state", str(directory / "state"))
        self.file = directory / "moves.json"

    def start(self, *words: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "kedge", *words, *self._where, "--output", "json"]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def run(self, *words: str) -> dict[str, object]:
        process = self.start(*words)
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        return json.loads(out)

    def replicas(self) -> tuple[BrokerId, ...]:
        topic = self.admin.describe_topics([TOPIC])[TOPIC]
        assert isinstance(topic, TopicDescription)
        return topic.partitions[0].replicas

    def throttles(self) -> list[str]:
        places = [topic_resource(TOPIC), *(broker_resource(b) for b in (B1, B2, B3))]
        found: list[str] = []
        for place, entries in self.admin.describe_configs(places).items():
            assert not isinstance(entries, KedgeError)
            named = (e for e in entries if "throttled" in e.name and "DYNAMIC" in e.source)
            found += [f"{place}: {entry.name}" for entry in named]
        return found


@pytest.fixture
def operator(cluster: RealCluster, tmp_path: Path) -> Generator[Operator]:
    operator = Operator(cluster.bootstrap, tmp_path)
    operator.admin.create_topics([TopicOrder(TOPIC, assignment={0: (B1, B2)})])
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "log_level": 0})
    for _ in range(BYTES // 10_000):
        producer.produce(TOPIC, os.urandom(10_000), partition=0)
    producer.flush(20)
    entry = {"topic": TOPIC, "partition": 0, "replicas": [3, 2]}
    operator.file.write_text(json.dumps({"version": 1, "partitions": [entry]}))
    yield operator
    operator.admin.delete_topics([TOPIC])
    operator.admin.close()


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.05)


def test_a_run_that_is_killed_is_resumed_and_can_be_taken_back(operator: Operator) -> None:
    slow = operator.start("apply", str(operator.file), "--throttle", "20kB", "--yes")
    until(lambda: bool(operator.admin.reassignments()))
    slow.send_signal(signal.SIGKILL)
    slow.communicate()
    assert operator.throttles() != []
    assert operator.run("status")["throttled"] is True
    assert operator.run("cancel")["cancelled"]
    until(lambda: operator.replicas() == (B1, B2))
    until(lambda: operator.throttles() == [])

    fast = operator.run(
        "apply", str(operator.file), "--throttle", "50MB", "--interval", "0.1", "--yes"
    )
    assert fast["complete"] is True
    assert operator.replicas() == (B3, B2)
    until(lambda: operator.throttles() == [])
    back = operator.run("rollback", "--no-throttle", "--interval", "0.1", "--yes")
    assert back["complete"] is True
    assert operator.replicas() == (B1, B2)
