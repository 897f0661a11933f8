"""The effects of scripts on the metadata store: batched reads and fenced writes.

Reads set a watch where the controller must see the next change. Writes are fenced: if this process
is no longer the active controller, `ControllerMoved` is thrown at the `yield` and nothing was
written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from kedge.model import BrokerId, Leadership, ReplicaAssignment, TopicPartition

# ---- the role ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ReadController:
    """Read the claim of the active controller; watched. Result: an id or None."""


@dataclass(frozen=True, slots=True)
class ClaimRole:
    """Claim the role and the next epoch in one transaction, from its holder or (None) while vacant.

    Result: the epoch; ControllerMoved if lost.
    """

    over: BrokerId | None = None


@dataclass(frozen=True, slots=True)
class ReleaseRole:
    """Delete this process's claim, if it still has it. Result: None."""


@dataclass(frozen=True, slots=True)
class LeaveRole:
    """Stop acting as controller: no writes, no links to brokers, no timers. Result: None."""


@dataclass(frozen=True, slots=True)
class InitialiseFeatures:
    """Create or update the record of finalised features for this protocol. Result: None."""

    enabled: bool
    version: int  # of the record


# ---- brokers and topics ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ReadBrokers:
    """Read all registrations; each and their list are watched. Result: Registrations by id."""


@dataclass(frozen=True, slots=True)
class ReadBroker:
    """Read one registration; watched. Result: a Registration or None."""

    broker: BrokerId


@dataclass(frozen=True, slots=True)
class ReadTopics:
    """Read the names of all topics; the list is watched. Result: a set."""


@dataclass(frozen=True, slots=True)
class TopicRecord:
    """A topic as stored; the id is None if it has none."""

    topic_id: str | None
    assignments: Mapping[TopicPartition, ReplicaAssignment]


@dataclass(frozen=True, slots=True)
class ReadTopicRecords:
    """Read topics' ids and assignments; each is watched. Result: a TopicRecord for each existing
    topic.
    """

    topics: Sequence[str]


@dataclass(frozen=True, slots=True)
class AssignTopicIds:
    """Store a new id for topics that have none. Result: ids of existing topics."""

    topics: Mapping[str, TopicRecord]


@dataclass(frozen=True, slots=True)
class StoreAssignment:
    """Rewrite a topic's assignment. Result: False if the topic no longer exists.

    With `keep_unknown`, stored partitions that are not listed here stay: another client added them,
    and the controller has not read them yet.
    """

    topic: str
    topic_id: str | None
    assignments: Mapping[TopicPartition, ReplicaAssignment]
    keep_unknown: bool = False


@dataclass(frozen=True, slots=True)
class ReadInitialisedPartitions:
    """Read which partitions of a topic ever had a leadership. Result: a set of numbers."""

    topic: str


@dataclass(frozen=True, slots=True)
class ReadUncleanAllowed:
    """Read whether topics allow unclean elections by their own config.

    Result: by topic True, False, or None if the config cannot be read; `default` for topics without
    it.
    """

    topics: Sequence[str]
    default: bool


@dataclass(frozen=True, slots=True)
class ReadUncleanDefault:
    """Read the dynamic default of unclean elections: of this broker, else of all.

    Result: True, False, None if not set, and `before` if it cannot be read.
    """

    before: bool | None


# ---- leadership ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ReadLeaderships:
    """Read stored leaderships. Result: by partition, for those that have one."""

    partitions: Sequence[TopicPartition]
    watch: bool = False


@dataclass(frozen=True, slots=True)
class WriteOutcome:
    """The outcome of a batch of leadership writes."""

    stored: dict[TopicPartition, Leadership] = field(default_factory=dict)
    stale: list[TopicPartition] = field(default_factory=list)  # another client wrote in between
    failed: dict[TopicPartition, str] = field(default_factory=dict)  # deleted


@dataclass(frozen=True, slots=True)
class WriteLeaderships:
    """Store leaderships, each conditional on its partition epoch.

    Result: WriteOutcome; stored ones have the new partition epoch and this controller epoch.
    """

    wanted: Mapping[TopicPartition, Leadership]
    controller_epoch: int


@dataclass(frozen=True, slots=True)
class CreateLeaderships:
    """Store the first leadership of new partitions. Result: WriteOutcome (never stale)."""

    wanted: Mapping[TopicPartition, Leadership]
    controller_epoch: int


# ---- requests and notifications in the store ------------------------------------------------


@dataclass(frozen=True, slots=True)
class ReadDeletionRequests:
    """Read the topics to be deleted; watched. Result: a set."""


@dataclass(frozen=True, slots=True)
class RemoveDeletionRequests:
    """Remove topics from the list of those to be deleted. Result: None."""

    topics: Sequence[str]


@dataclass(frozen=True, slots=True)
class DeleteTopic:
    """Delete all nodes of a topic, and its deletion request last. Result: None."""

    topic: str


@dataclass(frozen=True, slots=True)
class ReadReassignmentPlan:
    """Read the stored reassignment plan; its creation is watched if `watch`.

    Result: targets by partition, empty if the plan is malformed, None if there is none.
    """

    watch: bool = False


@dataclass(frozen=True, slots=True)
class StoreReassignmentPlan:
    """Replace the stored reassignment plan; delete an empty one. Result: None."""

    targets: Mapping[TopicPartition, tuple[BrokerId, ...]]


@dataclass(frozen=True, slots=True)
class ReadPreferredElection:
    """Read the partitions listed for a preferred election; watched. Result: a set, or None."""


@dataclass(frozen=True, slots=True)
class DeletePreferredElection:
    """Delete that list. Result: None."""


class NotificationKind(Enum):
    """The kinds of notifications that brokers and clients write."""

    ISR_CHANGES = "isr changes"
    LOG_DIR_FAILURES = "log dir failures"
    CONFIG_CHANGES = "config changes"


@dataclass(frozen=True, slots=True)
class Notifications:
    """Notifications: their names, and all partitions and brokers that they name."""

    names: tuple[str, ...]
    partitions: frozenset[TopicPartition] = frozenset()
    brokers: frozenset[BrokerId] = frozenset()


@dataclass(frozen=True, slots=True)
class ReadNotifications:
    """Read all notifications of a kind; watched. Result: Notifications."""

    kind: NotificationKind


@dataclass(frozen=True, slots=True)
class DeleteNotifications:
    """Delete notifications that were read. Result: None."""

    kind: NotificationKind
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ConfigChanges:
    """Notifications of config changes.

    All names, the last number, and the entities (`topics/T`, `brokers/N`) of those that were read,
    in the sequence of their numbers.
    """

    names: tuple[str, ...]
    last: int
    entities: tuple[str, ...]
    now_ms: int


@dataclass(frozen=True, slots=True)
class ReadConfigChanges:
    """List all notifications of config changes, watched, and read those after a number (None:
    none).

    Result: ConfigChanges.
    """

    after: int | None


@dataclass(frozen=True, slots=True)
class AllocateProducerIds:
    """Allocate the next block of producer ids to a broker. Result: (first, count)."""

    broker: BrokerId
