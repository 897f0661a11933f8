"""The two controllers, each behind the same three calls: start, told, stop.

Both have brokers that answer every request with success at once. Requests are handed over as the
controller builds them: neither encoding nor sending is part of what is measured, on either side.
Neither side writes a log. Times are milliseconds of the system's clock, which is ZooKeeper's too.
"""

from __future__ import annotations

import contextlib
import gc
import time
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol

from bench.controller.measuring import now_ms
from jvm import KAFKA_3_9, ROOT, JavaProcess, java
from kedge.brokers.port import Answered
from kedge.brokers.recording import RecordingBrokers, success
from kedge.controller.events import Started
from kedge.controller.settings import Settings
from kedge.model import BrokerId
from kedge.model.broker_requests import BrokerRequest, LeaderAndIsr
from kedge.runtime.loop import Loop
from kedge.store.port import Store
from kedge.store.zookeeper import ZooKeeperStore

DRIVER = Path(__file__).parent / "KafkaControllerAlone.java"
ME = BrokerId(1001)

# the flags of Kafka's own start script
JVM_FLAGS = (
    *("-Xmx1G", "-Xms1G", "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20"),
    *("-XX:InitiatingHeapOccupancyPercent=35", "-XX:+ExplicitGCInvokesConcurrent"),
)
_TIMEOUT_S = 120.0


class TookOver(NamedTuple):
    """A failover: the end of the event that claimed the role, and when nothing was left to do."""

    done_ms: float
    idle_ms: float
    replicas: int  # told by LeaderAndIsr


class Told(NamedTuple):
    """Brokers were told: when the last request was handed over, and nothing was left to do."""

    last_ms: float
    idle_ms: float
    replicas: int


class Side(Protocol):
    """A controller that can be started and stopped any number of times."""

    def start(self) -> TookOver:
        """A new session; claim the role, take over."""
        ...

    def told(self, replicas: int) -> Told:
        """Wait until LeaderAndIsr has told so many replicas since the last answer."""
        ...

    def stop(self) -> None:
        """End controller and session."""
        ...


# ---- Kafka ------------------------------------------------------------------------------------


class KafkaSide:
    """Kafka's own controller in a JVM that stays warm from one start to the next."""

    def __init__(self, process: JavaProcess) -> None:
        self._process = process
        process.wait_for_line("ready", timeout_s=_TIMEOUT_S)

    def start(self) -> TookOver:
        done, idle, replicas = self._ask("start", "started ")
        return TookOver(done, idle, replicas)

    def told(self, replicas: int) -> Told:
        last, idle, told = self._ask(f"told {replicas}", "told ")
        return Told(last, idle, told)

    def stop(self) -> None:
        self._ask("stop", "stopped")

    def _ask(self, line: str, answer: str) -> list[int]:
        self._process.say(line)
        return [*map(int, self._process.wait_for_line(answer, timeout_s=_TIMEOUT_S).split()[1:])]


@contextlib.contextmanager
def kafka_side(address: str, *options: str) -> Generator[KafkaSide]:
    """Kafka's controller for the time of a `with` block; options are `name=value`."""
    with java(KAFKA_3_9, str(DRIVER), address, *options, cwd=ROOT, flags=JVM_FLAGS) as process:
        yield KafkaSide(process)


# ---- Kedge ------------------------------------------------------------------------------------


@dataclass
class AnsweringBrokers(RecordingBrokers):
    """Brokers that count what they are told and keep nothing. Their answers wait until the event
    is over, as answers do that come over a network."""

    replicas: int = 0
    last_ms: float = 0.0
    owed: list[tuple[BrokerRequest, Answered]] = field(
        default_factory=list[tuple[BrokerRequest, Answered]]
    )

    def receive(self, request: BrokerRequest, answered: Answered) -> None:
        self.last_ms = now_ms()
        if isinstance(request, LeaderAndIsr):
            self.replicas += len(request.partitions)
        self.owed.append((request, answered))

    def answer_all(self) -> None:
        """Answer with success whatever is not answered yet."""
        owed, self.owed = self.owed, []
        for request, answered in owed:
            answered(success(request))

    def forget(self) -> int:
        """How many replicas were told since the last call."""
        replicas, self.replicas = self.replicas, 0
        return replicas


class KedgeSide:
    """Kedge's controller in this process, driven as its own thread would drive it."""

    def __init__(self, address: str) -> None:
        self._address = address
        self.brokers = AnsweringBrokers()

    def start(self) -> TookOver:
        return self.start_on(ZooKeeperStore(self._address))

    def start_on(self, store: Store) -> TookOver:
        """The same on a store that is there already."""
        self.take_over(store)
        done = now_ms()
        self._become_idle()
        return TookOver(done, now_ms(), self.brokers.forget())

    def take_over(self, store: Store) -> None:
        """The failover alone; brokers have not answered yet."""
        settings = Settings(auto_rebalance=False)
        self.loop = Loop(ME, store, self.brokers, now_ms=lambda: int(now_ms()), settings=settings)
        self.brokers.forget()
        self.loop.put(Started())
        self.loop.step()
        if not self.loop.context.active:
            raise AssertionError("Kedge did not win the role")

    def told(self, replicas: int) -> Told:
        deadline = time.monotonic() + _TIMEOUT_S
        while self.brokers.replicas < replicas and time.monotonic() < deadline:
            if not self.loop.step():
                self.loop.wait(0.5)
        self._become_idle()
        return Told(self.brokers.last_ms, now_ms(), self.brokers.forget())

    def _become_idle(self) -> None:
        self.brokers.answer_all()
        while self.loop.run_until_idle():
            self.brokers.answer_all()

    def stop(self) -> None:
        self.loop.close()
        del self.loop
        gc.collect()
