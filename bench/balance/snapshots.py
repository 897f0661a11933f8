"""A generated cluster as a snapshot, so that commands can be tried on it."""

from __future__ import annotations

import numpy as np

from bench.balance.clusters import CPU, Cluster
from kedge.model import Assignment, Broker, BrokerId, BrokerState, Capacity, CpuModel, Snapshot


def snapshot_of(one: Cluster) -> Snapshot:
    """The same cluster with names: brokers by their index, topics topic-00000, topic-00001, …"""
    brokers = [
        Broker(
            BrokerId(index),
            f"r{one.rack[index]:03d}",
            BrokerState.DRAINING if one.leaving[index] else BrokerState.ALIVE,
            (),
            Capacity(*map(float, one.capacity[index])),
        )
        for index in range(one.size.brokers)
    ]
    partition = np.arange(len(one.topic)) - np.searchsorted(one.topic, one.topic)
    names = [f"topic-{index:05d}" for index in range(int(one.topic.max()) + 1)]
    replicas = one.home.astype(np.int32)
    return Snapshot.of(
        brokers,
        Assignment.from_columns(names, one.topic, partition, replicas),
        cluster_id="generated",
        wanted_rf=one.wanted.astype(np.int32),
        size=one.disk.astype(np.int64),
        bytes_in=one.bytes_in,
        bytes_out=one.bytes_out,
        cpu_model=CpuModel(*CPU),
    )
