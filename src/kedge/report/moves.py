"""Moves for programs: the rows behind the lines of execute, verify, list and cancel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kedge.errors import KedgeError
from kedge.model import ReplicaAssignment, TopicPartition
from kedge.plan import Clearing, LogDirStatus, PartitionStatus, Verification


def verification_row(verified: Verification, cleared: Clearing | None) -> dict[str, Any]:
    """What verify found out, and where it removed throttles."""
    return {
        "partitions": [_partition(status) for status in verified.partitions],
        "log_dirs": [_log_dir(status) for status in verified.log_dirs],
        "anything_active": verified.anything_active,
        "cleared": None
        if cleared is None
        else {"brokers": cleared.brokers, "topics": cleared.topics},
    }


def moving_rows(active: Mapping[TopicPartition, ReplicaAssignment]) -> list[dict[str, Any]]:
    """The moves of a cluster."""
    return [
        {
            "topic": tp.topic,
            "partition": tp.partition,
            "replicas": now.replicas,
            "adding": now.adding,
            "removing": now.removing,
        }
        for tp, now in sorted(active.items())
        if now.in_progress
    ]


def refused_rows(refused: Mapping[TopicPartition, KedgeError]) -> list[dict[str, Any]]:
    """Partitions that were refused, and why."""
    return [
        {"topic": tp.topic, "partition": tp.partition, "error": type(error).__name__}
        | {"what": str(error)}
        for tp, error in sorted(refused.items())
    ]


def _partition(status: PartitionStatus) -> dict[str, Any]:
    ended = "completed" if status.completed else "elsewhere"
    return {
        "topic": status.tp.topic,
        "partition": status.tp.partition,
        "state": ended if status.done else "in progress",
        "current": status.current,
        "wanted": status.wanted,
    }


def _log_dir(status: LogDirStatus) -> dict[str, Any]:
    return {
        "topic": status.replica.topic,
        "partition": status.replica.partition,
        "broker": status.replica.broker,
        "state": status.state.value,
        "wanted": status.wanted,
        "current": status.current,
        "future": status.future,
    }
