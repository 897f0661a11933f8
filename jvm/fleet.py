"""ZooKeeper-mode brokers beside a ZooKeeper of their own: together in one JVM, or one JVM each.

Together they start fast and stop in order. Apart, each can be killed as a machine is.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from jvm import KAFKA_3_9, ROOT, SMALL, JavaProcess, free_port, java
from jvm.zookeeper import zookeeper

KAFKA_2_8 = "kafka-2.8.2"
HERE = Path(__file__).parent

SETTINGS = {
    "num.network.threads": "1",
    "num.io.threads": "2",
    "num.recovery.threads.per.data.dir": "1",
    "log.cleaner.threads": "1",
    "log.cleaner.backoff.ms": "300",
    "log.cleaner.dedupe.buffer.size": "16777216",
    "auto.create.topics.enable": "false",
    "auto.leader.rebalance.enable": "false",  # leaders move only when a test moves them
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "5",
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.num.partitions": "4",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "controlled.shutdown.retry.backoff.ms": "200",
    "zookeeper.session.timeout.ms": "2000",
    "replica.lag.time.max.ms": "5000",
    "replica.fetch.wait.max.ms": "100",
    "replica.fetch.backoff.ms": "100",
}


@dataclass
class Fleet:
    """Brokers, by id, and the ZooKeeper that they registered at."""

    directory: Path
    zookeeper: str
    release: str
    settings: Mapping[str, str]
    ports: dict[int, int]
    stack: ExitStack
    together: JavaProcess | None = None
    apart: dict[int, JavaProcess] = field(default_factory=dict[int, JavaProcess])

    @property
    def bootstrap(self) -> str:
        """All brokers' addresses."""
        return ",".join(f"127.0.0.1:{port}" for port in self.ports.values())

    def log_dir(self, broker: int) -> Path:
        """Where a broker keeps its logs."""
        return self.directory / f"b{broker}"

    # ---- together -------------------------------------------------------------------------------

    def start_together(self, *, heap: str = "-Xmx768m") -> None:
        """Start all brokers in one JVM."""
        files = [self._properties(broker) for broker in self.ports]
        flags = (heap, *(flag for flag in SMALL if not flag.startswith("-Xmx")))
        process = self.stack.enter_context(
            java(self.release, str(HERE / "Brokers.java"), *files, cwd=self.directory, flags=flags)
        )
        process.wait_for_line("READY")
        self.together = process

    def stop_broker(self, broker: int) -> None:
        """Shut one broker down in order."""
        if self.together is not None:
            self._order(f"stop {broker}")
        else:
            self.apart.pop(broker).stop()

    def start_broker(self, broker: int) -> None:
        """Start a broker that was stopped or killed; returns when it listens."""
        if self.together is not None:
            self._order(f"start {broker}")
        else:
            self.start_apart([broker])

    def _order(self, order: str) -> None:
        assert self.together is not None
        self.together.say(order)
        self.together.wait_for_line(f"DONE {order}")

    # ---- apart ----------------------------------------------------------------------------------

    def start_apart(self, brokers: Iterable[int] | None = None) -> None:
        """Start brokers, each in a JVM of its own; returns when all listen."""
        chosen = list(self.ports if brokers is None else brokers)
        for broker in chosen:
            file = self._properties(broker)
            starting = java(self.release, "kafka.Kafka", file, cwd=self.directory)
            self.apart[broker] = self.stack.enter_context(starting)
        for broker in chosen:
            await_port(self.ports[broker], self.apart[broker])

    def kill(self, broker: int) -> None:
        """kill -9."""
        self.apart.pop(broker).kill()

    def _properties(self, broker: int) -> str:
        path = self.directory / f"b{broker}.properties"
        settings = {
            **SETTINGS,
            "broker.id": str(broker),
            "listeners": f"PLAINTEXT://127.0.0.1:{self.ports[broker]}",
            "zookeeper.connect": self.zookeeper,
            "log.dirs": str(self.log_dir(broker)),
            **self.settings,
        }
        path.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        return str(path)


@contextlib.contextmanager
def fleet(
    directory: Path,
    *,
    brokers: int = 3,
    release: str = KAFKA_3_9,
    settings: Mapping[str, str] | None = None,
) -> Generator[Fleet]:
    """A ZooKeeper and, not yet started, brokers 1 to n."""
    with ExitStack() as stack:
        address = stack.enter_context(zookeeper(directory))
        ports = {broker: free_port() for broker in range(1, brokers + 1)}
        yield Fleet(directory, address, release, settings or {}, ports, stack)


def await_port(port: int, process: JavaProcess, *, timeout_s: float = 120.0) -> None:
    """Wait until a process listens."""
    deadline = time.monotonic() + timeout_s
    while True:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        if process.has_ended or time.monotonic() > deadline:
            raise TimeoutError(f"nobody listens at port {port}: {process.last_words()}")
        time.sleep(0.05)


KEDGE = (str(ROOT / ".venv" / "bin" / "kedge"), "controller", "run")


class KedgeController:
    """`kedge controller run`, or a program that takes the same options, as a process of its own."""

    def __init__(
        self,
        zookeeper: str,
        directory: Path,
        *options: str,
        node: int = 1000,
        program: Sequence[str] = KEDGE,
    ) -> None:
        self.log = directory / f"kedge-{node}-{time.monotonic_ns()}.log"
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                [*program, "--zookeeper", zookeeper, "--id", str(node),
                 "--session-timeout-ms", "2000", *options],
                stdout=subprocess.PIPE, stderr=log, text=True, cwd=ROOT,
            )  # fmt: skip
        assert self._process.stdout is not None
        try:
            line = self._process.stdout.readline()
        except BaseException:
            self.kill()  # whoever waited for it does not know it yet
            raise
        if not line.startswith("LISTENING "):
            self.stop()
            raise RuntimeError(f"kedge did not start: {line}{self.log.read_text()[-2000:]}")
        self.address = line.split()[1]

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def kill(self) -> None:
        """kill -9."""
        self._end(signal.SIGKILL)

    def stop(self) -> int:
        """SIGTERM; the exit code."""
        return self._end(signal.SIGTERM)

    def _end(self, number: int) -> int:
        if self._process.poll() is None:
            os.kill(self._process.pid, number)
        try:
            code = self._process.wait(timeout=15)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()
        return code
