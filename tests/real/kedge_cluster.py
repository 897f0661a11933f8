"""Real brokers under Kedge's controller, with Kafka's own tools and a real client beside them."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, Producer

from jvm import KAFKA_3_9
from jvm.fleet import KEDGE, Fleet, KedgeController, fleet
from jvm.tools import Answer, KafkaTools, kafka_tools
from kedge.store.port import GetData, Node
from kedge.store.zookeeper import ZooKeeperStore
from tests.real.identified import read_all


@dataclass
class Run:
    """A cluster, who controls it, and somebody at a terminal."""

    fleet: Fleet
    tools: KafkaTools | None
    store: ZooKeeperStore
    directory: Path
    controllers: dict[int, KedgeController] = field(default_factory=dict[int, KedgeController])

    # ---- controllers --------------------------------------------------------------------------

    def start_kedge(
        self, node: int = 1000, *options: str, program: Sequence[str] = KEDGE
    ) -> KedgeController:
        """Start a controller process."""
        zookeeper = self.fleet.zookeeper
        started = KedgeController(zookeeper, self.directory, *options, node=node, program=program)
        self.controllers[node] = started
        return started

    def controller(self) -> int | None:
        """Who holds the role, by the store."""
        found = self.node("/controller")
        return None if found is None else json.loads(found)["brokerid"]

    def node(self, path: str) -> bytes | None:
        (answer,) = self.store.batch([GetData(path)])
        return answer.data if isinstance(answer, Node) else None

    def state(self, topic: str, partition: int = 0) -> dict[str, Any]:
        """A partition's leadership, as it is stored."""
        found = self.node(f"/brokers/topics/{topic}/partitions/{partition}/state")
        return json.loads(found or b"{}")

    def states(self, topic: str, partitions: int) -> list[dict[str, Any]]:
        """The leaderships of all partitions of a topic, read together."""
        root = f"/brokers/topics/{topic}/partitions"
        answers = self.store.batch([GetData(f"{root}/{p}/state") for p in range(partitions)])
        return [json.loads(a.data or b"{}") if isinstance(a, Node) else {} for a in answers]

    def assignment(self, topic: str) -> dict[str, Any]:
        """A topic's record, as it is stored."""
        return json.loads(self.node(f"/brokers/topics/{topic}") or b"{}")

    # ---- the terminal -------------------------------------------------------------------------

    def run(self, tool: str, *arguments: str) -> str:
        """What a tool printed; it must have gone well."""
        answer = self.attempt(tool, *arguments)
        assert answer.code == 0, answer.out + answer.err
        return answer.out

    def attempt(self, tool: str, *arguments: str) -> Answer:
        assert self.tools is not None
        return self.tools(tool, "--bootstrap-server", self.fleet.bootstrap, *arguments)

    def plan(self, moves: Mapping[tuple[str, int], list[int]]) -> str:
        """A reassignment file."""
        partitions = [
            {"topic": topic, "partition": number, "replicas": replicas}
            for (topic, number), replicas in moves.items()
        ]
        path = self.directory / f"plan-{time.monotonic_ns()}.json"
        path.write_text(json.dumps({"version": 1, "partitions": partitions}))
        return str(path)

    # ---- clients ------------------------------------------------------------------------------

    def produce(self, topic: str, values: Iterable[str | bytes], **settings: Any) -> None:
        """Send records with all acknowledgements."""
        producer = Producer({
            "bootstrap.servers": self.fleet.bootstrap, "log_level": 0,
            "acks": "all", "linger.ms": 5,
            "enable.idempotence": True, **settings,
        })  # fmt: skip
        for value in values:
            producer.produce(topic, value)
            producer.poll(0)
        assert producer.flush(60) == 0

    def consume(self, topic: str, count: int, **settings: Any) -> list[bytes]:
        """So many records, from the beginning."""
        consumer = Consumer({
            "bootstrap.servers": self.fleet.bootstrap, "log_level": 0,
            "group.id": f"g-{time.monotonic_ns()}",
            "auto.offset.reset": "earliest", "enable.auto.commit": False, **settings,
        })  # fmt: skip
        consumer.subscribe([topic])
        found: list[bytes] = []
        deadline = time.monotonic() + 60
        try:
            while len(found) < count and time.monotonic() < deadline:
                for message in consumer.consume(1000, timeout=0.5):
                    assert message.error() is None, message.error()
                    found.append(message.value() or b"")
        finally:
            consumer.close()
        return found

    def read_all(self, topic: str, partitions: int) -> list[bytes]:
        """Everything that can be read now, to the high watermark of each partition."""
        return read_all(self.fleet.bootstrap, topic, partitions)


def until(done: Callable[[], object], timeout_s: float = 30.0, pause_s: float = 0.05) -> None:
    """Wait for what others bring about."""
    deadline = time.monotonic() + timeout_s
    while not done():
        assert time.monotonic() < deadline, "it did not come about"
        time.sleep(pause_s)


@contextlib.contextmanager
def kedge_cluster(
    directory: Path,
    *,
    brokers: int = 3,
    release: str = KAFKA_3_9,
    protocol: str = "3.9",
    apart: bool = False,
    with_tools: bool = True,
    settings: Mapping[str, str] | None = None,
    options: Iterable[str] = (),
) -> Generator[Run]:
    """A cluster that Kedge controls from the beginning."""
    # brokers that can be killed are given up soon; others are not, however busy the machine is
    session_ms = "2000" if apart else "18000"
    chosen = {
        "inter.broker.protocol.version": protocol,
        "zookeeper.session.timeout.ms": session_ms,
        **(settings or {}),
    }
    with contextlib.ExitStack() as stack:
        made = stack.enter_context(
            fleet(directory, brokers=brokers, release=release, settings=chosen)
        )
        store = ZooKeeperStore(made.zookeeper)
        stack.callback(store.close)
        run = Run(made, None, store, directory)
        stack.callback(lambda: [each.stop() for each in run.controllers.values()])
        run.start_kedge(1000, "--inter-broker-protocol", protocol, *options)
        if apart:
            made.start_apart()
        else:
            made.start_together()
        if with_tools:
            run.tools = stack.enter_context(kafka_tools(KAFKA_3_9, directory))
        yield run
