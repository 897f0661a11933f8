"""Kafka clusters whose brokers are processes of their own: KRaft of 4.1, and 3.9 with ZooKeeper.

They copy as brokers on machines of their own do, with Kafka's default sizes of fetches, and each
can be stopped for a while or killed. One log directory each.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from jvm import KAFKA_3_9, KAFKA_4_1, JavaProcess, free_port, java
from jvm.clusters import BOTH, PROGRAMS
from jvm.zookeeper import zookeeper

SETTINGS = {name: value for name, value in BOTH.items() if name != "replica.fetch.max.bytes"}
CONTROLLER = 1  # of a KRaft cluster: broker and controller in one process


@dataclass(frozen=True, slots=True)
class SeparateBrokers:
    """A running cluster."""

    release: str
    directory: Path
    ports: Mapping[int, int]
    processes: Mapping[int, JavaProcess]
    zookeeper: str = ""

    @property
    def bootstrap(self) -> str:
        """The addresses of all brokers."""
        return ",".join(f"127.0.0.1:{port}" for port in self.ports.values())

    @property
    def broker_ids(self) -> tuple[int, ...]:
        """All brokers, ascending."""
        return tuple(self.ports)

    def pid(self, broker: int) -> int:
        """The process of a broker."""
        return self.processes[broker].pid


@contextlib.contextmanager
def separate_brokers(
    directory: Path, release: str, *, brokers: int = 4, settings: Mapping[str, str] | None = None
) -> Generator[SeparateBrokers]:
    """A cluster for the time of a `with` block; all brokers are up when it begins."""
    ports = {broker: free_port() for broker in range(1, brokers + 1)}
    with ExitStack() as stack:
        address = stack.enter_context(zookeeper(directory)) if release == KAFKA_3_9 else ""
        controller = free_port()
        processes: dict[int, JavaProcess] = {}
        for broker, port in ports.items():
            own = _kraft(broker, port, controller) if release == KAFKA_4_1 else {}
            chosen = {
                **SETTINGS,
                "broker.id": str(broker),
                "listeners": f"PLAINTEXT://127.0.0.1:{port}",
                "zookeeper.connect": address,
                "log.dirs": str(directory / f"b{broker}"),
                **own,
                **(settings or {}),
            }
            file = directory / f"b{broker}.properties"
            lines = (f"{name}={value}\n" for name, value in chosen.items() if value)
            file.write_text("".join(lines))
            program = PROGRAMS[release]
            starting = java(release, *program, str(file), cwd=directory)
            processes[broker] = stack.enter_context(starting)
        for process in processes.values():
            process.wait_for_line("READY", timeout_s=120.0)
        yield SeparateBrokers(release, directory, ports, processes, address)


def _kraft(broker: int, port: int, controller: int) -> dict[str, str]:
    plain, leads = f"PLAINTEXT://127.0.0.1:{port}", broker == CONTROLLER
    return {
        "process.roles": "broker,controller" if leads else "broker",
        "broker.id": "",
        "node.id": str(broker),
        "listeners": plain + (f",CONTROLLER://127.0.0.1:{controller}" if leads else ""),
        "advertised.listeners": plain,
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "controller.quorum.voters": f"{CONTROLLER}@127.0.0.1:{controller}",
        "share.coordinator.state.topic.replication.factor": "1",
        "share.coordinator.state.topic.min.isr": "1",
    }
