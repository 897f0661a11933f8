"""Four brokers, each in a JVM of its own, and with KRaft three controllers besides them.

Any of these processes can be killed with `kill -9` and started again. Brokers have two log
directories each; where the system allows a mount, the second one of broker 4 is small and can be
filled (`SMALL_DISK`). Besides the plain listener there is one with SASL and TLS, and an authorizer.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Generator, Mapping
from contextlib import ExitStack
from pathlib import Path

from jvm import KAFKA_4_1, SMALL, JavaProcess, free_port, java
from jvm.clusters import BOTH, PROGRAMS, log_dirs_of
from jvm.zookeeper import zookeeper
from kedge.protocol.messages import MetadataRequest, MetadataResponse
from kedge.store.port import GetData, Node
from kedge.store.zookeeper import ZooKeeperStore
from tests.endpoint.client import Client
from tests.real.four_brokers import (
    BROKER_IDS,
    KRAFT_SESSION,
    METADATA,
    SETTLE_S,
    ZOOKEEPER_SESSION,
)
from tests.real.kedge_cluster import until
from tests.real.secured import Secured, secured

CONTROLLERS = (101, 102, 103)
WITH_SMALL_DISK = 4
SMALL_DISK = "40m"
ACL_AUTHORIZER = "kafka.security.authorizer.AclAuthorizer"
APART = {
    "transaction.state.log.replication.factor": "3",
    "offsets.topic.replication.factor": "3",
    "log.index.size.max.bytes": "65536",
}
QUORUM = {
    "controller.quorum.fetch.timeout.ms": "3000",
    "controller.quorum.election.timeout.ms": "1000",
}


class BrokersApart:
    """A running cluster; every node can be killed."""

    def __init__(self, directory: Path, release: str, stack: ExitStack) -> None:
        self.release, self.directory = release, directory
        self._stack = stack
        self._processes: dict[int, JavaProcess] = {}
        self.ports = {broker: free_port() for broker in BROKER_IDS}
        self._controllers = {each: free_port() for each in self._quorum}
        self.security: Secured = stack.enter_context(secured(_made(directory / "tls"), BROKER_IDS))
        self.zookeeper = ""
        if not self._controllers:
            self.zookeeper = stack.enter_context(zookeeper(_made(directory / "zookeeper")))
        self.small_disk = self._mount_small_disk()
        self._start([*self._controllers, *self.ports])

    @property
    def _quorum(self) -> tuple[int, ...]:
        return CONTROLLERS if self.release == KAFKA_4_1 else ()

    @property
    def bootstrap(self) -> str:
        return ",".join(f"127.0.0.1:{port}" for port in self.ports.values())

    @property
    def broker_ids(self) -> tuple[int, ...]:
        return tuple(self.ports)

    @property
    def down(self) -> tuple[int, ...]:
        return tuple(b for b in self.ports if b not in self._processes)

    @property
    def metadata_dir(self) -> Path:
        alive = next(each for each in CONTROLLERS if each in self._processes)
        return Path(self.log_dirs(alive)[0])

    def log_dirs(self, broker: int) -> tuple[str, str]:
        return log_dirs_of(self.directory, broker)

    def has_ended(self, node: int) -> bool:
        """Whether the process of a node is not running, by a kill or by itself."""
        return node not in self._processes or self._processes[node].has_ended

    def kill(self, broker: int) -> None:
        self._processes.pop(broker).kill()

    def start(self, broker: int) -> None:
        if broker in self.ports:
            self.await_gone(broker)
        self._start([broker])

    def restart_what_ended(self) -> None:
        """Start every node that was killed or has ended by itself."""
        for node in [*self._controllers, *self.ports]:
            if node in self._processes and self._processes[node].has_ended:
                self._processes.pop(node)
            if node not in self._processes:
                self.start(node)

    def await_gone(self, broker: int) -> None:
        others = [each for each in self.ports if each in self._processes and each != broker]
        until(lambda: not any(broker in self.alive(each) for each in others), SETTLE_S)

    def alive(self, asked: int) -> set[int]:
        """The brokers in the metadata of one broker."""
        with Client(self.ports[asked]) as client:
            answer = client.ask(MetadataRequest(topics=[]), MetadataResponse, METADATA)
        return {broker.node_id for broker in answer.brokers}

    def active_controller(self) -> int:
        """The node that is the controller now."""
        if self._controllers:
            state = self.metadata_dir / "__cluster_metadata-0" / "quorum-state"
            return int(json.loads(state.read_text())["leaderId"])
        store = ZooKeeperStore(self.zookeeper)
        try:
            (node,) = store.batch([GetData("/controller")])
        finally:
            store.close()
        assert isinstance(node, Node), node
        return int(json.loads(node.data or b"{}")["brokerid"])

    # ---- nodes ----------------------------------------------------------------------------------

    def _start(self, nodes: list[int]) -> None:
        for node in nodes:
            path = self.directory / f"n{node}.properties"
            settings = self._settings(node)
            path.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
            program = PROGRAMS[self.release]
            starting = java(
                self.release,
                *program,
                str(path),
                cwd=self.directory,
                flags=(*SMALL, "-Xshare:auto"),
            )
            self._processes[node] = self._stack.enter_context(starting)
        for node in nodes:
            self._processes[node].wait_for_line("READY", timeout_s=180)
        running = [each for each in self.ports if each in self._processes]
        until(lambda: all(self.alive(each) == set(running) for each in running), SETTLE_S)

    def _settings(self, node: int) -> dict[str, str]:
        if node in self._controllers:
            return self._controller(node)
        made = {
            **BOTH,
            **APART,
            "broker.rack": f"r{node}",
            "log.dirs": ",".join(self.log_dirs(node)),
            "inter.broker.listener.name": "PLAINTEXT",
        }
        security = self.security.broker(node)
        also = security.pop("listeners")
        made["listeners"] = f"PLAINTEXT://127.0.0.1:{self.ports[node]}{also}"
        if self._controllers:
            return {**made, **security, **KRAFT_SESSION, **self._kraft(node, "broker")}
        made |= {
            **ZOOKEEPER_SESSION,
            "broker.id": str(node),
            "zookeeper.connect": self.zookeeper,
        }
        return {**made, **security, "authorizer.class.name": ACL_AUTHORIZER}

    def _controller(self, node: int) -> dict[str, str]:
        security = self.security.broker(BROKER_IDS[0])
        kept = ("authorizer.class.name", "super.users")
        return {
            **{name: security[name] for name in kept},
            **KRAFT_SESSION,
            **QUORUM,
            **self._kraft(node, "controller"),
            "listeners": f"CONTROLLER://127.0.0.1:{self._controllers[node]}",
            "log.dirs": self.log_dirs(node)[0],
        }

    def _kraft(self, node: int, role: str) -> Mapping[str, str]:
        voters = ",".join(f"{each}@127.0.0.1:{port}" for each, port in self._controllers.items())
        return {
            "process.roles": role,
            "node.id": str(node),
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": (
                "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL_SSL:SASL_SSL"
            ),
            "controller.quorum.voters": voters,
        }

    def _mount_small_disk(self) -> Path | None:
        """A file system of its own for a log directory; None where mounting is not possible."""
        path = _made(Path(self.log_dirs(WITH_SMALL_DISK)[1]))
        command = ["mount", "-t", "tmpfs", "-o", f"size={SMALL_DISK}", "kedge-test", str(path)]
        with contextlib.suppress(OSError):
            if subprocess.run(command, capture_output=True, check=False).returncode == 0:
                self._stack.callback(subprocess.run, ["umount", "-l", str(path)], check=False)
                return path
        return None


def _made(path: Path) -> Path:
    path.mkdir()
    return path


@contextlib.contextmanager
def brokers_apart(directory: Path, release: str) -> Generator[BrokersApart]:
    """A cluster of a release for the time of a `with` block."""
    with ExitStack() as stack:
        yield BrokersApart(directory, release, stack)
