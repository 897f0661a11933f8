"""Takes a snapshot of a live cluster from its metadata and its log directories.

Metadata gives replicas, leaders and racks; the log directories give sizes and, since Kafka 3.3
(KIP-827), how large each directory is. A replica's size is that of its leader's copy, or the
largest copy where the leader's is unknown. A broker that holds replicas and is not listed is dead;
a listed node that is a controller only is left out.

The capacity of a broker's disk is known only when that of each of its directories is. Rates of
network and cpu are in no admin response: the snapshot has none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime

import numpy as np

from kedge.cluster.hosts import replica_hosts
from kedge.cluster.port import Cluster, LogDirDescription, TopicDescription
from kedge.errors import KedgeError, UnsupportedByCluster
from kedge.model import (
    UNKNOWN,
    Assignment,
    Broker,
    BrokerId,
    BrokerState,
    Capacity,
    LogDir,
    ReplicaAssignment,
    Snapshot,
    TopicPartition,
)
from kedge.model.columns import ragged_of_lists

Dirs = Mapping[BrokerId, tuple[LogDirDescription, ...]]


def take_snapshot(cluster: Cluster, *, taken_at: datetime) -> Snapshot:
    """The cluster as it is now."""
    described = cluster.describe()
    topics = _topics(cluster)
    moving = cluster.reassignments()
    rows = {TopicPartition(t.name, p.partition): p for t in topics for p in t.partitions}
    assignment = Assignment.from_mapping({tp: each.replicas for tp, each in rows.items()})
    keys = assignment.keys()
    held = {broker for each in rows.values() for broker in each.replicas}
    hosts = replica_hosts(cluster, described.brokers, held)
    dirs = _log_dirs(cluster, [broker.id for broker in hosts])
    brokers = [*hosts, *(_dead(b) for b in sorted(held - described.alive))]
    paths = sorted({one.path for each in dirs.values() for one in each})
    size, log_dir = _stored(keys, assignment, dirs, paths, {tp: rows[tp].leader for tp in keys})
    none = ReplicaAssignment(())
    return Snapshot.of(
        [_with_dirs(broker, dirs.get(broker.id, ())) for broker in brokers],
        assignment,
        cluster_id=described.cluster_id,
        taken_at=taken_at,
        wanted_rf=np.array([_factor(rows[tp].replicas, moving.get(tp, none)) for tp in keys]),
        leader=np.array([-1 if (at := rows[tp].leader) is None else at for tp in keys], np.int32),
        isr=ragged_of_lists([rows[tp].isr for tp in keys]).padded(),
        adding=ragged_of_lists([moving.get(tp, none).adding for tp in keys]).padded(),
        removing=ragged_of_lists([moving.get(tp, none).removing for tp in keys]).padded(),
        size=size,
        log_dir=log_dir,
        log_dir_paths=paths,
    )


def _topics(cluster: Cluster) -> list[TopicDescription]:
    found = cluster.describe_topics(list(cluster.topic_names()))
    # A topic that was deleted since the names were read is no part of the cluster.
    return [topic for topic in found.values() if not isinstance(topic, KedgeError)]


def _log_dirs(cluster: Cluster, brokers: list[BrokerId]) -> Dirs:
    try:
        found = cluster.log_dirs(brokers)
    except UnsupportedByCluster:
        return {}
    return {
        broker: tuple(one for one in each if one.error is None)
        for broker, each in found.items()
        if not isinstance(each, KedgeError)
    }


def _dead(broker: BrokerId) -> Broker:
    return Broker(broker, state=BrokerState.DEAD)


def _factor(replicas: Iterable[BrokerId], move: ReplicaAssignment) -> int:
    return len(move.target) if move.in_progress else len(tuple(replicas))


def _with_dirs(broker: Broker, dirs: tuple[LogDirDescription, ...]) -> Broker:
    sizes = [one.total_bytes for one in dirs]
    known = [float(size) for size in sizes if size]
    whole = sum(known) if known and len(known) == len(sizes) else None
    listed = tuple(LogDir(d.path, float(d.total_bytes) if d.total_bytes else None) for d in dirs)
    return replace(broker, endpoints=(), capacity=Capacity(disk=whole), log_dirs=listed)


def _stored(
    keys: list[TopicPartition],
    assignment: Assignment,
    dirs: Dirs,
    paths: list[str],
    leaders: Mapping[TopicPartition, BrokerId | None],
) -> tuple[np.ndarray, np.ndarray]:
    """Bytes of each partition, and the directory of each replica."""
    row = {tp: place for place, tp in enumerate(keys)}
    place_of = {path: place for place, path in enumerate(paths)}
    size = np.full(len(keys), -1, np.int64)
    log_dir = np.full(assignment.replicas.shape, -1, np.int32)
    from_leader = np.zeros(len(keys), np.bool_)
    for broker, each in dirs.items():
        for one in each:
            for replica in one.replicas:
                at = row.get(replica.tp, UNKNOWN)
                if at < 0 or replica.future:
                    continue
                log_dir[at, assignment.replicas[at] == broker] = place_of[one.path]
                leads = leaders[replica.tp] == broker
                if leads or (not from_leader[at] and replica.size_bytes > size[at]):
                    size[at], from_leader[at] = replica.size_bytes, leads
    return size, log_dir
