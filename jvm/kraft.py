"""KRaft quorums of Kafka's and Kedge's controllers, one process each, with real brokers."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jvm import KAFKA_4_1, JavaProcess, free_port, java
from jvm.clusters import BOTH, CLUSTER_ID, FLAGS, PROGRAMS

KEDGE = (sys.executable, "-m", "kedge")
# generous, since the machine has other work too
TIMEOUTS = {
    "controller.quorum.fetch.timeout.ms": "5000",
    "controller.quorum.election.timeout.ms": "2000",
    "controller.quorum.request.timeout.ms": "5000",
}
BROKER_SETTINGS = {
    "broker.session.timeout.ms": "9000",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "share.coordinator.state.topic.num.partitions": "3",
}


class KedgeNode:
    """A controller process of Kedge; its log is in a file."""

    def __init__(self, config: Path, log: Path) -> None:
        self._config = config
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None

    def format(self, *options: str) -> None:
        """Prepare its directory, unless that is done."""
        command = [*KEDGE, "controller", "format", "--config", str(self._config)]
        subprocess.run(
            [*command, "--cluster-id", CLUSTER_ID, "--ignore-formatted", *options],
            check=True,
            capture_output=True,
        )

    def start(self) -> None:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [*KEDGE, "controller", "run", "--config", str(self._config)],
                stdout=subprocess.DEVNULL,
                stderr=log,
            )

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def has_ended(self) -> bool:
        return self._process is None or self._process.poll() is not None

    def kill(self) -> None:
        """kill -9, and wait until it is gone."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def stop(self) -> None:
        """End it: politely, then not."""
        if self._process is None or self.has_ended:
            return
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(timeout=15)
        except subprocess.TimeoutExpired:
            self.kill()

    def entries(self) -> list[dict[str, Any]]:
        """What it has logged."""
        lines = self._log.read_text().splitlines() if self._log.exists() else []
        return [json.loads(line) for line in lines if line.startswith("{")]


class KafkaNode:
    """A controller of Kafka in a JVM of its own."""

    def __init__(self, config: Path, directory: Path) -> None:
        self._config = config
        self._directory = directory
        self._stack = contextlib.ExitStack()
        self.process: JavaProcess | None = None

    def start(self) -> None:
        """Format its directory if need be, and start; it is ready once the quorum has a leader."""
        command = java(KAFKA_4_1, *PROGRAMS[KAFKA_4_1], str(self._config), cwd=self._directory)
        self.process = self._stack.enter_context(command)

    @property
    def has_ended(self) -> bool:
        return self.process is None or self.process.has_ended

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()

    def stop(self) -> None:
        self._stack.close()
        self.process = None


@dataclass
class Quorum:
    """Controllers by id, and the brokers' JVM."""

    directory: Path
    ports: Mapping[int, int]
    nodes: dict[int, KedgeNode | KafkaNode]
    settings: Mapping[str, str]
    observers: tuple[int, ...] = ()  # controllers that are no voters
    is_dynamic: bool = False  # voters come and go (KIP-853)
    broker_ports: dict[int, int] = field(default_factory=dict[int, int])

    @property
    def voters(self) -> str:
        return ",".join(
            f"{node}@127.0.0.1:{port}"
            for node, port in self.ports.items()
            if node not in self.observers
        )

    @property
    def membership(self) -> dict[str, str]:
        """How nodes find the controllers."""
        if self.is_dynamic:
            return {"controller.quorum.bootstrap.servers": self.controllers}
        return {"controller.quorum.voters": self.voters}

    @property
    def bootstrap(self) -> str:
        return ",".join(f"127.0.0.1:{port}" for port in self.broker_ports.values())

    @property
    def controllers(self) -> str:
        return ",".join(f"127.0.0.1:{port}" for port in self.ports.values())

    def data(self, node: int) -> Path:
        return self.directory / f"c{node}"

    def log(self, node: int) -> bytes:
        """The first segment of a controller's log."""
        return (self.data(node) / "__cluster_metadata-0" / f"{0:020d}.log").read_bytes()

    def kedge(self, node: int) -> KedgeNode:
        found = self.nodes[node]
        assert isinstance(found, KedgeNode)
        return found

    def write_controller(self, node: int) -> Path:
        return _write(
            self.directory / f"c{node}.properties",
            {
                "process.roles": "controller",
                "node.id": str(node),
                "listeners": f"CONTROLLER://127.0.0.1:{self.ports[node]}",
                "controller.listener.names": "CONTROLLER",
                "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
                **self.membership,
                "log.dirs": str(self.data(node)),
                "num.network.threads": "1",
                "num.io.threads": "2",
                **TIMEOUTS,
                **self.settings,
            },
        )

    def write_broker(self, broker: int, settings: Mapping[str, str]) -> Path:
        port = self.broker_ports.setdefault(broker, free_port())
        return _write(
            self.directory / f"b{broker}.properties",
            {
                **BOTH,
                "process.roles": "broker",
                "node.id": str(broker),
                "broker.rack": f"r{broker}",
                "listeners": f"PLAINTEXT://127.0.0.1:{port}",
                "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
                "controller.listener.names": "CONTROLLER",
                "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
                **self.membership,
                "log.dirs": str(self.directory / f"b{broker}"),
                **BROKER_SETTINGS,
                **settings,
            },
        )

    @contextlib.contextmanager
    def brokers(
        self, *ids: int, settings: Mapping[str, str] | None = None
    ) -> Generator[JavaProcess]:
        """Brokers in one JVM, up when the block begins."""
        files = [str(self.write_broker(broker, settings or {})) for broker in ids]
        with java(
            KAFKA_4_1, *PROGRAMS[KAFKA_4_1], *files, cwd=self.directory, flags=FLAGS
        ) as process:
            process.wait_for_line("READY", timeout_s=120)
            yield process


@contextlib.contextmanager
def quorum(
    directory: Path,
    *,
    kedge: tuple[int, ...] = (),
    kafka: tuple[int, ...] = (),
    observers: tuple[int, ...] = (),
    settings: Mapping[str, str] | None = None,
    standalone: int | None = None,
) -> Generator[Quorum]:
    """Controllers that are formatted but not started; all have ended after the block.

    With `standalone`, one of Kedge's, the quorum is dynamic and begins with that voter alone.
    """
    ports = {node: free_port() for node in sorted((*kedge, *kafka))}
    is_dynamic = standalone is not None
    made = Quorum(directory, ports, {}, settings or {}, observers, is_dynamic)
    for node in ports:
        config = made.write_controller(node)
        if node in kedge:
            started = KedgeNode(config, directory / f"c{node}.log")
            started.format(*(("--standalone",) if node == standalone else ()))
        else:
            started = KafkaNode(config, directory)
        made.nodes[node] = started
    try:
        yield made
    finally:
        for node in made.nodes.values():
            node.stop()


def until(what: str, done: Any, *, timeout_s: float = 60.0) -> Any:
    """Wait until `done()` gives something; what was waited for is in the error."""
    deadline = time.monotonic() + timeout_s
    while True:
        found = done()
        if found:
            return found
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {timeout_s} s for: {what}")
        time.sleep(0.1)


def _write(path: Path, config: Mapping[str, str]) -> Path:
    path.write_text("".join(f"{name}={value}\n" for name, value in config.items()))
    return path
