"""What a controller tells a broker, and what the broker answers.

Three requests. *LeaderAndIsr* makes a broker lead or follow partitions; *UpdateMetadata* tells it
who leads what everywhere, for its clients; *StopReplica* makes it stop, and perhaps delete,
replicas. A LeaderAndIsr lists only the broker's own partitions, and the first one after a
broker's start lists all of them.

The entries share their leadership and assignment with the controller's tables, so that a request
for two hundred thousand partitions costs one small tuple each.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from kedge.model.broker import Broker
from kedge.model.error_codes import ErrorCode
from kedge.model.leadership import Leadership
from kedge.model.partition import BrokerId, TopicPartition
from kedge.model.replicas import ReplicaAssignment

DELETED_LEADER = BrokerId(-2)  # in UpdateMetadata: forget this partition
DELETED_EPOCH = -2  # in StopReplica: the topic is being deleted, whatever the epoch
NO_EPOCH = -1  # in StopReplica: do not compare epochs


class LeaderAndIsrEntry(NamedTuple):
    """One partition in LeaderAndIsr. `is_new` allows the broker to create the log."""

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
    """Who speaks: the controller's id and epoch, and the broker epoch that it believes in."""

    controller: BrokerId
    controller_epoch: int
    broker_epoch: int


@dataclass(frozen=True, slots=True)
class LeaderAndIsr:
    """Lead or follow these partitions."""

    to: BrokerId
    version: int
    sender: Sender
    partitions: Mapping[TopicPartition, LeaderAndIsrEntry]
    topic_ids: Mapping[str, str]
    live_leaders: tuple[Broker, ...]


@dataclass(frozen=True, slots=True)
class UpdateMetadata:
    """These are the brokers, all of them; and these partitions have changed."""

    to: BrokerId
    version: int
    sender: Sender
    partitions: Mapping[TopicPartition, MetadataEntry]
    topic_ids: Mapping[str, str]
    live_brokers: tuple[Broker, ...]


@dataclass(frozen=True, slots=True)
class StopReplica:
    """Stop serving these partitions; below version 3 all of them or none are to be deleted."""

    to: BrokerId
    version: int
    sender: Sender
    partitions: Mapping[TopicPartition, StopEntry]


BrokerRequest = LeaderAndIsr | UpdateMetadata | StopReplica


@dataclass(frozen=True, slots=True)
class BrokerAnswer:
    """To any of the three: the request's error, and one for each partition (UpdateMetadata: none).

    A request refused as a whole (stale broker or controller epoch) may come without partitions.
    """

    error: ErrorCode = ErrorCode.NONE
    errors: Mapping[TopicPartition, ErrorCode] | None = None
