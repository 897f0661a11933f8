"""Four brokers with two log directories each; the fourth is a process that can be killed.

Brokers 1 to 3, and the controller or ZooKeeper, share one JVM. Broker 4 is killed with `kill -9`
and started again at the same port with the same directories.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

from jvm import KAFKA_3_9, KAFKA_4_1, JavaProcess, free_port
from jvm.clusters import (
    BROKERS,
    Extra,
    RealCluster,
    broker_apart,
    kraft_cluster,
    log_dirs_of,
    nothing_extra,
    zookeeper_cluster,
)
from kedge.protocol.messages import MetadataRequest, MetadataResponse
from tests.endpoint.client import Client
from tests.real.kedge_cluster import until

RELEASES = (KAFKA_4_1, KAFKA_3_9)
KILLABLE = 4
BROKER_IDS = (*BROKERS, KILLABLE)
METADATA = 1  # the oldest version that can ask for no topics
SETTLE_S = 60.0
# a killed broker is given up after this time: by the controller (4.1) or by ZooKeeper (3.9)
SESSION_MS = "3000"
KRAFT_SESSION = {"broker.session.timeout.ms": SESSION_MS, "broker.heartbeat.interval.ms": "500"}
ZOOKEEPER_SESSION = {"zookeeper.session.timeout.ms": SESSION_MS}


class FourBrokers:
    """A running cluster whose broker 4 can be killed."""

    def __init__(self, three: RealCluster, stack: ExitStack) -> None:
        self._three = three
        self._stack = stack
        self._fourth: JavaProcess | None = None
        self.ports = {**three.ports, KILLABLE: free_port()}

    @property
    def release(self) -> str:
        return self._three.release

    @property
    def directory(self) -> Path:
        return self._three.directory

    @property
    def zookeeper(self) -> str:
        """The address of ZooKeeper; empty with KRaft."""
        return self._three.zookeeper

    @property
    def bootstrap(self) -> str:
        """The addresses of all brokers."""
        return ",".join(f"127.0.0.1:{port}" for port in self.ports.values())

    @property
    def broker_ids(self) -> tuple[int, ...]:
        return tuple(self.ports)

    @property
    def down(self) -> tuple[int, ...]:
        """The brokers whose process has ended."""
        return (KILLABLE,) if self._fourth is None else ()

    @property
    def metadata_dir(self) -> Path:
        """Where the controller keeps the metadata log of KRaft."""
        return Path(self.log_dirs(BROKERS[0])[0])

    @property
    def killable_pid(self) -> int:
        """The process of the broker that can be killed."""
        assert self._fourth is not None, f"broker {KILLABLE} is down"
        return self._fourth.pid

    def log_dirs(self, broker: int) -> tuple[str, str]:
        """The two directories that a broker keeps logs in."""
        return log_dirs_of(self.directory, broker)

    def kill(self, broker: int = KILLABLE) -> None:
        """kill -9; returns when the process is gone, before the cluster has noticed."""
        assert broker == KILLABLE, f"broker {broker} shares its process with others"
        assert self._fourth is not None, f"broker {broker} is down already"
        self._fourth.kill()
        self._fourth = None

    def start(self, broker: int = KILLABLE) -> None:
        """Start a killed broker; returns when every broker has it in its metadata.

        Its last registration must have expired: in ZooKeeper mode a broker ends when its node
        is still there.
        """
        assert broker == KILLABLE, f"broker {broker} shares its process with others"
        assert self._fourth is None, f"broker {broker} is running"
        self.await_gone(broker)
        settings = ZOOKEEPER_SESSION if self.zookeeper else {}
        self._fourth = self._stack.enter_context(
            broker_apart(self._three, broker, self.ports[broker], settings)
        )
        everywhere = set(self.broker_ids)
        until(lambda: all(self.alive(each) == everywhere for each in self.ports), SETTLE_S)

    def await_gone(self, broker: int = KILLABLE) -> None:
        """Wait until no running broker lists a killed one as alive."""
        until(lambda: not any(broker in self.alive(each) for each in BROKERS), SETTLE_S)

    def alive(self, asked: int) -> set[int]:
        """The brokers in the metadata of one broker."""
        with Client(self.ports[asked]) as client:
            answer = client.ask(MetadataRequest(topics=[]), MetadataResponse, METADATA)
        return {broker.node_id for broker in answer.brokers}


@contextlib.contextmanager
def four_brokers(
    directory: Path, release: str, *, extra: Extra = nothing_extra
) -> Generator[FourBrokers]:
    """A cluster of a release for the time of a `with` block; `extra` settings are for 4.1."""
    with ExitStack() as stack:
        three = stack.enter_context(_three_brokers(directory, release, extra))
        cluster = FourBrokers(three, stack)
        cluster.start()
        yield cluster


def _three_brokers(
    directory: Path, release: str, extra: Extra
) -> AbstractContextManager[RealCluster]:
    if release == KAFKA_4_1:
        return kraft_cluster(directory, extra=lambda broker: {**KRAFT_SESSION, **extra(broker)})
    return zookeeper_cluster(directory)
