"""What a live cluster tells about its replicas, as samples.

Any admin client can ask two things: who leads what with which ISR, and how large each replica is.
A sample is made of both. What came in over an interval is how much the replica's log grew in it:
exact while nothing is deleted, and no less than zero when retention removes old segments. What
consumers read is not told by an admin request, so `bytes_out` is 0: metrics of the brokers
themselves say more, where there are some.

| field             | from                                                           |
|-------------------|----------------------------------------------------------------|
| cluster           | the id of the cluster                                          |
| size_bytes        | the broker's log directories; a copy still being made is left out |
| is_leader, isr, rf | the metadata of the partition                                 |
| bytes_in          | growth since the sample before; 0 in the first                 |
| seq               | the number of the sample since the run began, times 2          |
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
    """Asks a cluster again and again, and knows what it said before."""

    cluster: Cluster
    internal: bool = False  # whether Kafka's own topics are sampled too
    _before: Sizes = field(default_factory=dict[tuple[BrokerId, TopicPartition], int])
    _count: int = 0

    def sample(self, at: datetime) -> list[dict[str, Any]]:
        """One row for each replica that a live broker tells the size of."""
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
                **self._figures(broker, TopicPartition(topic, partition.partition), sizes),
                **_state(broker, partition),
            }
            for topic, partition, broker in _replicas(topics)
            if (broker, TopicPartition(topic, partition.partition)) in sizes
        ]
        self._before, self._count = sizes, self._count + 1
        return rows

    def _topics(self) -> dict[str, TopicDescription]:
        names = [n for n, internal in self.cluster.topic_names().items() if self._wanted(internal)]
        described = self.cluster.describe_topics(names)
        return {n: d for n, d in described.items() if not isinstance(d, KedgeError)}

    def _wanted(self, internal: bool) -> bool:
        return self.internal or not internal

    def _figures(self, broker: BrokerId, tp: TopicPartition, sizes: Sizes) -> dict[str, int]:
        size = sizes[broker, tp]
        grown = size - self._before.get((broker, tp), size)
        return {"size_bytes": size, "bytes_in": max(0, grown), "bytes_out": 0}


def _state(broker: BrokerId, partition: PartitionDescription) -> dict[str, Any]:
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
