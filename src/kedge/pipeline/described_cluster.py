"""What a live cluster says of itself, as ingest needs it: brokers, and leaders as a history."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from kedge.cluster.port import Cluster, ClusterDescription, PartitionDescription, TopicDescription
from kedge.errors import KedgeError
from kedge.metrics.measurement import NONE
from kedge.metrics.parsing.cluster_metadata import (
    BrokerMetadata,
    ClusterMetadata,
    LeaderHistory,
    MetadataChange,
    PartitionState,
)
from kedge.pipeline.live_loads import metadata_of


def known_topics(cluster: Cluster) -> list[TopicDescription]:
    """The topics of a cluster; one that is deleted meanwhile is left out."""
    described = cluster.describe_topics(sorted(cluster.topic_names()))
    return [each for each in described.values() if not isinstance(each, KedgeError)]


def metadata_with_replicas(
    described: ClusterDescription, topics: Iterable[TopicDescription]
) -> ClusterMetadata:
    """The brokers that are alive, and those that hold replicas: samples of a broker that is down
    now are not those of an unknown one."""
    alive = metadata_of(described.cluster_id, described.brokers)
    held = {b for topic in topics for each in topic.partitions for b in each.replicas}
    down = (BrokerMetadata(int(broker)) for broker in sorted(held - described.alive))
    return replace(alive, brokers=(*alive.brokers, *down))


def history_of(topics: Iterable[TopicDescription], ts_ms: int) -> LeaderHistory:
    """The present leaders, replicas and ISR, as observed at this moment."""
    states = {topic.name: {p.partition: _state(p) for p in topic.partitions} for topic in topics}
    return (MetadataChange(ts_ms, states, observed=True),)


def _state(found: PartitionDescription) -> PartitionState:
    leader = NONE if found.leader is None else found.leader
    return PartitionState(leader, found.replicas, found.isr)
