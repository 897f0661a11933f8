"""Kedge as the controller of real brokers, beside Kafka 3.9.1's own controller on the same ones.

Six brokers in one JVM and a ZooKeeper in another. The role goes back and forth: Kedge's process is
stopped and one of the brokers is elected, then Kedge takes it from that broker. So both sides work
on the very same cluster, in turns.

    python -m bench real_controller
"""

from __future__ import annotations

import json
import socket
import struct
import sys
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from bench.controller.measuring import timing
from bench.report import BenchRow, BenchSection
from jvm import memory_directory
from jvm.fleet import Fleet, KedgeController, fleet
from kedge.model import BrokerId
from kedge.protocol import Reader, decode, framed
from kedge.protocol import broker_messages as m
from kedge.protocol.broker_apis import CONTROLLED_SHUTDOWN
from kedge.protocol.messages import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    MetadataRequest,
    MetadataResponse,
)
from kedge.store.port import Delete, Exists, GetData, Node, Presence
from kedge.store.znodes import CONTROLLER, broker_path
from kedge.store.zookeeper import ZooKeeperStore

BROKERS = 6
ROUNDS = 4
LEAVING = 6  # the broker that leaves; never the controller
NEW, WARMUP = ("new", 2_000, 3), ("warmup", 300, 3)
LARGE = (("three", 2_000, 3), *((f"one-{n}", 1_000, 1) for n in range(8)))
ANSWER, CREATE, FAILOVER, LEAVE, DELETE = (
    "create 2,000 × 3, until the client is answered",
    "create 2,000 × 3, until every broker knows every leader",
    "take over 10,000 partitions",
    "controlled shutdown of one broker",
    "delete 2,000 × 3",
)
WAIT_S = 300.0


