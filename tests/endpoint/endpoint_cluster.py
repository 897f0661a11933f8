"""A cluster to speak to: a store, a controller on its thread, brokers that obey, a port for each.

The brokers keep no data. A replica that is added to a partition comes into the ISR when the test
says so (`catch_up`).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from kedge.brokers.recording import RecordingBrokers
from kedge.controller.events import Event, IsrChangeRequested, RequestedIsr
from kedge.controller.settings import Settings
from kedge.endpoint import (
    BackendDeps,
    ClusterSettings,
    ControllerBackend,
    Endpoint,
    EndpointThread,
    FakeLogDirs,
    Limits,
    LogDirs,
    MetadataCaches,
    QuotaSettings,
)
from kedge.model import Broker, BrokerId, Recovery, TopicPartition
from kedge.model import Endpoint as Address
from kedge.runtime.controller_role import create_persistent_nodes
from kedge.runtime.loop import Loop
from kedge.runtime.thread import LoopThread
from kedge.store.memory import MemoryEnsemble, MemoryStore
from kedge.store.port import Create, Delete, GetChildren, GetData, Node
from kedge.store.znodes import BrokerRegistration, broker_path, encode_broker

HOST = "127.0.0.1"
RACKS = {1: "a", 2: "b", 3: "a"}


@dataclass
class Choices:
    """How a cluster is set up."""

    brokers: int = 3
    settings: ClusterSettings = field(default_factory=ClusterSettings)
    limits: Limits = field(default_factory=Limits)
    quota: QuotaSettings = field(default_factory=QuotaSettings)
    racks: bool = False
    controller: int = 1
    log_dirs: LogDirs | None = None


class EndpointCluster:
    """Brokers 1 to n, of which the first is the controller."""

    def __init__(self, choices: Choices) -> None:
        self.ensemble = MemoryEnsemble()
        self.admin = MemoryStore(self.ensemble)
        create_persistent_nodes(self.admin)
        self.recorder = RecordingBrokers()
        self.images = MetadataCaches(self.recorder)
        self.controller = BrokerId(choices.controller)
        controller_settings = Settings(
            delete_topics=choices.settings.deletion_enabled, auto_rebalance=False
        )
        self.loop = Loop(
            self.controller,
            MemoryStore(self.ensemble),
            self.images,
            now_ms=lambda: int(time.monotonic() * 1000),
            settings=controller_settings,
        )
        self.thread = LoopThread(self.loop)
        self.log_dirs = choices.log_dirs or FakeLogDirs(self.images)
        self.store = MemoryStore(self.ensemble)
        deps = BackendDeps(
            self.store, self.images, {self.controller: self.loop}, self.log_dirs, "lab-cluster-id"
        )
        self.backend = ControllerBackend(deps, settings=choices.settings)
        self.endpoint = EndpointThread(
            lambda: Endpoint(self.backend, limits=choices.limits, quota=choices.quota)
        )
        self.ports: dict[BrokerId, int] = {}
        self._racks = choices.racks
        self._brokers = [BrokerId(b) for b in range(1, choices.brokers + 1)]

    def __enter__(self) -> EndpointCluster:
        self.endpoint.start()
        for broker in self._brokers:
            self.start(broker)
        self.thread.start()
        self.until(lambda: len(self.images.cache(self.controller).brokers) == len(self._brokers))
        return self

    def __exit__(self, *_: object) -> None:
        self.endpoint.stop()
        self.thread.stop()
        self.backend.close()

    # ---- what happens to brokers --------------------------------------------------------------

    def start(self, broker: int) -> None:
        """Listen, then register, as a broker does."""
        me = BrokerId(broker)
        self.ports[me] = self.endpoint.open(me, HOST, self.ports.get(me, 0))
        address = Address("PLAINTEXT", HOST, self.ports[me])
        rack = RACKS.get(broker) if self._racks else None
        described = BrokerRegistration(Broker(me, rack=rack, endpoints=(address,)))
        self.admin.batch([Create(broker_path(me), encode_broker(described), ephemeral=True)])

    def stop(self, broker: int) -> None:
        """A broker is gone."""
        me = BrokerId(broker)
        self.endpoint.close_node(me)
        self.admin.batch([Delete(broker_path(me))])

    def catch_up(self, topic: str, partition: int, isr: Sequence[int]) -> None:
        """The leader asks for this ISR, and the controller grants it."""
        tp = TopicPartition(topic, partition)
        context = self.loop.context
        now = context.leaderships[tp]
        epoch = context.registered[now.leader].epoch
        members = tuple(map(BrokerId, isr))
        wish = RequestedIsr(members, now.leader_epoch, now.partition_epoch, Recovery.RECOVERED)
        answer = self.ask(
            IsrChangeRequested(now.leader, epoch, {context.topic_ids[topic]: {partition: wish}})
        )
        assert answer.error == 0, answer

    # ---- looking ------------------------------------------------------------------------------

    @property
    def bootstrap(self) -> str:
        return ",".join(f"{HOST}:{port}" for port in self.ports.values())

    def ask(self, event: Event) -> Any:
        answers: list[Any] = []
        answered = threading.Event()

        def replied(answer: Any) -> None:
            answers.append(answer)
            answered.set()

        self.loop.put(event, replied)
        assert answered.wait(10), "the controller does not answer"
        return answers[0]

    def until(self, done: Callable[[], bool], timeout_s: float = 10.0) -> None:
        """Wait for what the controller's thread brings about."""
        deadline = time.monotonic() + timeout_s
        while not done():
            assert time.monotonic() < deadline, "it did not come about"
            time.sleep(0.002)

    def data(self, path: str) -> bytes | None:
        (answer,) = self.admin.batch([GetData(path)])
        return answer.data if isinstance(answer, Node) else None

    def children(self, path: str) -> tuple[str, ...]:
        (answer,) = self.admin.batch([GetChildren(path)])
        return getattr(answer, "names", ())


@contextmanager
def endpoint_cluster(**choices: Any) -> Generator[EndpointCluster]:
    """A cluster that runs for the time of a `with` block."""
    with EndpointCluster(Choices(**choices)) as made:
        yield made
