"""The effects of scripts on brokers, the event queue and the log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kedge.controller.context import Registration
from kedge.controller.events import Event
from kedge.controller.states import PartitionState, ReplicaState
from kedge.model import BrokerId, TopicPartition
from kedge.model.broker_requests import BrokerRequest


@dataclass(frozen=True, slots=True)
class OpenLinks:
    """Open links to these brokers; an open link is replaced. Result: None."""

    registrations: Sequence[Registration]


@dataclass(frozen=True, slots=True)
class CloseLinks:
    """Close the links to these brokers. Result: None."""

    brokers: Sequence[BrokerId]


@dataclass(frozen=True, slots=True)
class Send:
    """Send requests, in this sequence per broker. Result: None; responses are events."""

    requests: Sequence[BrokerRequest]


@dataclass(frozen=True, slots=True)
class Enqueue:
    """Append an event to the queue. Result: None."""

    event: Event


@dataclass(frozen=True, slots=True)
class ScheduleRebalance:
    """Schedule RebalanceDue after this many seconds. Result: None."""

    seconds: int


@dataclass(frozen=True, slots=True)
class Reply:
    """Respond to the caller of this event now, before the script continues. Result: None."""

    answer: Any


@dataclass(frozen=True, slots=True)
class RecordPartitions:
    """Log state changes of partitions in the state-change log. Result: None."""

    target: PartitionState
    moved: Sequence[TopicPartition] = ()
    refused: Mapping[TopicPartition, str] = field(default_factory=dict[TopicPartition, str])


@dataclass(frozen=True, slots=True)
class RecordReplicas:
    """Log state changes of replicas on one broker in the state-change log. Result: None."""

    broker: BrokerId
    target: ReplicaState
    moved: Sequence[TopicPartition] = ()
    refused: Mapping[TopicPartition, str] = field(default_factory=dict[TopicPartition, str])


@dataclass(frozen=True, slots=True)
class RecordMessage:
    """Log a message. Result: None."""

    message: str
