"""The clusters behind the metrics: where replicas are, what they carry, and what is planted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kedge.pipeline.generator.rows import Integers, Rows
from kedge.pipeline.generator.sizes import ARRIVAL_DELAY_S, INTERVAL_S, MICROS, START_S, Size

HOT_FACTOR = 6
RATE_MAX = 400_000_000
DAY_S = 86_400


@dataclass(frozen=True, slots=True)
class World:
    """One entry for each partition of all clusters; a replica is a partition and a place in it."""

    size: Size
    cluster: Integers
    topic: Integers
    partition: Integers
    replicas: NDArray[np.int64]  # a row for each partition, its leader first
    rate: Integers  # bytes in an interval
    fanout: Integers  # bytes out for each byte in
    size_bytes: Integers
    growth: Integers  # bytes in an interval
    hot: Integers  # a broker for each cluster
    flapping: Integers  # partitions, ascending, and so the next two
    growing: Integers
    tracked: Integers

    @property
    def clusters(self) -> list[str]:
        """The names of the clusters."""
        return [f"c{index:02d}" for index in range(self.size.clusters)]

    @property
    def topics(self) -> list[str]:
        """The names of the topics, alike in all clusters."""
        return [f"t{index:04d}" for index in range(self.size.topics)]

    @property
    def disk_capacity(self) -> int:
        """What every broker can hold: at least twice of what the fullest one holds."""
        brokers = self.size.brokers
        held = np.zeros(self.size.clusters * brokers, np.int64)
        places = (self.cluster[:, None] * brokers + self.replicas).ravel()
        np.add.at(held, places, np.repeat(self.size_bytes, self.size.replication_factor))
        return int((held.max() * 2 // 10**9 + 1) * 10**9)

    def named(self, partition: int) -> list[Any]:
        """A partition as people name it: cluster, topic, number."""
        cluster, topic = self.cluster[partition], self.topic[partition]
        return [self.clusters[cluster], self.topics[topic], int(self.partition[partition])]


def make_world(luck: np.random.Generator, size: Size) -> World:
    """Draw the clusters and choose what is planted in them."""
    count = size.all_partitions
    of_cluster = np.arange(count) // size.partitions
    number = np.arange(count) % size.partitions
    replicas = _placed(luck, size)
    hot = luck.integers(0, size.brokers, size.clusters)
    rate = np.minimum(np.exp(luck.normal(12.0, 1.6, count)), RATE_MAX).astype(np.int64)
    rate[replicas[:, 0] == hot[of_cluster]] *= HOT_FACTOR
    flapping, growing, tracked = _chosen(luck, count)
    growth = np.zeros(count, np.int64)
    growth[growing] = rate[growing] * 3 + 10_000_000
    return World(
        size=size,
        cluster=of_cluster,
        topic=number % size.topics,
        partition=number // size.topics,
        replicas=replicas,
        rate=rate,
        fanout=luck.integers(1, 5, count),
        size_bytes=rate * luck.integers(200, 2000, count),
        growth=growth,
        hot=hot,
        flapping=flapping,
        growing=growing,
        tracked=tracked,
    )


def _placed(luck: np.random.Generator, size: Size) -> NDArray[np.int64]:
    """Distinct brokers for each partition: a random first one, the others at a random distance."""
    others = size.brokers - 1
    first = luck.integers(0, size.brokers, size.all_partitions)[:, None]
    shift = luck.integers(0, others, size.all_partitions)[:, None]
    steps = 1 + (shift + np.arange(size.replication_factor - 1)) % others
    return np.concatenate([first, (first + steps) % size.brokers], axis=1)


def _chosen(luck: np.random.Generator, count: int) -> tuple[Integers, Integers, Integers]:
    """Partitions that flap, that grow, and whose percentiles are told: no one is two of these."""
    few, many = max(2, count // 2000), max(10, min(200, count // 20))
    order = luck.permutation(count)
    flapping, growing, tracked = np.split(order[: 2 * few + many], [few, 2 * few])
    return np.sort(flapping), np.sort(growing), np.sort(tracked)


def sample(world: World, luck: np.random.Generator, index: int) -> Rows:
    """What every replica tells about one interval, in order of partition and place."""
    rf = world.size.replication_factor
    wave = int(1000 * (1.0 + 0.4 * np.sin(2 * np.pi * index * INTERVAL_S / DAY_S)))
    noise = luck.integers(800, 1201, world.size.all_partitions)
    carried = world.rate * noise // 1000 * wave // 1000
    held = world.size_bytes + world.growth * index + world.size_bytes * (noise - 1000) // 100_000
    isr = np.full(world.size.all_partitions, rf)
    if index // 3 % 2:
        isr[world.flapping] = rf - 1
    leads = np.tile(np.arange(rf) == 0, world.size.all_partitions)
    bytes_in = np.repeat(carried, rf)
    ts = (START_S + index * INTERVAL_S) * MICROS
    return Rows(
        cluster=np.repeat(world.cluster, rf),
        broker=world.replicas.ravel(),
        topic=np.repeat(world.topic, rf),
        partition=np.repeat(world.partition, rf),
        ts=np.full(len(leads), ts),
        ingest_ts=np.full(len(leads), ts + ARRIVAL_DELAY_S * MICROS),
        seq=np.full(len(leads), index * 2),
        is_leader=leads,
        size_bytes=np.repeat(held, rf),
        bytes_in=bytes_in,
        bytes_out=np.where(leads, bytes_in * np.repeat(world.fanout, rf), 0),
        isr=np.repeat(isr, rf),
        fault=np.zeros(len(leads), np.int64),
    )
