"""A real cluster with data and clients, and `kedge` on it as a process."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer

from jvm import ROOT
from jvm.separate import SeparateBrokers
from kedge.cluster.kafka_admin import KafkaAdmin
from kedge.cluster.port import TopicCreation
from kedge.model import BrokerId, TopicPartition

RECORD_BYTES = 10_000
JOB_TIMEOUT_S = 600.0
GONE = "-delete"  # the suffix of the directory of a replica whose files are about to be deleted


@dataclass(frozen=True, slots=True)
class Predicted:
    """What a job is predicted to take, in seconds."""

    p10: float
    middle: float
    p90: float


@dataclass(frozen=True, slots=True)
class Measured:
    """What a job took, in seconds, what it has copied, and what it had said that it takes."""

    seconds: float
    bytes_copied: int
    events: tuple[Mapping[str, Any], ...]
    predicted: Predicted | None = None


class Kedge:
    """`kedge` as an operator runs it, with its state in a directory of its own."""

    def __init__(self, cluster: SeparateBrokers, directory: Path) -> None:
        self.cluster, self.directory = cluster, directory
        self.state = directory / "state"
        where = ("--bootstrap-server", cluster.bootstrap, "--state", str(self.state))
        self._where = (*where, "--output", "json")
        self._runs = 0

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Start a command; the caller awaits or ends it."""
        return subprocess.Popen(
            [sys.executable, "-m", "kedge", *words, *self._where],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )

    def run(self, *words: str) -> Any:
        """The answer of a command that must succeed."""
        return ended(self.start(*words))[0]

    def start_job(self, *job: str) -> tuple[subprocess.Popen[str], Path]:
        """Start a job; its events go to the file that is returned."""
        self._runs += 1
        events = self.directory / f"events-{self._runs}.jsonl"
        return self.start(*job, "--yes", "--events", str(events)), events

    def carried_out(self, *job: str) -> Measured:
        """A job from its beginning to its end."""
        process, events = self.start_job(*job)
        said = ended(process)[1]
        return measured(events, said)


RANGE = re.compile(r"prediction: takes (.*?) \((.*?) to (.*?) for 8 in 10")
SECONDS = re.compile(r"(?:(\d+) min )?(\d+) s")


def told(said: str, middle: float | None) -> Predicted | None:
    """What a job has said before it began; whole seconds, but for the middle."""
    found = RANGE.search(said)
    if found is None or middle is None:
        return None
    parts = [SECONDS.fullmatch(each) for each in found.groups()[1:]]
    low, high = (60 * int(each[1] or 0) + int(each[2]) for each in parts if each is not None)
    return Predicted(min(low, middle), middle, max(high, middle))


def ended(process: subprocess.Popen[str]) -> tuple[Any, str]:
    """What a command answered and what it said; it must have succeeded."""
    try:
        out, err = process.communicate(timeout=JOB_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
    if process.returncode != 0:
        raise RuntimeError(f"{process.args} ended with {process.returncode}: {err}{out}")
    return json.loads(out), err


def measured(events: Path, said: str = "") -> Measured:
    """What a run that has ended took, from its events."""
    found = tuple(json.loads(line) for line in events.read_text().splitlines())
    summary = found[-1]["summary"]
    predicted = told(said, summary["predicted_seconds"])
    return Measured(summary["seconds"], summary["bytes_copied"], found, predicted)


# ---- data ---------------------------------------------------------------------------------------


def create_topic(
    cluster: SeparateBrokers, topic: str, replicas: Sequence[Sequence[int]], **configs: str
) -> None:
    """Create a topic with these replicas of its partitions; `_` in names of configs is a dot."""
    named = {name.replace("_", "."): value for name, value in configs.items()}
    assignment = {p: tuple(map(BrokerId, brokers)) for p, brokers in enumerate(replicas)}
    admin = KafkaAdmin(cluster.bootstrap)
    try:
        refusal = admin.create_topics([TopicCreation(topic, assignment=assignment, configs=named)])
        if refusal[topic] is not None:
            raise refusal[topic]  # pyright: ignore[reportGeneralTypeIssues]
    finally:
        admin.close()


def fill_topic(cluster: SeparateBrokers, topic: str, partitions: int, bytes_each: int) -> None:
    """Write so many bytes that cannot be compressed to each partition."""
    producer = Producer({
        "bootstrap.servers": cluster.bootstrap, "log_level": 0, "acks": "all",
        "enable.idempotence": True, "queue.buffering.max.kbytes": 200_000, "linger.ms": 5,
    })  # fmt: skip
    some = [os.urandom(RECORD_BYTES) for _ in range(20)]
    for number in range(bytes_each // RECORD_BYTES):
        for partition in range(partitions):
            while True:
                try:
                    producer.produce(topic, some[number % 20], partition=partition)
                    break
                except BufferError:
                    producer.poll(0.1)
        producer.poll(0)
    if producer.flush(120):
        raise KafkaException(f"topic {topic} was not filled")


def stored_bytes(cluster: SeparateBrokers, broker: int) -> dict[TopicPartition, int]:
    """The bytes of the logs of each replica that a broker has, from its files."""
    found: dict[TopicPartition, int] = {}
    for directory in (cluster.directory / f"b{broker}").iterdir():
        topic, _, partition = directory.name.rpartition("-")
        if partition.isdigit():
            found[TopicPartition(topic, int(partition))] = _bytes_in(directory)
    return found


def _bytes_in(directory: Path) -> int:
    try:
        return sum(each.stat().st_size for each in directory.glob("*.log"))
    except FileNotFoundError:  # deleted meanwhile
        return 0


# ---- clients ------------------------------------------------------------------------------------


@contextmanager
def clients(cluster: SeparateBrokers, topic: str, bytes_per_second: float) -> Generator[None]:
    """A producer and a consumer of a topic, within the block."""
    stopping = threading.Event()
    threads = [
        threading.Thread(target=_produce, args=(cluster, topic, bytes_per_second, stopping)),
        threading.Thread(target=_consume, args=(cluster, topic, stopping)),
    ]
    for each in threads:
        each.start()
    try:
        yield
    finally:
        stopping.set()
        for each in threads:
            each.join()


def _produce(
    cluster: SeparateBrokers, topic: str, bytes_per_second: float, stopping: threading.Event
) -> None:
    producer = Producer({
        "bootstrap.servers": cluster.bootstrap, "log_level": 0, "acks": "all",
        "enable.idempotence": True, "linger.ms": 5, "sticky.partitioning.linger.ms": 0,
    })  # fmt: skip
    value, began, sent = os.urandom(RECORD_BYTES // 5), time.monotonic(), 0
    while not stopping.is_set():
        due = (time.monotonic() - began) * bytes_per_second
        while sent * len(value) < due:
            producer.produce(topic, value, key=os.urandom(4))
            sent += 1
        producer.poll(0.02)
    producer.flush(30)


def _consume(cluster: SeparateBrokers, topic: str, stopping: threading.Event) -> None:
    consumer = Consumer({
        "bootstrap.servers": cluster.bootstrap, "log_level": 0, "group.id": "calibration",
        "auto.offset.reset": "latest", "enable.auto.commit": False,
    })  # fmt: skip
    consumer.subscribe([topic])
    try:
        while not stopping.is_set():
            consumer.consume(1000, timeout=0.2)
    finally:
        consumer.close()
