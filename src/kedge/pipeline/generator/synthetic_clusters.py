"""Synthetic clusters: placement and traffic of replicas, and the injected anomalies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kedge.pipeline.generator.sample_arrays import Integers, SampleArrays
from kedge.pipeline.generator.sizes import ARRIVAL_DELAY_S, INTERVAL_S, MICROS, START_S, Size

HOT_FACTOR = 6
RATE_MAX = 400_000_000
DAY_S = 86_400


@dataclass(frozen=True, slots=True)
class SyntheticClusters:
    """Arrays with one entry per partition of all clusters."""

    size: Size
    cluster: Integers
    topic: Integers
    partition: Integers
    replicas: NDArray[np.int64]  # one row per partition, the leader first
    rate: Integers  # bytes per interval
    fanout: Integers  # bytes out per byte in
    size_bytes: Integers
    growth: Integers  # bytes per interval
    hot: Integers  # one broker per cluster
    flapping: Integers  # partitions, ascending, as are the next two
    growing: Integers
    tracked: Integers

    @property
    def cluster_names(self) -> list[str]:
        """The names of the clusters."""
        return [f"c{index:02d}" for index in range(self.size.clusters)]

    @property
    def topic_names(self) -> list[str]:
        """The names of the topics, the same in all clusters."""
        return [f"t{index:04d}" for index in range(self.size.topics)]

    @property
    def disk_capacity(self) -> int:
        """The disk capacity of every broker: at least twice the use of the fullest one."""
        brokers = self.size.brokers
        held = np.zeros(self.size.clusters * brokers, np.int64)
        places = (self.cluster[:, None] * brokers + self.replicas).ravel()
        np.add.at(held, places, np.repeat(self.size_bytes, self.size.replication_factor))
        return int((held.max() * 2 // 10**9 + 1) * 10**9)

    def named(self, partition: int) -> list[Any]:
        """Cluster, topic and id of a partition."""
        cluster, topic = self.cluster[partition], self.topic[partition]
        return [
            self.cluster_names[cluster],
            self.topic_names[topic],
            int(self.partition[partition]),
        ]


def make_clusters(rng: np.random.Generator, size: Size) -> SyntheticClusters:
    """Draw the clusters and choose their anomalies."""
    count = size.all_partitions
    of_cluster = np.arange(count) // size.partitions
    number = np.arange(count) % size.partitions
    replicas = _place_replicas(rng, size)
    hot = rng.integers(0, size.brokers, size.clusters)
    rate = np.minimum(np.exp(rng.normal(12.0, 1.6, count)), RATE_MAX).astype(np.int64)
    rate[replicas[:, 0] == hot[of_cluster]] *= HOT_FACTOR
    flapping, growing, tracked = _choose_anomalies(rng, count)
    growth = np.zeros(count, np.int64)
    growth[growing] = rate[growing] * 3 + 10_000_000
    return SyntheticClusters(
        size=size,
        cluster=of_cluster,
        topic=number % size.topics,
        partition=number // size.topics,
        replicas=replicas,
        rate=rate,
        fanout=rng.integers(1, 5, count),
        size_bytes=rate * rng.integers(200, 2000, count),
        growth=growth,
        hot=hot,
        flapping=flapping,
        growing=growing,
        tracked=tracked,
    )


def _place_replicas(rng: np.random.Generator, size: Size) -> NDArray[np.int64]:
    """Distinct brokers per partition: a random leader, the others at a random distance."""
    others = size.brokers - 1
    first = rng.integers(0, size.brokers, size.all_partitions)[:, None]
    shift = rng.integers(0, others, size.all_partitions)[:, None]
    steps = 1 + (shift + np.arange(size.replication_factor - 1)) % others
    return np.concatenate([first, (first + steps) % size.brokers], axis=1)


def _choose_anomalies(rng: np.random.Generator, count: int) -> tuple[Integers, Integers, Integers]:
    """Disjoint sets of partitions: flapping, growing, and with expected percentiles."""
    few, many = max(2, count // 2000), max(10, min(200, count // 20))
    order = rng.permutation(count)
    flapping, growing, tracked = np.split(order[: 2 * few + many], [few, 2 * few])
    return np.sort(flapping), np.sort(growing), np.sort(tracked)


def sample(clusters: SyntheticClusters, rng: np.random.Generator, index: int) -> SampleArrays:
    """The samples of all replicas for one interval, in the order of partition and replica."""
    rf = clusters.size.replication_factor
    wave = int(1000 * (1.0 + 0.4 * np.sin(2 * np.pi * index * INTERVAL_S / DAY_S)))
    noise = rng.integers(800, 1201, clusters.size.all_partitions)
    traffic = clusters.rate * noise // 1000 * wave // 1000
    sizes = (
        clusters.size_bytes
        + clusters.growth * index
        + clusters.size_bytes * (noise - 1000) // 100_000
    )
    isr = np.full(clusters.size.all_partitions, rf)
    if index // 3 % 2:
        isr[clusters.flapping] = rf - 1
    leads = np.tile(np.arange(rf) == 0, clusters.size.all_partitions)
    bytes_in = np.repeat(traffic, rf)
    ts = (START_S + index * INTERVAL_S) * MICROS
    return SampleArrays(
        cluster=np.repeat(clusters.cluster, rf),
        broker=clusters.replicas.ravel(),
        topic=np.repeat(clusters.topic, rf),
        partition=np.repeat(clusters.partition, rf),
        ts=np.full(len(leads), ts),
        ingest_ts=np.full(len(leads), ts + ARRIVAL_DELAY_S * MICROS),
        seq=np.full(len(leads), index * 2),
        is_leader=leads,
        size_bytes=np.repeat(sizes, rf),
        bytes_in=bytes_in,
        bytes_out=np.where(leads, bytes_in * np.repeat(clusters.fanout, rf), 0),
        isr=np.repeat(isr, rf),
        fault=np.zeros(len(leads), np.int64),
    )
