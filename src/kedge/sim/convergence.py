"""Checks that a cluster has converged: no pending work, all replicas in sync, nothing left over."""

from __future__ import annotations

from collections.abc import Iterator

from kedge.model import TopicPartition
from kedge.plan.throttles import BROKER_THROTTLES, TOPIC_THROTTLES
from kedge.sim.cluster_under_test import ClusterUnderTest
from kedge.store.znodes import (
    ISR_CHANGES,
    LOG_DIR_EVENTS,
    PREFERRED_ELECTION,
    REASSIGN_PARTITIONS,
    topic_config_path,
    topic_path,
)


def unmet_conditions(cluster: ClusterUnderTest) -> list[str]:
    """The conditions of a converged cluster that do not hold yet, as sentences."""
    return [
        *_membership(cluster),
        *_leftover_nodes(cluster),
        *_deletions(cluster),
        *(text for tp in cluster.metadata.partitions() for text in _partition(cluster, tp)),
        *_missing_partitions(cluster),
        *_throttles(cluster),
    ]


def _membership(cluster: ClusterUnderTest) -> Iterator[str]:
    if cluster.active() is None:
        yield f"no controller is running (the store names {cluster.metadata.controller})"
    missing = sorted(cluster.machines.keys() - set(cluster.registered()))
    if missing:
        yield f"brokers {missing} are not registered"


def _leftover_nodes(cluster: ClusterUnderTest) -> Iterator[str]:
    for path in (REASSIGN_PARTITIONS, PREFERRED_ELECTION):
        if cluster.exists(path):
            yield f"{path} still exists"
    for path in (ISR_CHANGES, LOG_DIR_EVENTS):
        if cluster.ensemble.tree.nodes[path].children:
            yield f"{path} still has notifications"


def _deletions(cluster: ClusterUnderTest) -> Iterator[str]:
    for topic in sorted(cluster.metadata.deletions):
        yield f"topic {topic} is still to be deleted"
    for topic in sorted(cluster.checkers.expectations.deleted):
        for path in (topic_path(topic), topic_config_path(topic)):
            if cluster.exists(path):
                yield f"{path} of a deleted topic still exists"


def _partition(cluster: ClusterUnderTest, tp: TopicPartition) -> Iterator[str]:
    now, state = cluster.metadata.assignment(tp), cluster.metadata.states.get(tp)
    assert now is not None
    if now.in_progress:
        yield f"{tp} is still adding {list(now.adding)} and removing {list(now.removing)}"
        return
    if state is None:
        yield f"{tp} has never had a leader"
        return
    mismatch = cluster.checkers.expectations.mismatch(tp, now.replicas)
    if mismatch is not None:
        yield mismatch
    if sorted(state.isr) != sorted(now.replicas):
        yield f"{tp} on {list(now.replicas)} has the ISR {list(state.isr)}"
    machine = cluster.machines.get(state.leader)
    process = None if machine is None else machine.process
    hosted = None if process is None else process.hosted.get(tp)
    if hosted is None or hosted.leader_state is None or hosted.leader_epoch != state.leader_epoch:
        yield f"{tp}: broker {state.leader} does not lead it in epoch {state.leader_epoch}"
        return
    for broker in now.replicas:
        log = cluster.machines[broker].disks.find(tp)
        if log is None or log.records != hosted.log.records:
            yield f"{tp}: broker {broker} has not all records of leader {state.leader}"


def _missing_partitions(cluster: ClusterUnderTest) -> Iterator[str]:
    for tp in sorted(cluster.checkers.expectations.ends):
        if cluster.metadata.assignment(tp) is None:
            yield f"{tp} was created and does not exist"


def _throttles(cluster: ClusterUnderTest) -> Iterator[str]:
    for path, settings in sorted(cluster.metadata.configs.items()):
        left = [name for name in (*BROKER_THROTTLES, *TOPIC_THROTTLES) if name in settings]
        if left:
            yield f"{path} still has {', '.join(left)}"


def damaged_logs(cluster: ClusterUnderTest) -> list[str]:
    """Records with a wrong checksum, as sentences."""
    return [
        f"{tp} on broker {broker} at {log.damaged_offsets()[:3]}"
        for broker, machine in sorted(cluster.machines.items())
        for tp, log in sorted(machine.disks.held().items())
        if log.damaged_offsets()
    ]
