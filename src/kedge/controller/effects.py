"""What scripts order: plain values, carried out elsewhere, answered at the `yield`.

Every order is for a whole batch, so that ten thousand partitions cost one pipelined round. Reads
leave a watch where the controller must hear of the next change. Writes are fenced: if this
controller is no longer the controller, `ControllerMoved` is thrown in at the `yield` and nothing
was written. A write that lost against somebody else's is an answer, and the script decides.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TypeVar

from kedge.controller.context import Registration
from kedge.controller.events import Event
from kedge.controller.states import PartitionState, ReplicaState
from kedge.model import BrokerId, Leadership, ReplicaAssignment, TopicPartition
from kedge.model.broker_requests import BrokerRequest

# ---- the role ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ReadController:
    """Who holds the role? Watched. Answer: an id or None."""


@dataclass(frozen=True, slots=True)
class ClaimRole:
    """Take the role and the next epoch in one step, from its holder or (None) while nobody has
    it. Answer: the epoch; ControllerMoved if lost."""

    over: BrokerId | None = None


@dataclass(frozen=True, slots=True)
class ReleaseRole:
    """Give the role up, if we still hold it. Answer: None."""


@dataclass(frozen=True, slots=True)
class LeaveRole:
    """Stop acting: no more writes, no more links to brokers, no more timers. Answer: None."""


@dataclass(frozen=True, slots=True)
class InitialiseFeatures:
    """Make the record of finalised features what this protocol version wants. Answer: None."""

    enabled: bool
    version: int  # of the record's form


# ---- brokers and topics ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ReadBrokers:
    """All registrations, each one watched, and their coming and going. Answer: Registrations."""


@dataclass(frozen=True, slots=True)
class ReadBroker:
    """One registration, watched. Answer: a Registration or None."""

    broker: BrokerId


@dataclass(frozen=True, slots=True)
class ReadTopics:
    """The names of all topics; their coming and going is watched. Answer: a set."""


@dataclass(frozen=True, slots=True)
class TopicRecord:
    """A topic as it is stored; None where it has no id."""

    topic_id: str | None
    assignments: Mapping[TopicPartition, ReplicaAssignment]


@dataclass(frozen=True, slots=True)
class ReadTopicRecords:
    """Topics' ids and assignments, each one watched. Answer: a TopicRecord for each topic that
    is there."""

    topics: Sequence[str]


@dataclass(frozen=True, slots=True)
class AssignTopicIds:
    """Store a new id for topics that have none. Answer: ids by topic, for those still there."""

    topics: Mapping[str, TopicRecord]


@dataclass(frozen=True, slots=True)
class StoreAssignment:
    """Rewrite a topic's assignment. Answer: False if the topic is not there any more.

    With `keep_unknown`, partitions that are stored and not listed here stay as they are: somebody
    added them, and the controller has not heard of it yet.
    """

    topic: str
    topic_id: str | None
    assignments: Mapping[TopicPartition, ReplicaAssignment]
    keep_unknown: bool = False


@dataclass(frozen=True, slots=True)
class ReadInitialisedPartitions:
    """Which partitions of a topic ever had a leadership. Answer: a set of numbers."""

    topic: str


@dataclass(frozen=True, slots=True)
class ReadUncleanAllowed:
    """Whether topics allow unclean elections by their own configuration. Answer: by topic True,
    False, or None where it cannot be read; topics that say nothing get the default given here."""

    topics: Sequence[str]
    default: bool


@dataclass(frozen=True, slots=True)
class ReadUncleanDefault:
    """What was set while brokers ran on unclean elections by default: for this one, else for all.
    Answer: True, False, None where nothing is set, and `before` where it cannot be read."""

    before: bool | None


# ---- leadership ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ReadLeaderships:
    """Leaderships as they are stored. Answer: by partition, for those that have one."""

    partitions: Sequence[TopicPartition]
    watch: bool = False


@dataclass(frozen=True, slots=True)
class WriteOutcome:
    """What became of a batch of leaderships."""

    stored: dict[TopicPartition, Leadership] = field(default_factory=dict)
    stale: list[TopicPartition] = field(default_factory=list)  # somebody wrote in between
    failed: dict[TopicPartition, str] = field(default_factory=dict)  # no longer there


@dataclass(frozen=True, slots=True)
class WriteLeaderships:
    """Store leaderships, each on condition that its partition epoch is still the stored one.
    Answer: WriteOutcome; those stored carry the new partition epoch and this controller epoch."""

    wanted: Mapping[TopicPartition, Leadership]
    controller_epoch: int


@dataclass(frozen=True, slots=True)
class CreateLeaderships:
    """Store the first leadership of new partitions. Answer: WriteOutcome (nothing is ever stale)."""

    wanted: Mapping[TopicPartition, Leadership]
    controller_epoch: int


# ---- what operators and brokers left in the store --------------------------------------------


@dataclass(frozen=True, slots=True)
class ReadDeletionRequests:
    """The topics that somebody wants deleted; watched. Answer: a set."""


@dataclass(frozen=True, slots=True)
class RemoveDeletionRequests:
    """Take topics off the list of those to be deleted. Answer: None."""

    topics: Sequence[str]


@dataclass(frozen=True, slots=True)
class DeleteTopic:
    """Remove all that is stored of a topic, and its order of deletion last. Answer: None."""

    topic: str


@dataclass(frozen=True, slots=True)
class ReadReassignmentPlan:
    """The stored plan of moves; its creation is watched if asked. Answer: targets by partition,
    empty where it does not read as a plan, None where there is none."""

    watch: bool = False


@dataclass(frozen=True, slots=True)
class StoreReassignmentPlan:
    """Replace the stored plan of moves; an empty one is removed. Answer: None."""

    targets: Mapping[TopicPartition, tuple[BrokerId, ...]]


@dataclass(frozen=True, slots=True)
class ReadPreferredElection:
    """The partitions listed for a preferred election; its creation is watched. Answer: a set, or
    None where there is none."""


@dataclass(frozen=True, slots=True)
class DeletePreferredElection:
    """Remove that list. Answer: None."""


class NotificationKind(Enum):
    """What brokers and administrators leave notes about."""

    ISR_CHANGES = "isr changes"
    LOG_DIR_FAILURES = "log dir failures"
    CONFIG_CHANGES = "config changes"


@dataclass(frozen=True, slots=True)
class Notifications:
    """Notifications that brokers left: their names, and what they are about all together."""

    names: tuple[str, ...]
    partitions: frozenset[TopicPartition] = frozenset()
    brokers: frozenset[BrokerId] = frozenset()


@dataclass(frozen=True, slots=True)
class ReadNotifications:
    """All notes of a kind; new ones are watched. Answer: Notifications."""

    kind: NotificationKind


@dataclass(frozen=True, slots=True)
class DeleteNotifications:
    """Remove notes that were read. Answer: None."""

    kind: NotificationKind
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ConfigChanges:
    """Notifications of config changes: all names, the number of the last, and what those are about that
    were opened, in the order in which they were left (`topics/T`, `brokers/N`)."""

    names: tuple[str, ...]
    last: int
    entities: tuple[str, ...]
    now_ms: int


@dataclass(frozen=True, slots=True)
class ReadConfigChanges:
    """All notes of config changes; new ones are watched. Opened are those after a number; with
    None, none of them. Answer: ConfigChanges."""

    after: int | None


@dataclass(frozen=True, slots=True)
class AllocateProducerIds:
    """Take the next block of producer ids for a broker. Answer: (first, count)."""

    broker: BrokerId


# ---- brokers, the loop, the log --------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class OpenLinks:
    """Be ready to talk to these brokers; a link that is open is replaced. Answer: None."""

    registrations: Sequence[Registration]


@dataclass(frozen=True, slots=True)
class CloseLinks:
    """Stop talking to these brokers. Answer: None."""

    brokers: Sequence[BrokerId]


@dataclass(frozen=True, slots=True)
class Send:
    """Send requests, each broker's in this order. Answer: None; what brokers say is an event."""

    requests: Sequence[BrokerRequest]


