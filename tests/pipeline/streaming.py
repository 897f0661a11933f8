"""A stream as its own process, on a real broker, that can be killed at any moment."""

from __future__ import annotations

import os
import queue
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import Producer

from jvm.clusters import RealCluster, kraft_cluster
from kedge.cluster.port import Cluster, TopicCreation
from kedge.errors import KedgeError
from kedge.pipeline.warehouse import Place
from kedge.wiring import open_cluster
from tests.pipeline.conftest import SMALL, Metrics
from tests.pipeline.oracle import accounts, expected_accounts, rows

TOPIC = "kedge.metrics"
POSITION = "kafka_topic, kafka_partition, kafka_offset"
PARTITIONS = 4
FINISH_S = 800.0  # a busy machine is no failure
LOGS_S = 60.0


@contextmanager
def kafka(directory: Path) -> Generator[RealCluster]:
    """A real cluster of Kafka 4.1 with the topic of metrics."""
    directory.mkdir(parents=True, exist_ok=True)
    with kraft_cluster(directory) as cluster:
        create_topic(cluster.bootstrap, TOPIC)
        yield cluster


def create_topic(bootstrap: str, topic: str) -> None:
    """A topic of several partitions, once its brokers have the logs of all of them."""
    with open_cluster(bootstrap, {}) as cluster:
        creation = TopicCreation(topic, partitions=PARTITIONS, replication_factor=1)
        assert cluster.create_topics([creation]) == {topic: None}
        deadline = time.monotonic() + LOGS_S
        while _logs(cluster, topic) < PARTITIONS:
            assert time.monotonic() < deadline, f"the brokers do not report the logs of {topic}"
            time.sleep(0.05)


def _logs(cluster: Cluster, topic: str) -> int:
    brokers = sorted(cluster.describe().alive)
    answers = cluster.log_dirs(brokers, [topic]).values()
    described = [each for each in answers if not isinstance(each, KedgeError)]
    return sum(len(log_dir.replicas) for dirs in described for log_dir in dirs)


def send_shuffled(bootstrap: str, topic: str, lines: Sequence[bytes], seed: int) -> None:
    """Send lines in random order, to random partitions."""
    rng = random.Random(seed)
    producer = Producer(
        {"bootstrap.servers": bootstrap, "enable.idempotence": True, "log_level": 0}
    )
    for line in rng.sample(lines, len(lines)):
        producer.produce(topic, line, partition=rng.randrange(PARTITIONS))
        producer.poll(0)
    assert producer.flush(60) == 0


def lines_of(metrics: Metrics) -> list[bytes]:
    """Every line of JSON of generated metrics, broken ones too."""
    files = sorted((metrics.directory / "raw_jsonl").rglob("*.jsonl"))
    return [line for file in files for line in file.read_bytes().splitlines()]


@dataclass(frozen=True)
class StreamCommand:
    """`kedge pipeline stream --once` with small batches, in its own process."""

    bootstrap: str
    metrics: Metrics
    directory: Path
    max_offsets: int = 5000

    @property
    def output(self) -> Place:
        """Where the tables are."""
        return self.directory / "history"

    @property
    def checkpoint(self) -> Place:
        """How far it has got."""
        return self.directory / "checkpoint"

    def arguments(self) -> list[str]:
        """The command line, without the program."""
        options = {
            "--bootstrap-server": self.bootstrap,
            "--topic": TOPIC,
            "--brokers": self.metrics.directory / "brokers.parquet",
            "--assignment": self.metrics.directory / "assignment.parquet",
            "--checkpoint": self.checkpoint,
            "--tables": self.output,
            "--max-offsets": self.max_offsets,
            "--driver-memory": "1g",
        }
        return [
            "pipeline",
            "stream",
            "--once",
            *(str(part) for pair in options.items() for part in pair),
        ]

    def start(self) -> StreamProcess:
        """Start it in its own process group."""
        return StreamProcess(self.arguments(), quick_spark(self.directory))


def quick_spark(directory: Path, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """An environment in which Spark starts soon and compiles little, with more settings."""
    settings = directory / "spark-conf"
    settings.mkdir(parents=True, exist_ok=True)
    chosen = {**SMALL, **(more or {})}
    text = "".join(f"{name} {value}\n" for name, value in chosen.items())
    (settings / "spark-defaults.conf").write_text(text)
    flags = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
    return {**os.environ, "SPARK_CONF_DIR": str(settings), "JAVA_TOOL_OPTIONS": flags}


class StreamProcess:
    """The running command: Python and its JVM, one process group."""

    def __init__(self, arguments: Sequence[str], environment: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "kedge", *arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.seen: list[str] = []
        self._lines: queue.Queue[str] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.seen.append(line.rstrip())
            self._lines.put(line)

    def wait_for_batch(self, timeout: float = FINISH_S) -> bool:
        """Whether another batch was reported before the process ended."""
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            try:
                if self._lines.get(timeout=0.2).startswith("batch "):
                    return True
            except queue.Empty:
                if self.process.poll() is not None:
                    return False
        raise TimeoutError("\n".join(self.seen[-20:]))

    def kill(self) -> None:
        """kill -9 of Python and its JVM at once."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self._close()

    def finish(self) -> str:
        """Wait for the end; return the output."""
        try:
            code = self.process.wait(FINISH_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise
        self._close()
        output = "\n".join(self.seen)
        assert code == 0, output
        return output

    def _close(self) -> None:
        self._reader.join(10)
        assert self.process.stdout is not None
        self.process.stdout.close()


def kill_somewhere(command: StreamCommand, rng: random.Random) -> str:
    """Start the stream, kill it at a random moment, and describe when.

    One time in four before the first batch is done, else some seconds after one of the next.
    """
    started = time.monotonic()
    running = command.start()
    awaited = rng.choice((0, 1, 1, 2))
    for _ in range(awaited):
        if not running.wait_for_batch():
            running.finish()
            return "not at all: it had finished"
    time.sleep(rng.uniform(0, 4) if awaited else rng.uniform(1, 15))
    running.kill()
    batches = sum(line.startswith("batch ") for line in running.seen)
    return f"after {time.monotonic() - started:.1f} s, {batches} batches reported"


def check_rows_and_accounts(command: StreamCommand, made: Metrics) -> None:
    """Every row of the topic is in bronze once, and the accounts are those expected."""
    found = rows(command.output, "bronze", POSITION)
    sent = made.expected["rows_total"] + made.expected["text_broken"]["jsonl"]
    assert (len(found), len(set(found))) == (sent, sent)
    wanted = expected_accounts(made.expected, "jsonl")
    assert {name: accounts(command.output)[name] for name in wanted} == {
        **wanted,
        "quarantined_by_reason": {k: v for k, v in wanted["quarantined_by_reason"].items() if v},
    }
