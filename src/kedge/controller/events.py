"""The events that the controller's loop processes, one at a time.

The names are Kafka's, in the past tense. Most have few fields, because most mean "read again": a
watch fired, and the script reads the current state.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from kedge.controller.settings import Settings
from kedge.model import BrokerId, Recovery, TopicPartition
from kedge.model.error_codes import ErrorCode


class ElectionType(Enum):
    """The type of a requested election."""

    PREFERRED = "PREFERRED"
    UNCLEAN = "UNCLEAN"


# ---- the role --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Started:
    """This process has started."""


@dataclass(frozen=True, slots=True)
class ControllerChanged:
    """The active controller may have changed."""


@dataclass(frozen=True, slots=True)
class RoleVacated:
    """There is no active controller."""


@dataclass(frozen=True, slots=True)
class SessionEnded:
    """The session with the store has ended, and with it the claim to the role."""


@dataclass(frozen=True, slots=True)
class StopRequested:
    """This process is about to stop."""


# ---- watches ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class BrokersChanged:
    """Brokers registered, left or restarted."""


@dataclass(frozen=True, slots=True)
class BrokerModified:
    """A broker rewrote its registration."""

    broker: BrokerId


@dataclass(frozen=True, slots=True)
class TopicsChanged:
    """Topics were created or deleted."""


@dataclass(frozen=True, slots=True)
class TopicModified:
    """A topic's assignment was rewritten."""

    topic: str


@dataclass(frozen=True, slots=True)
class DeletionsRequested:
    """The list of topics to delete has changed."""


@dataclass(frozen=True, slots=True)
class ReassignmentPlanned:
    """A reassignment plan was written to the store."""


@dataclass(frozen=True, slots=True)
class ReassignmentPlanEdited:
    """The stored plan was rewritten; new entries are not started, the watch is set again."""


@dataclass(frozen=True, slots=True)
class ReassignedIsrChanged:
    """The leader of a partition that is being moved has written a new ISR."""

    tp: TopicPartition


@dataclass(frozen=True, slots=True)
class PreferredElectionPlanned:
    """A list of partitions for a preferred election was written to the store."""


@dataclass(frozen=True, slots=True)
class IsrChangesNotified:
    """Leaders have written notifications of ISR changes that they made."""


@dataclass(frozen=True, slots=True)
class LogDirFailuresNotified:
    """Brokers have written notifications of failed log directories."""


@dataclass(frozen=True, slots=True)
class ConfigChangesNotified:
    """Notifications of config changes were written."""


# ---- responses of brokers --------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LeaderAndIsrAnswered:
    """A broker's response to LeaderAndIsr, with an error per partition."""

    broker: BrokerId
    errors: Mapping[TopicPartition, ErrorCode]
    error: ErrorCode = ErrorCode.NONE
    controller_epoch: int | None = None  # of the request; None if unknown
    broker_epoch: int | None = None  # of the request; None if unknown


@dataclass(frozen=True, slots=True)
class UpdateMetadataAnswered:
    """A broker's response to UpdateMetadata."""

    broker: BrokerId
    error: ErrorCode = ErrorCode.NONE


@dataclass(frozen=True, slots=True)
class ReplicasDeleted:
    """A broker's response to StopReplica, for the partitions to be deleted."""

    broker: BrokerId
    errors: Mapping[TopicPartition, ErrorCode]
    error: ErrorCode = ErrorCode.NONE
    controller_epoch: int | None = None  # of the request; None if unknown
    broker_epoch: int | None = None  # of the request; None if unknown


# ---- requests: the script's return value is the response -------------------------------------


@dataclass(frozen=True, slots=True)
class ElectionRequested:
    """ElectLeaders: elect leaders of these partitions."""

    partitions: frozenset[TopicPartition]
    type: ElectionType


@dataclass(frozen=True, slots=True)
class ReassignmentRequested:
    """AlterPartitionReassignments: move partitions to these replicas; None cancels a move."""

    targets: Mapping[TopicPartition, tuple[BrokerId, ...] | None]


@dataclass(frozen=True, slots=True)
class ReassignmentsListed:
    """ListPartitionReassignments: among these partitions or (None) among all."""

    partitions: frozenset[TopicPartition] | None = None


@dataclass(frozen=True, slots=True)
class RequestedIsr:
    """The ISR that a leader requests for a partition, with the epochs that it knows."""

    isr: tuple[BrokerId, ...]
    leader_epoch: int
    partition_epoch: int
    recovery: Recovery = Recovery.RECOVERED


@dataclass(frozen=True, slots=True)
class IsrChangeRequested:
    """AlterPartition: a leader requests ISR changes. Topics by name (up to version 1) or by id."""

    broker: BrokerId
    broker_epoch: int
    topics: Mapping[str, Mapping[int, RequestedIsr]]
    version: int = 3


@dataclass(frozen=True, slots=True)
class ShutdownRequested:
    """ControlledShutdown: a broker requests to shut down; epoch -1 if unknown."""

    broker: BrokerId
    broker_epoch: int = -1


@dataclass(frozen=True, slots=True)
class ProducerIdsRequested:
    """AllocateProducerIds: a broker requests a block of producer ids."""

    broker: BrokerId
    broker_epoch: int


# ---- timers and the operator -----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RebalanceDue:
    """The periodic check of preferred leaders is due."""


@dataclass(frozen=True, slots=True)
class UncleanElectionEnabled:
    """Unclean elections were enabled, for one topic or (None) by default."""

    topic: str | None = None


@dataclass(frozen=True, slots=True)
class SettingsChanged:
    """The operator's settings have changed, whether this controller is active or not."""

    settings: Settings


Event = (
    Started
    | ControllerChanged
    | RoleVacated
    | SessionEnded
    | StopRequested
    | BrokersChanged
    | BrokerModified
    | TopicsChanged
    | TopicModified
    | DeletionsRequested
    | ReassignmentPlanned
    | ReassignmentPlanEdited
    | ReassignedIsrChanged
    | PreferredElectionPlanned
    | IsrChangesNotified
    | LogDirFailuresNotified
    | ConfigChangesNotified
    | LeaderAndIsrAnswered
    | UpdateMetadataAnswered
    | ReplicasDeleted
    | ElectionRequested
    | ReassignmentRequested
    | ReassignmentsListed
    | IsrChangeRequested
    | ShutdownRequested
    | ProducerIdsRequested
    | RebalanceDue
    | UncleanElectionEnabled
    | SettingsChanged
)
