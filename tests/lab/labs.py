"""Labs to test on, and ways to wait for what they bring about."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from kedge.cluster.kafka_admin import KafkaAdmin
from kedge.cluster.port import (
    ConfigChange,
    ConfigOp,
    TopicCreation,
    broker_resource,
    topic_resource,
)
from kedge.lab import Lab, LabSettings
from kedge.model import BrokerId, Leadership, TopicPartition
from kedge.sim.cluster_metadata import MetadataObserver
from kedge.store.znodes import TopicAssignment

PATIENCE_S = 30.0
GB = 10**9
MB = 10**6
KRAFT = ContextVar("KRAFT", default=False)  # the mode of labs that do not say


@contextmanager
def running(path: Path | None = None, **chosen: Any) -> Generator[tuple[Lab, KafkaAdmin]]:
    """A lab and a client of it; nothing may go wrong inside."""
    chosen.setdefault("kraft", KRAFT.get())
    with Lab.running(LabSettings(**chosen), path) as lab:
        admin = KafkaAdmin(lab.bootstrap_servers)
        try:
            yield lab, admin
        finally:
            admin.close()
        assert lab.cluster.thread.failures == []


def create(admin: KafkaAdmin, topic: str, *replicas: Sequence[int], **configs: str) -> None:
    """A topic on chosen brokers."""
    placed = {number: tuple(map(BrokerId, ids)) for number, ids in enumerate(replicas)}
    named = {name.replace("_", "."): value for name, value in configs.items()}
    order = TopicCreation(topic, assignment=placed, configs=named)
    assert admin.create_topics([order]) == {topic: None}


def move(admin: KafkaAdmin, topic: str, partition: int, *replicas: int) -> None:
    """Begin a move."""
    tp = TopicPartition(topic, partition)
    assert admin.alter_reassignments({tp: tuple(map(BrokerId, replicas))}) == {tp: None}


def throttle(admin: KafkaAdmin, topic: str, rate: int, brokers: Sequence[int]) -> None:
    """Slow all copies of a topic down, as Kafka's tools do."""
    halves = ("leader", "follower")
    for broker in brokers:
        change(
            admin,
            broker_resource(BrokerId(broker)),
            {f"{half}.replication.throttled.rate": str(rate) for half in halves},
        )
    lists = {f"{half}.replication.throttled.replicas": "*" for half in halves}
    change(admin, topic_resource(topic), lists)


def change(admin: KafkaAdmin, resource: Any, settings: Mapping[str, str]) -> None:
    """Set configs."""
    steps = [ConfigChange(name, ConfigOp.SET, value) for name, value in settings.items()]
    assert admin.alter_configs({resource: steps}) == {resource: None}


def until(done: Callable[[], Any], what: str = "it", timeout_s: float = PATIENCE_S) -> Any:
    """Wait for something to be true; what it came to."""
    deadline = time.monotonic() + timeout_s
    while not (found := done()):
        assert time.monotonic() < deadline, f"{what} did not come about"
        time.sleep(0.01)
    return found


class Times(MetadataObserver):
    """When each assignment was written, in seconds of lab time: exact, however busy the machine.

    `isrs` has each ISR that was written.
    """

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.begun: dict[TopicPartition, float] = {}
        self.ended: dict[TopicPartition, float] = {}
        self.isrs: list[tuple[BrokerId, ...]] = []
        lab.cluster.thread.call(self._listen)

    def _listen(self) -> None:
        self.lab.cluster.metadata.observer = self

    def topic_written(
        self, topic: str, before: TopicAssignment | None, after: TopicAssignment
    ) -> None:
        for number, now in after.partitions.items():
            tp = TopicPartition(topic, number)
            was = None if before is None else before.partitions.get(number)
            if was is not None and was.in_progress and not now.in_progress:
                self.ended[tp] = self.lab.cluster.clock.now_ms / 1000
            elif now.in_progress and was is not None and not was.in_progress:
                self.begun[tp] = self.lab.cluster.clock.now_ms / 1000

    def state_written(
        self, tp: TopicPartition, before: Leadership | None, after: Leadership
    ) -> None:
        self.isrs.append(after.isr)

    def took(self, topic: str, partition: int = 0) -> float:
        """How long a move took, once it is over."""
        tp = TopicPartition(topic, partition)
        until(lambda: tp in self.ended, f"the end of the move of {tp}")
        return self.ended[tp] - self.begun[tp]


def replicas(lab: Lab, topic: str, partition: int = 0) -> tuple[int, ...]:
    """Where a partition is, by the store."""
    now = lab.cluster.metadata.assignment(TopicPartition(topic, partition))
    return () if now is None or now.in_progress else now.replicas


def isr(lab: Lab, topic: str, partition: int = 0) -> list[int]:
    """Who is in sync, in order."""
    return sorted(lab.cluster.metadata.states[TopicPartition(topic, partition)].isr)


def leader(lab: Lab, topic: str, partition: int = 0) -> int:
    """Who leads."""
    return lab.cluster.metadata.states[TopicPartition(topic, partition)].leader


# ---- labs in another process ---------------------------------------------------------------------


def kedge(*words: object) -> subprocess.CompletedProcess[str]:
    """A command, run to its end."""
    line = [sys.executable, "-m", "kedge", *map(str, words)]
    return subprocess.run(line, capture_output=True, text=True, timeout=120, check=False)


def kedge_json(*words: object) -> Any:
    """What a command says in JSON, which is all it says."""
    done = kedge(*words, "--output", "json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@contextmanager
def detached(path: Path, *words: object) -> Generator[dict[str, Any]]:
    """A lab in a process of its own, which is ended by its id."""
    about = kedge_json("lab", "up", "--dir", path, *words, "--detach")
    try:
        yield about
    finally:
        if is_there(about["pid"]):
            os.kill(about["pid"], signal.SIGKILL)
            until(lambda: not is_there(about["pid"]), "the end of the lab")


def is_there(pid: int) -> bool:
    """Whether a process runs."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False
