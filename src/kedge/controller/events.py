"""What has happened: everything that the controller's loop can be handed, one at a time.

The names are Kafka's, in the past tense. Most carry little, because most mean "look again": a
watch fired, and the script reads what is there now.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from kedge.controller.settings import Settings
from kedge.model import BrokerId, Recovery, TopicPartition
from kedge.model.error_codes import ErrorCode


class ElectionType(Enum):
    """What kind of election was asked for."""

    PREFERRED = "PREFERRED"
    UNCLEAN = "UNCLEAN"


# ---- the role itself -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Started:
    """This process has begun to run."""


@dataclass(frozen=True, slots=True)
class ControllerChanged:
    """The holder of the role may be another."""


@dataclass(frozen=True, slots=True)
class RoleVacated:
    """Nobody holds the role any more."""


@dataclass(frozen=True, slots=True)
class SessionEnded:
    """The store has forgotten us, and with us our claim to the role."""


@dataclass(frozen=True, slots=True)
class StopRequested:
    """This process is about to end."""


# ---- what the store told us to look at again -------------------------------------------------


@dataclass(frozen=True, slots=True)
class BrokersChanged:
    """Brokers came, went or came back."""


@dataclass(frozen=True, slots=True)
class BrokerModified:
    """A broker rewrote its registration."""

    broker: BrokerId


@dataclass(frozen=True, slots=True)
class TopicsChanged:
    """Topics were created or vanished."""


@dataclass(frozen=True, slots=True)
class TopicModified:
    """A topic's assignment was rewritten."""

    topic: str


@dataclass(frozen=True, slots=True)
class DeletionsRequested:
    """Somebody wants topics deleted."""


@dataclass(frozen=True, slots=True)
class ReassignmentPlanned:
    """A plan for moves was put into the store."""


@dataclass(frozen=True, slots=True)
class ReassignmentPlanEdited:
    """The stored plan was rewritten; new entries are not started, but the watch is spent."""


@dataclass(frozen=True, slots=True)
class ReassignedIsrChanged:
    """A partition on the move has a new ISR, written by its leader."""

    tp: TopicPartition


@dataclass(frozen=True, slots=True)
class PreferredElectionPlanned:
    """A list of partitions to give back to their preferred leaders was put into the store."""


@dataclass(frozen=True, slots=True)
class IsrChangesNoted:
    """Leaders have left notes of the ISR changes that they wrote themselves."""


@dataclass(frozen=True, slots=True)
class LogDirFailuresNoted:
    """Brokers have left notes of failed log directories."""


@dataclass(frozen=True, slots=True)
class ConfigChangesNoted:
    """Somebody has left notes of configs that were changed."""


# ---- what brokers answered -------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LeaderAndIsrAnswered:
    """A broker's answer to LeaderAndIsr, partition by partition."""

    broker: BrokerId
    errors: Mapping[TopicPartition, ErrorCode]
    error: ErrorCode = ErrorCode.NONE
    asked_in_epoch: int | None = None  # the controller's; None where it is unknown
    broker_epoch: int | None = None  # the registration that was asked; None where it is unknown


@dataclass(frozen=True, slots=True)
class UpdateMetadataAnswered:
    """A broker's answer to UpdateMetadata."""

    broker: BrokerId
    error: ErrorCode = ErrorCode.NONE


@dataclass(frozen=True, slots=True)
class ReplicasDeleted:
    """A broker's answer to StopReplica, for those partitions that it was told to delete."""

    broker: BrokerId
    errors: Mapping[TopicPartition, ErrorCode]
    error: ErrorCode = ErrorCode.NONE
    asked_in_epoch: int | None = None  # the controller's; None where it is unknown
    broker_epoch: int | None = None  # the registration that was asked; None where it is unknown


# ---- what was asked of us: the script's return value is the answer ---------------------------


@dataclass(frozen=True, slots=True)
class ElectionRequested:
    """Elect leaders for these partitions."""

    partitions: frozenset[TopicPartition]
    type: ElectionType


@dataclass(frozen=True, slots=True)
class ReassignmentRequested:
    """Move partitions to these replicas; None cancels a move."""

    targets: Mapping[TopicPartition, tuple[BrokerId, ...] | None]


@dataclass(frozen=True, slots=True)
class ReassignmentsListed:
    """Which moves are in progress, among these partitions or (None) among all?"""

    partitions: frozenset[TopicPartition] | None = None


@dataclass(frozen=True, slots=True)
class WantedIsr:
    """The ISR that a leader wants for a partition, with the epochs that it knows."""

    isr: tuple[BrokerId, ...]
    leader_epoch: int
    partition_epoch: int
    recovery: Recovery = Recovery.RECOVERED


@dataclass(frozen=True, slots=True)
class IsrChangeRequested:
    """AlterPartition: a leader asks for new ISRs. Topics by name (up to version 1) or by id."""

    broker: BrokerId
    broker_epoch: int
    topics: Mapping[str, Mapping[int, WantedIsr]]
    version: int = 3


@dataclass(frozen=True, slots=True)
class ShutdownRequested:
    """ControlledShutdown: a broker wants to leave; epoch -1 where it cannot tell."""

    broker: BrokerId
    broker_epoch: int = -1


@dataclass(frozen=True, slots=True)
class ProducerIdsRequested:
    """AllocateProducerIds: a broker wants a block of producer ids."""

    broker: BrokerId
    broker_epoch: int


# ---- the clock and the operator --------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RebalanceDue:
    """It is time to look whether leaders have drifted from their preferred replicas."""


@dataclass(frozen=True, slots=True)
class UncleanElectionEnabled:
    """Unclean elections were allowed, for one topic or (None) by default."""

    topic: str | None = None


@dataclass(frozen=True, slots=True)
class SettingsChanged:
    """The operator's settings are now these, whether this controller holds the role or not."""

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
    | IsrChangesNoted
    | LogDirFailuresNoted
    | ConfigChangesNoted
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