@dataclass(frozen=True, slots=True)
class Enqueue:
    """Put an event at the end of the queue. Answer: None."""

    event: Event


@dataclass(frozen=True, slots=True)
class ScheduleRebalance:
    """Let RebalanceDue happen after so many seconds. Answer: None."""

    seconds: int


@dataclass(frozen=True, slots=True)
class Reply:
    """Answer the caller of this event now, before the script goes on. Answer: None."""

    answer: Any


@dataclass(frozen=True, slots=True)
class RecordPartitions:
    """Note in the state-change log what became of partitions. Answer: None."""

    target: PartitionState
    moved: Sequence[TopicPartition] = ()
    refused: Mapping[TopicPartition, str] = field(default_factory=dict[TopicPartition, str])


@dataclass(frozen=True, slots=True)
class RecordReplicas:
    """Note in the state-change log what became of replicas on one broker. Answer: None."""

    broker: BrokerId
    target: ReplicaState
    moved: Sequence[TopicPartition] = ()
    refused: Mapping[TopicPartition, str] = field(default_factory=dict[TopicPartition, str])


@dataclass(frozen=True, slots=True)
class RecordMessage:
    """Note something else worth reading later. Answer: None."""

    words: str


Effect = (
    ReadController
    | ClaimRole
    | ReleaseRole
    | LeaveRole
    | InitialiseFeatures
    | ReadBrokers
    | ReadBroker
    | ReadTopics
    | ReadTopicRecords
    | AssignTopicIds
    | StoreAssignment
    | ReadInitialisedPartitions
    | ReadUncleanAllowed
    | ReadUncleanDefault
    | ReadLeaderships
    | WriteLeaderships
    | CreateLeaderships
    | ReadDeletionRequests
    | RemoveDeletionRequests
    | DeleteTopic
    | ReadReassignmentPlan
    | StoreReassignmentPlan
    | ReadPreferredElection
    | DeletePreferredElection
    | ReadNotifications
    | DeleteNotifications
    | ReadConfigChanges
    | AllocateProducerIds
    | OpenLinks
    | CloseLinks
    | Send
    | Enqueue
    | ScheduleRebalance
    | Reply
    | RecordPartitions
    | RecordReplicas
    | RecordMessage
)

T = TypeVar("T")
Script = Generator[Effect, Any, T]


def then_always(main: Script[None], last: Script[None]) -> Script[None]:
    """One script and then another, whatever became of the first.

    Not `finally`: a script that is dropped in the middle, as a crash does, must order nothing.
    """
    try:
        yield from main
    except Exception:
        yield from last
        raise
    yield from last
