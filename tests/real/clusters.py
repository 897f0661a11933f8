"""The real clusters that tests share: each is started once, when first wanted, and ended at last.

Fixtures of several directories use them, so they are kept with pytest's configuration rather than
in a fixture of one directory.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from pathlib import Path
from typing import TypeVar

import pytest

from jvm import KAFKA_3_9, KAFKA_4_1
from jvm.clusters import RealCluster, kraft_cluster, zookeeper_cluster
from jvm.tools import KafkaTools, kafka_tools
from kedge.cluster.kafka_admin import KafkaAdmin
from tests.real.brokers_apart import BrokersApart, brokers_apart
from tests.real.four_brokers import BROKER_IDS, FourBrokers, four_brokers
from tests.real.kedge_cluster import Run, kedge_cluster, until
from tests.real.secured import Secured, secured

T = TypeVar("T")

_shared = pytest.StashKey[dict[str, object]]()


def _once(
    config: pytest.Config, name: str, start: Callable[[Path], AbstractContextManager[T]]
) -> T:
    known = config.stash.setdefault(_shared, {})
    if name not in known:
        stack = ExitStack()
        directory = Path(tempfile.mkdtemp(prefix=f"kedge-{name}-"))
        stack.callback(shutil.rmtree, directory, ignore_errors=True)
        config.add_cleanup(stack.close)
        known[name] = stack.enter_context(start(directory))
    return known[name]  # pyright: ignore[reportReturnType]


def kraft(config: pytest.Config) -> RealCluster:
    """Three brokers of 4.1; they have a listener with SASL and TLS too, and an authorizer."""
    return _once(config, "kraft", lambda path: kraft_cluster(path, extra=security(config).broker))


def zookeeper(config: pytest.Config) -> RealCluster:
    """Three brokers of 3.9 and their ZooKeeper."""
    return _once(config, "zookeeper", _known_everywhere)


@contextmanager
def _known_everywhere(directory: Path) -> Generator[RealCluster]:
    """Three brokers of 3.9, each of which has heard of all: a broker is up before that."""
    with zookeeper_cluster(directory) as cluster:
        for port in cluster.ports.values():
            with closing(KafkaAdmin(f"127.0.0.1:{port}")) as broker:
                until(lambda known=broker: set(known.describe().alive) == set(cluster.ports), 60.0)
        yield cluster


def under_kedge(config: pytest.Config, protocol: str) -> Run:
    """Three brokers of 3.9 that speak this protocol among them, with Kedge as their controller."""
    settings = {"auto.create.topics.enable": "true", "default.replication.factor": "3"}
    return _once(
        config,
        f"kedge-{protocol}",
        lambda path: kedge_cluster(path, protocol=protocol, settings=settings),
    )


def security(config: pytest.Config) -> Secured:
    """Certificates, users and passwords of the 4.1 cluster's second listener."""
    return _once(config, "security", secured)


def four(config: pytest.Config, release: str) -> FourBrokers:
    """Four brokers, all of them running; on 4.1 they have a listener with SASL and TLS too, and
    an authorizer."""

    def start(path: Path) -> AbstractContextManager[FourBrokers]:
        if release == KAFKA_4_1:
            return four_brokers(path, release, extra=security_of_four(config).broker)
        return four_brokers(path, release)

    cluster = _once(config, f"four-{release}", start)
    for broker in cluster.down:
        cluster.start(broker)
    return cluster


def apart(config: pytest.Config, release: str) -> BrokersApart:
    """Four brokers in a process each, all of them running; with KRaft three controllers too."""
    cluster = _once(config, f"apart-{release}", lambda path: brokers_apart(path, release))
    cluster.restart_what_ended()
    return cluster


def security_of_four(config: pytest.Config) -> Secured:
    """Certificates, users and passwords of the second listener of four brokers."""
    return _once(config, "security-four", lambda path: secured(path, BROKER_IDS))


def tools_of(config: pytest.Config, cluster: RealCluster) -> KafkaTools:
    """Kafka's own command line of the cluster's release."""
    assert cluster.release in (KAFKA_3_9, KAFKA_4_1)
    return _once(
        config, f"tools-{cluster.release}", lambda path: kafka_tools(cluster.release, path)
    )
