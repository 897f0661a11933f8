"""Real Kafka clusters for tests: KRaft of 4.1, and 3.9 with ZooKeeper.

Three brokers share one JVM: they start fast and stop in order. `broker_apart` adds a broker in a
JVM of its own, which can be killed and started again.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from pathlib import Path

from jvm import KAFKA_3_9, KAFKA_4_1, SMALL, JavaProcess, free_port, java

HERE = Path(__file__).parent
CLUSTER_ID = "Zm9yIHRlc3RzIG9mIEtlZA"
BROKERS = (1, 2, 3)
PROGRAMS = {
    KAFKA_4_1: (str(HERE / "KRaftCluster.java"), CLUSTER_ID),
    KAFKA_3_9: (str(HERE / "Brokers.java"),),
}
FLAGS = ("-Xmx512m", *(flag for flag in SMALL if not flag.startswith("-Xmx")))

Extra = Callable[[int], Mapping[str, str]]
Settings = Callable[[int, int], dict[str, str]]  # of a broker, by its id and port

BOTH = {
    "num.network.threads": "2",
    "num.io.threads": "4",
    "num.recovery.threads.per.data.dir": "1",
    "log.cleaner.dedupe.buffer.size": "16777216",
    "auto.create.topics.enable": "false",
    "auto.leader.rebalance.enable": "false",  # leaders move only when a test moves them
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "3",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.num.partitions": "3",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "controlled.shutdown.retry.backoff.ms": "200",
    "replica.fetch.max.bytes": "131072",  # small steps, so that a throttle bites before the end
}
# Of clusters with three brokers or more: transactions go on when one of them is killed.
THREE = {"transaction.state.log.replication.factor": "3"}


@dataclass(frozen=True, slots=True)
class RealCluster:
    """A running cluster: where it is reached, and how its brokers are stopped and started."""

    release: str
    process: JavaProcess
    ports: Mapping[int, int]
    directory: Path
    settings: Settings
    zookeeper: str = ""

    @property
    def bootstrap(self) -> str:
        """The addresses of the brokers."""
        return ",".join(f"127.0.0.1:{port}" for port in self.ports.values())

    def stop_broker(self, broker: int) -> None:
        """Shut one broker down in order."""
        self._order(f"stop {broker}")

    def start_broker(self, broker: int) -> None:
        """Start a broker that was stopped."""
        self._order(f"start {broker}")

    def log_dirs(self, broker: int) -> tuple[str, str]:
        """The two directories that a broker keeps logs in."""
        return log_dirs_of(self.directory, broker)

    def _order(self, order: str) -> None:
        self.process.say(order)
        self.process.wait_for_line(f"DONE {order}")


def nothing_extra(broker: int) -> Mapping[str, str]:
    """No settings besides the usual ones."""
    return {}


@contextlib.contextmanager
def kraft_cluster(directory: Path, *, extra: Extra = nothing_extra) -> Generator[RealCluster]:
    """Three brokers of Kafka 4.1; the first is the controller too.

    A listener of `extra` is added to the plain one: `{"listeners": ",SSL://127.0.0.1:1234"}`.
    """
    ports = {broker: free_port() for broker in BROKERS}
    controller = free_port()

    def settings(broker: int, port: int) -> dict[str, str]:
        return _kraft(directory, broker, port, controller, extra)

    files = [_write(directory, broker, settings(broker, port)) for broker, port in ports.items()]
    with java(
        KAFKA_4_1,
        *PROGRAMS[KAFKA_4_1],
        *files,
        cwd=directory,
        flags=FLAGS,
    ) as process:
        process.wait_for_line("READY", timeout_s=180)  # a busy machine is no failure
        yield RealCluster(KAFKA_4_1, process, ports, directory, settings)


@contextlib.contextmanager
def zookeeper_cluster(directory: Path) -> Generator[RealCluster]:
    """Three brokers of Kafka 3.9, their ZooKeeper beside them."""
    ports = {broker: free_port() for broker in BROKERS}
    zookeeper = free_port()
    data = directory / "zookeeper"
    data.mkdir()

    def settings(broker: int, port: int) -> dict[str, str]:
        return _zookeeper(directory, broker, port, zookeeper)

    files = [_write(directory, broker, settings(broker, port)) for broker, port in ports.items()]
    with java(
        KAFKA_3_9,
        *PROGRAMS[KAFKA_3_9],
        "zookeeper",
        str(zookeeper),
        str(data),
        *files,
        cwd=directory,
        flags=FLAGS,
    ) as process:
        process.wait_for_line("READY")
        address = f"127.0.0.1:{zookeeper}"
        yield RealCluster(KAFKA_3_9, process, ports, directory, settings, address)


@contextlib.contextmanager
def broker_apart(
    cluster: RealCluster, broker: int, port: int, settings: Mapping[str, str]
) -> Generator[JavaProcess]:
    """One more broker of a cluster, in a JVM of its own; its logs stay when it has ended."""
    chosen = {**cluster.settings(broker, port), **settings}
    file = _write(cluster.directory, broker, chosen)
    program = PROGRAMS[cluster.release]
    with java(cluster.release, *program, file, cwd=cluster.directory) as process:
        process.wait_for_line("READY")
        yield process


def _kraft(
    directory: Path, broker: int, port: int, controller: int, extra: Extra
) -> dict[str, str]:
    more = dict(extra(broker))
    plain = f"PLAINTEXT://127.0.0.1:{port}"
    leads = broker == BROKERS[0]
    also = more.pop("listeners", "")
    return {
        **BOTH,
        **THREE,
        "process.roles": "broker,controller" if leads else "broker",
        "node.id": str(broker),
        "broker.rack": f"r{broker}",
        "listeners": f"{plain}{also}" + (f",CONTROLLER://127.0.0.1:{controller}" if leads else ""),
        "advertised.listeners": f"{plain}{also}",
        "inter.broker.listener.name": "PLAINTEXT",
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": (
            "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL_SSL:SASL_SSL,SSL:SSL"
        ),
        "controller.quorum.voters": f"{BROKERS[0]}@127.0.0.1:{controller}",
        "log.dirs": ",".join(log_dirs_of(directory, broker)),
        "broker.session.timeout.ms": "6000",
        "share.coordinator.state.topic.replication.factor": "1",
        "share.coordinator.state.topic.min.isr": "1",
        **more,
    }


def _zookeeper(directory: Path, broker: int, port: int, zookeeper: int) -> dict[str, str]:
    return {
        **BOTH,
        **THREE,
        "broker.id": str(broker),
        "broker.rack": f"r{broker}",
        "listeners": f"PLAINTEXT://127.0.0.1:{port}",
        "zookeeper.connect": f"127.0.0.1:{zookeeper}",
        # three brokers in one busy JVM: a session that expires moves leaders and the controller
        "zookeeper.session.timeout.ms": "18000",
        "log.dirs": ",".join(log_dirs_of(directory, broker)),
        "log.cleaner.enable": "false",
    }


def log_dirs_of(directory: Path, broker: int) -> tuple[str, str]:
    """The two directories that a broker of a cluster in this directory keeps logs in."""
    return str(directory / f"b{broker}-a"), str(directory / f"b{broker}-b")


def _write(directory: Path, broker: int, config: Mapping[str, str]) -> str:
    path = directory / f"b{broker}.properties"
    path.write_text("".join(f"{name}={value}\n" for name, value in config.items()))
    return str(path)
