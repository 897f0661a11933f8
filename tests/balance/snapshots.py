"""Small clusters for the tests around the search: by hand, and by hypothesis."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from kedge.model import (
    Assignment,
    Broker,
    BrokerId,
    BrokerState,
    Capacity,
    CpuModel,
    LogDir,
    Snapshot,
    TopicPartition,
)

GB = 10**9
CPU = CpuModel(6e-7, 3e-7, 2e-7)


def broker(number: int, rack: str | None = None, state: str = "alive", **more: Any) -> Broker:
    capacity = more.pop("capacity", Capacity(1000.0 * GB, 1e9, 1e9, 1e4))
    return Broker(BrokerId(number), rack, BrokerState(state), (), capacity, **more)


def cluster(
    brokers: list[Broker], partitions: dict[str, list[tuple[list[int], int]]], **more: Any
) -> Snapshot:
    """Topics as lists of (replicas, gigabytes); rates follow sizes."""
    rows = {
        TopicPartition(topic, number): (replicas, size)
        for topic, listed in partitions.items()
        for number, (replicas, size) in enumerate(listed)
    }
    assignment = Assignment.from_mapping({tp: replicas for tp, (replicas, _) in rows.items()})
    sizes = np.array([rows[tp][1] * GB for tp in sorted(rows)], np.int64)
    fields: dict[str, Any] = {
        "cluster_id": "small",
        "size": sizes,
        "bytes_in": sizes / 1e5,
        "bytes_out": sizes / 2e5,
        "cpu_model": CPU,
    }
    return Snapshot.of(brokers, assignment, **(fields | more))


def lopsided(**more: Any) -> Snapshot:
    """Six brokers in three racks; all that is large is on the first three."""
    brokers = more.pop("brokers", None) or [broker(b, "abc"[b % 3]) for b in range(6)]
    listed = [([p % 3, (p + 1) % 3], 10 + p) for p in range(24)]
    few = [([3 + p % 3, 3 + (p + 1) % 3], 1) for p in range(6)]
    return cluster(brokers, {"large": listed, "small": few}, **more)


@st.composite
def snapshots(draw: st.DrawFn) -> Snapshot:
    """Clusters that plans can be made for: some brokers leave, racks or none, factors change."""
    count, racks = draw(st.integers(4, 8)), draw(st.integers(1, 4))
    seed = draw(st.integers(0, 2**32 - 1))
    luck = np.random.default_rng(seed)
    has_racks, leaving = draw(st.booleans()), draw(st.integers(0, 1))
    sizes = luck.choice([1.0, 1.5, 2.0], count)
    brokers = [
        broker(
            10 * b,
            f"r{b % racks}" if has_racks else None,
            "draining" if b < leaving else "alive",
            capacity=Capacity(*(float(s) * sizes[b] for s in (2e12, 1e9, 1e9, 1e4))),
        )
        for b in range(count)
    ]
    partitions = draw(st.integers(8, 60))
    factor = draw(st.integers(1, 2))
    rows = [
        (f"t{p % 5}", p // 5, (luck.permutation(count)[:factor] * 10).tolist())
        for p in range(partitions)
    ]
    size = (luck.lognormal(0, 1, partitions) * 20 * GB).astype(np.int64)
    wanted = np.full(partitions, factor) + (luck.random(partitions) < 0.1)
    return Snapshot.of(
        brokers,
        Assignment.from_rows(rows),
        cluster_id="drawn",
        wanted_rf=wanted if draw(st.booleans()) else None,
        size=size,
        bytes_in=luck.lognormal(0, 1, partitions) * 1e5,
        bytes_out=luck.lognormal(0, 1, partitions) * 1e5,
        cpu_model=CPU,
    )


def with_dirs(snapshot: Snapshot) -> Snapshot:
    """The same cluster, each broker with two log directories, everything in the first."""
    from dataclasses import replace

    dirs = (LogDir("/d/0", 500.0 * GB), LogDir("/d/1", 500.0 * GB))
    brokers = tuple(replace(each, log_dirs=dirs) for each in snapshot.brokers)
    there = np.where(snapshot.assignment.replicas >= 0, 0, -1).astype(np.int32)
    return replace(snapshot, brokers=brokers, log_dir=there, log_dir_paths=("/d/0",))
