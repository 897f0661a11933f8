"""Finds the nodes in a cluster's metadata that can hold replicas.

Clients find a controller in the list of brokers, so a controller that is no broker (Kedge as the
controller of Kafka brokers) is listed there too. It holds nothing, has no configs and must not be
planned with. A broker always has configs, however new it is: only the configs of nodes
without a replica are read. A node that does not respond counts as a broker.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from kedge.cluster.port import Cluster, broker_resource
from kedge.model import Broker, BrokerId


def replica_hosts(
    cluster: Cluster, nodes: Iterable[Broker], holding: Collection[BrokerId]
) -> tuple[Broker, ...]:
    """The nodes without those that are controllers only; `holding` are known to hold replicas."""
    listed = tuple(nodes)
    unknown = [broker_resource(node.id) for node in listed if node.id not in holding]
    answers = cluster.describe_configs(unknown) if unknown else {}
    return tuple(node for node in listed if answers.get(broker_resource(node.id)) != ())
