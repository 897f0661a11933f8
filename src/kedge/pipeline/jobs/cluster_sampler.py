"""Samples the replicas of a live cluster through Kafka's admin requests.

Metadata has the leader and the ISR of each partition, DescribeLogDirs the size of each replica; a
sample combines both. `bytes_in` of an interval is the growth of the replica's log: exact while
nothing is deleted, and 0 when retention removes more than was appended. No admin request returns
what consumers read, so `bytes_out` is 0; metrics of the brokers themselves have it.

| field             | from                                                           |
|-------------------|----------------------------------------------------------------|
| cluster           | the cluster id                                                 |
| size_bytes        | DescribeLogDirs, without future replicas                       |
| is_leader, isr, rf | the metadata of the partition                                 |
| bytes_in          | growth since the previous sample; 0 in the first               |
| seq               | the number of the sample in this run, times 2                  |
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from kedge.cluster.port import Cluster, LogDirDescription, PartitionDescription, TopicDescription
from kedge.errors import KedgeError
from kedge.model import BrokerId, TopicPartition

Sizes = dict[tuple[BrokerId, TopicPartition], int]


@dataclass(slots=True)
class Sampler:
    """Samples a cluster repeatedly, and keeps the sizes of the previous sample."""

    cluster: Cluster
    internal: bool = False  # whether internal topics are sampled too
    _previous: Sizes = field(default_factory=dict[tuple[BrokerId, TopicPartition], int])
    _count: int = 0

    def sample(self, at: datetime) -> list[dict[str, Any]]:
        """One row per replica whose size a live broker reports."""
        described = self.cluster.describe()
        topics = self._topics()
        sizes = _sizes(self.cluster, sorted(described.alive), topics)
        time = at.replace(microsecond=0)
        rows = [
            {
                "cluster": described.cluster_id,
                "broker": broker,
                "topic": topic,
                "partition": partition.partition,
                "ts": time,
                "ingest_ts": time,
                "seq": self._count * 2,
                **self._sizes_and_rates(broker, TopicPartition(topic, partition.partition), sizes),
                **_leader_and_isr(broker, partition),
            }
            for topic, partition, broker in _replicas(topics)
            if (broker, TopicPartition(topic, partition.partition)) in sizes
        ]
        self._previous, self._count = sizes, self._count + 1
        return rows

    def _topics(self) -> dict[str, TopicDescription]:
        names = [
            n for n, internal in self.cluster.topic_names().items() if self._is_sampled(internal)
        ]
        described = self.cluster.describe_topics(names)
        return {n: d for n, d in described.items() if not isinstance(d, KedgeError)}

    def _is_sampled(self, internal: bool) -> bool:
        return self.internal or not internal

    def _sizes_and_rates(
        self, broker: BrokerId, tp: TopicPartition, sizes: Sizes
    ) -> dict[str, int]:
        size = sizes[broker, tp]
        growth = size - self._previous.get((broker, tp), size)
        return {"size_bytes": size, "bytes_in": max(0, growth), "bytes_out": 0}


def _leader_and_isr(broker: BrokerId, partition: PartitionDescription) -> dict[str, Any]:
    rf = len(partition.replicas)
    return {
        "is_leader": partition.leader == broker,
        "isr": min(len(partition.isr), rf),
        "rf": rf,
    }


def _replicas(
    topics: dict[str, TopicDescription],
) -> Iterator[tuple[str, PartitionDescription, BrokerId]]:
    for name, topic in sorted(topics.items()):
        for partition in topic.partitions:
            for broker in partition.replicas:
                yield name, partition, broker


def _sizes(cluster: Cluster, brokers: list[BrokerId], topics: dict[str, TopicDescription]) -> Sizes:
    if not topics:
        return {}
    found: Sizes = {}
    for broker, dirs in cluster.log_dirs(brokers, sorted(topics)).items():
        if not isinstance(dirs, KedgeError):
            found.update({(broker, tp): size for tp, size in _stored(dirs)})
    return found


def _stored(dirs: tuple[LogDirDescription, ...]) -> Iterator[tuple[TopicPartition, int]]:
    for directory in dirs:
        for replica in directory.replicas:
            if not replica.future:
                yield replica.tp, replica.size_bytes
