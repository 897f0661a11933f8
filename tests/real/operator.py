"""An operator with a shell: runs `kedge` as a process and reads what the cluster then shows."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from confluent_kafka import KafkaException, Producer

from jvm import ROOT
from kedge.cluster.kafka_admin import KafkaAdmin
from kedge.cluster.port import (
    PartitionDescription,
    Replica,
    TopicCreation,
    TopicDescription,
    broker_resource,
    topic_resource,
)
from kedge.errors import KedgeError, UnknownTopicOrPartition
from kedge.model import BrokerId, TopicPartition
from tests.real.kedge_cluster import until
from tests.real.live_cluster import LiveCluster
from tests.real.stored_configs import stored_configs

THROTTLES = ("throttled", "replica.alter.log.dirs.io.max")  # in the names of throttles
ASKING = ("apply", "resume", "cancel", "rollback")  # the verbs that ask before they act
RECORD_BYTES = 10_000
VERB_TIMEOUT_S = 120.0
POLL_S = 0.01
REPORTED_S = 10.0  # within which brokers report a config as it is stored

Replicas = tuple[int, ...]


class Killed(NamedTuple):
    """A command that ended by SIGKILL, and what it had written."""

    out: str
    err: str


@dataclass(frozen=True, slots=True)
class Done:
    """A command that ended by itself."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """What it answered."""
        return json.loads(self.out)


class Entry(NamedTuple):
    """One partition of a plan: its replicas and, where they matter, their directories."""

    replicas: Replicas
    log_dirs: tuple[str, ...] | None = None


class Operator:
    """Runs commands on one cluster, with run files in a directory of its own or in the cluster."""

    def __init__(
        self,
        cluster: LiveCluster,
        directory: Path,
        *options: str,
        bootstrap: str = "",
        state: str = "",
    ) -> None:
        """`options` are added to each command; `bootstrap` names another listener for them.

        `state` is where runs are kept, if not in `directory`; each command then starts in an empty
        directory of its own, which is its home too: it shares nothing but the cluster with others.
        """
        self.cluster = cluster
        self.directory = directory
        self.admin = KafkaAdmin(cluster.bootstrap)
        at = ("--bootstrap-server", bootstrap or cluster.bootstrap)
        self._apart = bool(state)
        kept = state or str(directory / "state")
        self._where = (*at, "--state", kept, "--output", "json", *options)

    def close(self) -> None:
        self.admin.close()

    # ---- commands -------------------------------------------------------------------------------

    def start(self, verb: str, *words: str) -> subprocess.Popen[str]:
        """Start a verb; the caller awaits or kills it."""
        sure = ("--yes",) if verb in ASKING else ()
        home = Path(tempfile.mkdtemp(prefix="home-", dir=self.directory)) if self._apart else None
        return subprocess.Popen(
            [sys.executable, "-m", "kedge", verb, *words, *sure, *self._where],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=home or ROOT,
            env={**os.environ, "HOME": str(home), "XDG_STATE_HOME": str(home)} if home else None,
        )

    def attempt(self, verb: str, *words: str) -> Done:
        """Run a verb to its end, whatever that is."""
        return ended(self.start(verb, *words))

    def run(self, verb: str, *words: str) -> dict[str, Any]:
        """What a verb answered; it must have succeeded."""
        done = self.attempt(verb, *words)
        assert done.code == 0, f"kedge {verb} ended with {done.code}: {done.err}{done.out}"
        return done.json

    def kill_when(self, holds: Callable[[], bool], verb: str, *words: str) -> Killed | Done:
        """SIGKILL a verb as soon as a condition holds, unless it has ended before."""
        process = self.start(verb, *words)
        await_moment(process, holds)
        return killed(process)

    # ---- preparing ------------------------------------------------------------------------------

    def create(self, topic: str, assignment: Mapping[int, Replicas], **configs: str) -> None:
        """Create a topic whose replicas are where the assignment says; all must be in sync."""
        named = {name.replace("_", "."): value for name, value in configs.items()}
        replicas = {p: tuple(map(BrokerId, ids)) for p, ids in assignment.items()}
        order = TopicCreation(topic, assignment=replicas, configs=named)
        refused = self.admin.create_topics([order])[topic]
        assert refused is None, refused
        until(lambda: self._is_whole([topic]))

    def delete(self, *topics: str) -> None:
        """Delete topics; returns when no broker lists them and their names can be used again.

        In ZooKeeper mode a topic is not listed while its replicas are being deleted.
        """
        self.admin.delete_topics(topics)
        until(lambda: not set(topics) & set(self.admin.topic_names()))
        again = [TopicCreation(topic, partitions=1, replication_factor=1) for topic in topics]
        until(lambda: not any(self.admin.create_topics(again, validate_only=True).values()))

    def fill(self, topic: str, partitions: Iterable[int], bytes_each: int) -> None:
        """Write so many random bytes to each partition."""
        producer = Producer({
            "bootstrap.servers": self.cluster.bootstrap, "log_level": 0, "acks": "all",
            "enable.idempotence": True, "queue.buffering.max.kbytes": 200_000,
        })  # fmt: skip
        for partition in partitions:
            for _ in range(bytes_each // RECORD_BYTES):
                _send(producer, topic, partition)
        if producer.flush(60):
            raise KafkaException(f"topic {topic} was not filled within 60 s")

    def move_directory(self, moves: Mapping[Replica, str]) -> None:
        """Move replicas to directories of their brokers; returns when they are there."""
        refused = [each for each in self.admin.alter_log_dirs(moves).values() if each is not None]
        assert not refused, refused
        topics = sorted({replica.topic for replica in moves})
        until(lambda: moves.items() <= self.directories(topics).items())

    def plan_file(self, entries: Mapping[TopicPartition, Entry], name: str = "moves.json") -> Path:
        """A reassignment file as Kafka's tool takes it."""
        rows: list[dict[str, Any]] = []
        for tp, entry in entries.items():
            row = {"topic": tp.topic, "partition": tp.partition, "replicas": entry.replicas}
            rows.append(row if entry.log_dirs is None else row | {"log_dirs": entry.log_dirs})
        path = self.directory / name
        path.write_text(json.dumps({"version": 1, "partitions": rows}))
        return path

    # ---- what the cluster shows -----------------------------------------------------------------

    def partitions(self, topics: Sequence[str]) -> dict[TopicPartition, PartitionDescription]:
        """Replicas, leader and ISR of each partition."""
        found: dict[TopicPartition, PartitionDescription] = {}
        for name, topic in self.admin.describe_topics(topics).items():
            assert isinstance(topic, TopicDescription), topic
            found |= {TopicPartition(name, each.partition): each for each in topic.partitions}
        return found

    def replicas(self, topics: Sequence[str]) -> dict[TopicPartition, Replicas]:
        """The replicas of each partition, in order."""
        return {tp: tuple(each.replicas) for tp, each in self.partitions(topics).items()}

    def leaders(self, topics: Sequence[str]) -> dict[TopicPartition, int | None]:
        """The leader of each partition."""
        return {tp: each.leader for tp, each in self.partitions(topics).items()}

    def directories(self, topics: Sequence[str], *, future: bool = False) -> dict[Replica, str]:
        """The directory of every replica on the brokers that are up; with `future` those that
        are still copied to another directory, with that directory."""
        up = [BrokerId(each) for each in self.cluster.broker_ids if each not in self.cluster.down]
        found: dict[Replica, str] = {}
        for broker, directories in self.admin.log_dirs(up, topics).items():
            assert not isinstance(directories, KedgeError), directories
            found |= {
                Replica(stored.tp.topic, stored.tp.partition, broker): directory.path
                for directory in directories
                for stored in directory.replicas
                if stored.future == future
            }
        return found

    def throttles(self) -> list[str]:
        """Every replication throttle that is set: of each broker, up or down, and of each topic.

        The configs of brokers are those that the cluster stores and those that a broker which is
        up reports; a broker reports a change a moment after it was stored.
        """
        found = set(self.broker_throttles())
        up = [BrokerId(each) for each in self.cluster.broker_ids if each not in self.cluster.down]
        places = [*map(broker_resource, up), *map(topic_resource, self.admin.topic_names())]
        for place, entries in self.admin.describe_configs(places).items():
            if isinstance(entries, UnknownTopicOrPartition):
                continue  # deleted since it was listed
            assert not isinstance(entries, KedgeError), f"{place}: {entries}"
            found |= {f"{place}: {e.name}" for e in entries if "DYNAMIC" in e.source}
        return sorted(each for each in found if is_throttle(each.split(": ")[1]))

    def broker_throttles(self) -> list[str]:
        """The replication throttles that the cluster stores for brokers, up or down."""
        return [
            f"broker {broker}: {name}"
            for broker, configs in stored_configs(self.cluster).items()
            for name in configs
            if is_throttle(name)
        ]

    def assert_no_throttles(self, within_s: float = REPORTED_S) -> None:
        """No throttle is stored or reported anywhere, once brokers report what is stored."""
        try:
            until(lambda: not self.throttles(), within_s)
        except AssertionError:
            raise AssertionError(f"throttles are left: {self.throttles()}") from None

    def _is_whole(self, topics: Sequence[str]) -> bool:
        described = self.admin.describe_topics(topics).values()
        return all(
            isinstance(topic, TopicDescription)
            and all(len(each.isr) == len(each.replicas) for each in topic.partitions)
            for topic in described
        )


