"""Snapshots of every kind for hypothesis, small enough to read when one fails."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from kedge.model import (
    UNKNOWN,
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
from kedge.model.columns import ragged_of_lists

# The first call of some functions imports Arrow, which is slow on a busy machine and no fault.
untimed = settings(deadline=None)

topics = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=6)
rates = st.floats(0, 1e12, allow_nan=False)
capacities = st.none() | st.floats(1e-3, 1e15)
paths = ("/data/0", "/data/1", "/mnt/ü")


@st.composite
def brokers(draw: st.DrawFn) -> tuple[Broker, ...]:
    ids = draw(st.lists(st.integers(0, 2**31 - 1), min_size=1, max_size=6, unique=True))
    return tuple(draw(broker(broker_id)) for broker_id in ids)


def broker(broker_id: int) -> st.SearchStrategy[Broker]:
    log_dir = st.builds(LogDir, st.sampled_from(paths), capacities)
    return st.builds(
        Broker,
        id=st.just(BrokerId(broker_id)),
        rack=st.none() | st.text("ab", max_size=2),
        state=st.sampled_from(BrokerState),
        capacity=st.builds(Capacity, capacities, capacities, capacities, capacities),
        log_dirs=st.lists(log_dir, unique_by=lambda one: one.path, max_size=3).map(tuple),
    )


@st.composite
def snapshots(draw: st.DrawFn) -> Snapshot:
    """Any snapshot that the checks let in."""
    cluster = draw(brokers())
    keys = draw(st.lists(st.tuples(topics, st.integers(0, 2**31 - 1)), unique=True, max_size=8))
    ids = [b.id for b in cluster]
    some = st.lists(st.sampled_from(ids), min_size=1, unique=True)
    assignment = Assignment.from_mapping({TopicPartition(*key): draw(some) for key in keys})
    rows = [draw(partition(cluster, assignment.replicas_of(i))) for i in range(len(keys))]
    columns: dict[str, list[Any]] = {name: [row[name] for row in rows] for name in ROW_FIELDS}
    width = assignment.replicas.shape[1]
    return Snapshot.of(
        cluster,
        assignment,
        cluster_id=draw(st.none() | st.text("abc", max_size=3)),
        taken_at=draw(st.none() | st.datetimes(timezones=st.just(UTC))),
        wanted_rf=np.array(columns["wanted_rf"], np.int32),
        leader=np.array(columns["leader"], np.int32),
        isr=told_matrix(columns["isr"], width),
        adding=ragged_of_lists(columns["adding"]).padded(),
        removing=ragged_of_lists(columns["removing"]).padded(),
        size=np.array(columns["size"], np.int64),
        bytes_in=np.array(columns["bytes_in"], np.float64),
        bytes_out=np.array(columns["bytes_out"], np.float64),
        log_dir=ragged_of_lists(columns["log_dir"]).padded(width),
        log_dir_paths=paths,
        cpu_model=draw(st.none() | st.builds(CpuModel, rates, rates, rates)),
    )


ROW_FIELDS = (
    *("wanted_rf", "leader", "isr", "adding", "removing"),
    *("size", "bytes_in", "bytes_out", "log_dir"),
)


def told_matrix(lists: list[list[int] | None], width: int) -> Any:
    matrix = ragged_of_lists([ids or [] for ids in lists]).padded(width)
    matrix[[ids is None for ids in lists], :1] = UNKNOWN
    return matrix


@st.composite
def partition(draw: st.DrawFn, cluster: tuple[Broker, ...], replicas: tuple[BrokerId, ...]) -> Any:
    """What a snapshot says of one partition besides its replicas."""
    coming = draw(st.lists(st.sampled_from(replicas), unique=True, max_size=2))
    staying = [b for b in replicas if b not in coming]
    going = st.lists(st.sampled_from(staying), unique=True, max_size=1) if staying else st.just([])
    has = {b.id: [paths.index(one.path) for one in b.log_dirs] for b in cluster}
    return {
        "wanted_rf": draw(st.integers(1, 3)),
        "leader": draw(st.sampled_from([UNKNOWN, -1, *replicas])),
        "isr": draw(st.none() | st.lists(st.sampled_from(replicas), unique=True)),
        "adding": coming,
        "removing": draw(going),
        "size": draw(st.integers(-1, 2**63 - 1)),
        "bytes_in": draw(rates | st.just(np.nan)),
        "bytes_out": draw(rates | st.just(np.nan)),
        "log_dir": [draw(st.sampled_from([-1, *(has[b] or range(3))])) for b in replicas],
    }


def large_snapshot(partitions: int, brokers_count: int = 50) -> Snapshot:
    """A cluster of so many partitions, as a real one would be told: everything is there."""
    numbers = np.arange(partitions)
    rows = [
        (f"topic-{p // 40:05d}", p % 40, [(p * 7 + k * 11) % brokers_count for k in range(3)])
        for p in range(partitions)
    ]
    assignment = Assignment.from_rows(rows)
    cluster = [
        Broker(BrokerId(b), f"r{b % 3}", log_dirs=(LogDir("/data/0", 2e12), LogDir("/data/1")))
        for b in range(brokers_count)
    ]
    return Snapshot.of(
        cluster,
        assignment,
        cluster_id="large",
        taken_at=datetime(2026, 11, 15, 12, tzinfo=UTC),
        leader=assignment.replicas[:, 0],
        isr=assignment.replicas,
        size=numbers * 1_000_003,
        bytes_in=numbers * 1.25,
        bytes_out=numbers / 3,
        log_dir=np.stack([numbers % 2, numbers % 3 - 1, numbers * 0], 1).astype(np.int32) % 2,
        log_dir_paths=("/data/0", "/data/1"),
        cpu_model=CpuModel(6e-7, 3e-7, 2e-7),
    )
