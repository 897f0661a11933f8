"""The one place where adapters are chosen.

Commands ask here for a cluster and do not know which kind they get. `clusters_from` lets a
program, or a test, hand them another kind for a while.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

from kedge.cluster.port import Cluster

OpenCluster = Callable[[str, Mapping[str, str]], Cluster]


def kafka_cluster(bootstrap: str, settings: Mapping[str, str]) -> Cluster:
    """A live Kafka cluster, reached with the settings of a client properties file."""
    from kedge.cluster.access import access_from
    from kedge.cluster.kafka_admin import KafkaAdmin

    return KafkaAdmin(bootstrap, access_from(settings))


_opening: ContextVar[OpenCluster] = ContextVar("opening", default=kafka_cluster)


@contextmanager
def clusters_from(opening: OpenCluster) -> Generator[None]:
    """Within the block, clusters are opened by this function."""
    token = _opening.set(opening)
    try:
        yield
    finally:
        _opening.reset(token)


@contextmanager
def open_cluster(bootstrap: str, settings: Mapping[str, str]) -> Generator[Cluster]:
    """A cluster for the time of a `with` block."""
    cluster = _opening.get()(bootstrap, settings)
    try:
        yield cluster
    finally:
        cluster.close()