@dataclass
class Bench:
    """The cluster, and what was measured on it for each side."""

    fleet: Fleet
    store: ZooKeeperStore
    directory: Path
    kedge: KedgeController | None = None
    times: dict[tuple[str, str], list[float]] = field(default_factory=dict[Any, list[float]])

    @property
    def side(self) -> str:
        """Who is in charge."""
        return "Kafka" if self.kedge is None else "Kedge"

    def note(self, what: str, seconds: float) -> None:
        """One more time."""
        self.times.setdefault((self.side, what), []).append(seconds)
        print(f"{self.side}: {what}: {seconds:.3f} s", file=sys.stderr, flush=True)

    # ---- the role -----------------------------------------------------------------------------

    def holder(self) -> int | None:
        """Who holds the role."""
        (answer,) = self.store.batch([GetData(CONTROLLER)])
        return json.loads(answer.data or b"")["brokerid"] if isinstance(answer, Node) else None

    def give_to_kedge(self, *, measured: bool) -> None:
        """Kedge takes the role; the time from its claim until it has taken over."""
        if self.kedge is not None and not measured:
            return
        options = ("--take-over", "--session-timeout-ms", "18000")
        self.kedge = KedgeController(self.fleet.zookeeper, self.directory, *options)
        self._await_role(lambda holder: holder == 1000, measured=measured)

    def give_to_kafka(self, *, measured: bool) -> None:
        """A broker takes the role, any but the one that is to leave."""
        if self.kedge is not None:
            kedge, self.kedge = self.kedge, None
            kedge.stop()
        elif not measured and self.holder() not in (None, LEAVING):
            return
        while True:
            self._await_role(lambda holder: holder in range(1, BROKERS + 1), measured=measured)
            if self.holder() != LEAVING:
                return
            self.store.batch([Delete(CONTROLLER)])

    def _await_role(self, right: Callable[[int | None], bool], *, measured: bool) -> None:
        until(lambda: right(self.holder()), 0.001)
        claimed = time.monotonic()
        until(self._is_ready, 0.001)
        if measured:
            self.note(FAILOVER, time.monotonic() - claimed)

    def _is_ready(self) -> bool:
        """Whether the controller answers: it does when it is done with taking over."""
        asked: Any = ListPartitionReassignmentsRequest(timeout_ms=60_000, topics=None)
        header = struct.pack(">hhih", 46, 0, 1, 1) + b"b\0"
        try:
            reader = Reader(exchange(self.port(), header + asked.encode(version=0)))
        except OSError:
            return False
        reader.int32()
        reader.varint()
        return decode(ListPartitionReassignmentsResponse, 0, reader).error_code == 0

    def port(self) -> int:
        """Where the controller is reached."""
        if self.kedge is not None:
            return int(self.kedge.address.rpartition(":")[2])
        return self.fleet.ports.get(self.holder() or 0, 1)

    # ---- what is measured -----------------------------------------------------------------------

    def create(self, topic: tuple[str, int, int], *, measured: bool) -> None:
        """Create a topic."""
        name, partitions, replicas = topic
        admin = AdminClient({"bootstrap.servers": self.fleet.bootstrap})
        admin.list_topics(timeout=30)
        before = time.monotonic()
        order = NewTopic(name, num_partitions=partitions, replication_factor=replicas)
        for answer in admin.create_topics([order], request_timeout=WAIT_S).values():
            answer.result()
        answered = time.monotonic() - before
        for port in self.fleet.ports.values():
            until(lambda port=port: led(port, name) == partitions, 0.02)
        if measured:
            self.note(ANSWER, answered)
            self.note(CREATE, time.monotonic() - before)

    def delete(self, name: str, *, measured: bool) -> None:
        """Delete a topic, until nothing of it is left in the store."""
        admin = AdminClient({"bootstrap.servers": self.fleet.bootstrap})
        admin.list_topics(timeout=30)
        before = time.monotonic()
        for answer in admin.delete_topics([name], request_timeout=WAIT_S).values():
            answer.result()
        until(lambda: not self._exists(f"/brokers/topics/{name}"), 0.002)
        if measured:
            self.note(DELETE, time.monotonic() - before)
        # brokers sweep deleted logs away later on: not while the other side is measured
        until(lambda: not any(self._unswept()), 0.1)

    def _unswept(self) -> Generator[Path]:
        for broker in self.fleet.ports:
            yield from self.fleet.log_dir(broker).glob("*-delete")

    def _exists(self, path: str) -> bool:
        (answer,) = self.store.batch([Exists(path)])
        return isinstance(answer, Presence) and answer.stat is not None

    def leave(self) -> None:
        """Ask the controller to let a broker go, in the broker's name; then let it go and come
        back, so that all is as it was."""
        (node,) = self.store.batch([GetData(broker_path(BrokerId(LEAVING)))])
        assert isinstance(node, Node)
        asked = m.ControlledShutdownRequest(LEAVING, node.stat.created)
        frame = CONTROLLED_SHUTDOWN.encode_request(3, asked, correlation=1, client="b")
        before = time.monotonic()
        answer = CONTROLLED_SHUTDOWN.decode_response(3, exchange(self.port(), frame[4:]))[1]
        self.note(LEAVE, time.monotonic() - before)
        assert (answer.error, answer.remaining) == (0, ()), answer
        self.fleet.stop_broker(LEAVING)
        self.fleet.start_broker(LEAVING)
        until(self._is_whole, 0.5)

    def _is_whole(self) -> bool:
        paths = [f"/brokers/topics/three/partitions/{p}/state" for p in range(2_000)]
        answers = self.store.batch([GetData(path) for path in paths])
        states = [json.loads(a.data or b"") for a in answers if isinstance(a, Node)]
        return all(len(state["isr"]) == 3 for state in states)


def until(done: Callable[[], bool], pause_s: float) -> None:
    """Wait for what others bring about."""
    deadline = time.monotonic() + WAIT_S
    while not done():
        if time.monotonic() > deadline:
            raise TimeoutError("it did not come about")
        time.sleep(pause_s)


def exchange(port: int, payload: bytes) -> bytes:
    """One request, one answer."""
    with socket.create_connection(("127.0.0.1", port), timeout=WAIT_S) as line:
        line.sendall(framed(payload))
        reader = line.makefile("rb")
        (size,) = struct.unpack(">i", reader.read(4) or b"\0\0\0\0")
        if not size:
            raise ConnectionResetError
        return reader.read(size)


