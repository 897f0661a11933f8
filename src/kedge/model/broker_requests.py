"""Requests from the controller to brokers, and their answers, as values.

*LeaderAndIsr* makes a broker lead or follow partitions; *UpdateMetadata* sends it the leaders of
all partitions, for its clients; *StopReplica* makes it stop, and perhaps delete, replicas. A
LeaderAndIsr contains only the broker's own partitions, and the first one after a broker's start
contains all of them.

The entries share their leadership and assignment with the controller's tables, so that a request
for two hundred thousand partitions costs one small tuple each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from kedge.model.broker import Broker
from kedge.model.error_codes import ErrorCode
from kedge.model.partition import BrokerId, Leadership, ReplicaAssignment, TopicPartition

DELETED_LEADER = BrokerId(-2)  # in UpdateMetadata: the partition is deleted
DELETED_EPOCH = -2  # in StopReplica: the topic is being deleted; ignore epochs
NO_EPOCH = -1  # in StopReplica: do not compare epochs


class LeaderAndIsrEntry(NamedTuple):
    """One partition in LeaderAndIsr; `is_new` allows the broker to create the log."""

    leadership: Leadership
    assignment: ReplicaAssignment
    is_new: bool


class MetadataEntry(NamedTuple):
    """One partition in UpdateMetadata; `offline` are replicas that cannot serve."""

    leadership: Leadership
    replicas: tuple[BrokerId, ...]
    offline: tuple[BrokerId, ...]


class StopEntry(NamedTuple):
    """One partition in StopReplica."""

    leader_epoch: int
    delete: bool


@dataclass(frozen=True, slots=True)
class Sender:
    """The controller's id and epoch, and the broker epoch that it knows."""

    controller: BrokerId
    controller_epoch: int
    broker_epoch: int


@dataclass(frozen=True, slots=True)
class LeaderAndIsr:
    """Makes a broker lead or follow these partitions."""

    to: BrokerId
    version: int
    sender: Sender
    partitions: Mapping[TopicPartition, LeaderAndIsrEntry]
    topic_ids: Mapping[str, str]
    live_leaders: tuple[Broker, ...]


@dataclass(frozen=True, slots=True)
class UpdateMetadata:
    """Contains all live brokers, and the partitions that have changed."""

    to: BrokerId
    version: int
    sender: Sender
    partitions: Mapping[TopicPartition, MetadataEntry]
    topic_ids: Mapping[str, str]
    live_brokers: tuple[Broker, ...]


@dataclass(frozen=True, slots=True)
class StopReplica:
    """Makes a broker stop these replicas; below version 3 either all or none are deleted."""

    to: BrokerId
    version: int
    sender: Sender
    partitions: Mapping[TopicPartition, StopEntry]


BrokerRequest = LeaderAndIsr | UpdateMetadata | StopReplica


@dataclass(frozen=True, slots=True)
class BrokerAnswer:
    """The answer to any of the three: the request's error and one per partition (UpdateMetadata:
    none).

    A request rejected as a whole (stale broker or controller epoch) may have no partition errors.
    """

    error: ErrorCode = ErrorCode.NONE
    errors: Mapping[TopicPartition, ErrorCode] | None = None