def is_throttle(config: str) -> bool:
    """Whether a config limits how fast replicas are copied."""
    return any(part in config for part in THROTTLES)


def await_moment(process: subprocess.Popen[str], holds: Callable[[], bool]) -> None:
    """Wait until a condition holds or a command has ended, at most as long as a verb may take."""
    deadline = time.monotonic() + VERB_TIMEOUT_S
    while process.poll() is None and time.monotonic() < deadline and not holds():
        time.sleep(POLL_S)


def killed(process: subprocess.Popen[str]) -> Killed | Done:
    """SIGKILL a command; it may have ended before."""
    process.send_signal(signal.SIGKILL)
    out, err = process.communicate()
    if process.returncode == -signal.SIGKILL:
        return Killed(out, err)
    return Done(process.returncode, out, err)


def ended(process: subprocess.Popen[str]) -> Done:
    """A command's end; it is killed when it takes too long."""
    try:
        out, err = process.communicate(timeout=VERB_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        raise AssertionError(f"no end within {VERB_TIMEOUT_S:.0f} s: {err}{out}") from None
    return Done(process.returncode, out, err)


def _send(producer: Producer, topic: str, partition: int) -> None:
    """Hand one record to a producer; a full queue is waited for, as brokers may be slow."""
    record = os.urandom(RECORD_BYTES)
    while True:
        try:
            producer.produce(topic, record, partition=partition)
        except BufferError:
            producer.poll(0.2)
            continue
        producer.poll(0)
        return