def led(port: int, topic: str) -> int:
    """How many partitions of a topic a broker knows a leader of."""
    wanted = MetadataRequest.MetadataRequestTopic(name=topic)
    asked: Any = MetadataRequest(topics=[wanted], allow_auto_topic_creation=False)
    header = struct.pack(">hhih", 3, 4, 1, 1) + b"b"
    reader = Reader(exchange(port, header + asked.encode(version=4)))
    reader.int32()
    (found,) = decode(MetadataResponse, 4, reader).topics
    return sum(1 for p in found.partitions if p.leader_id >= 0)


@contextmanager
def cluster() -> Generator[Bench]:
    """Six brokers, and nobody but Kafka in charge."""
    settings = {
        "log.index.size.max.bytes": "65536",
        # deleted logs stay mapped for a minute otherwise, and the kernel limits maps
        "log.segment.delete.delay.ms": "200",
        "num.io.threads": "4",
        "log.cleaner.enable": "false",
        # Kafka's defaults: brokers that create thousands of logs are late with all they do, and
        # must not take each other for dead or slow meanwhile
        "zookeeper.session.timeout.ms": "18000",
        "replica.lag.time.max.ms": "30000",
        "replica.fetch.wait.max.ms": "500",
        "replica.fetch.backoff.ms": "1000",
    }
    with (
        tempfile.TemporaryDirectory(prefix="kedge-bench-", dir=memory_directory()) as directory,
        fleet(Path(directory), brokers=BROKERS, settings=settings) as made,
    ):
        store = ZooKeeperStore(made.zookeeper)
        made.start_together(heap="-Xmx3g")
        bench = Bench(made, store, Path(directory))
        try:
            yield bench
        finally:
            if bench.kedge is not None:
                bench.kedge.stop()
            store.close()


def run() -> BenchSection:
    """Measure both sides in turns."""
    with cluster() as bench:
        sides = [bench.give_to_kafka, bench.give_to_kedge]
        for number in range(ROUNDS + 1):  # the first round only warms both sides up
            # who comes second finds a JVM that is warmer, or has more to sweep: take turns in it
            for give in sides if number % 2 else reversed(sides):
                give(measured=False)
                bench.create(NEW if number else WARMUP, measured=number > 0)
                bench.delete((NEW if number else WARMUP)[0], measured=number > 0)
        for topic in LARGE:
            bench.create(topic, measured=False)
        bench.give_to_kedge(measured=False)  # so that the first to be measured takes the role, too
        for _ in range(ROUNDS):
            bench.give_to_kafka(measured=True)
            bench.leave()
            bench.give_to_kedge(measured=True)
            bench.leave()
        times = bench.times
    answer = {side: min(times[side, ANSWER]) for side in ("Kedge", "Kafka")}
    return BenchSection(
        "real_controller",
        "Controller of real brokers",
        "Six real brokers of Kafka 3.9.1 in one JVM; their controller is Kedge's process, and in "
        "turns one of the brokers. The ratio is Kafka's time over Kedge's: above 1, Kedge is "
        "faster.",
        tuple(
            BenchRow(what, timing(times["Kedge", what]), "Kafka", timing(times["Kafka", what]))
            for what in (CREATE, FAILOVER, LEAVE, DELETE)
        ),
        notes=(
            "Creation: from the client's request until the last broker's metadata show every "
            "leader. Nearly all of it is the brokers' own work, the same in both cases: they "
            f"create 6,000 logs. The client is answered after {answer['Kedge']:.1f} s by Kedge, "
            "which waits for all brokers to know, and after "
            f"{answer['Kafka']:.1f} s by Kafka, which waits for one of them.",
            "Taking over: 2,000 partitions with three replicas and 8,000 with one, from the claim "
            "in ZooKeeper until the controller answers a request put behind it.",
            "Controlled shutdown: from the broker's request to the answer that nothing is left.",
        ),
    )
