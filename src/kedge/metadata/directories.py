"""AssignReplicasToDirs (KIP-858): a broker tells in which directories its replicas are.

A replica in a directory that is offline leaves the ISR with a second record. That one is computed
from the state before the first, as Kafka does; and an assignment works as if eligible leader
replicas were not enabled, so it clears them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from kedge.metadata import metadata_version
from kedge.metadata.change import Wanted
from kedge.metadata.decision import Decision, Situation
from kedge.metadata.ids import Uuid
from kedge.metadata.image import PartitionKey
from kedge.metadata.partition_changes import PartitionChanger
from kedge.metadata.records import Versioned
from kedge.metadata.refusal import Refused
from kedge.metadata.registrations import check_broker_epoch
from kedge.model.error_codes import ErrorCode


@dataclass(frozen=True, slots=True)
class DirectoryAssignment:
    """A replica of the broker, and the directory that it is in."""

    directory: Uuid
    topic_id: Uuid
    partition: int


@dataclass(frozen=True, slots=True)
class AssignDirectories:
    """AssignReplicasToDirs."""

    broker: int
    broker_epoch: int
    assignments: tuple[DirectoryAssignment, ...]


def assign_directories(
    at: Situation, request: AssignDirectories
) -> Decision[tuple[tuple[DirectoryAssignment, ErrorCode], ...]]:
    """Note the directories, and take replicas in offline ones out of ISRs."""
    if not metadata_version.has_directories(at.level):
        raise Refused(ErrorCode.UNSUPPORTED_VERSION, "Directory assignment is not supported yet.")
    broker = check_broker_epoch(at.image, request.broker, request.broker_epoch)
    changer = PartitionChanger(at)
    results: list[tuple[DirectoryAssignment, ErrorCode]] = []
    records: list[Versioned] = []
    offline: set[PartitionKey] = set()
    for assignment in request.assignments:
        error = _fault(at, broker.id, assignment)
        results.append((assignment, error))
        if error is not ErrorCode.NONE:
            continue
        topic = at.image.topics[assignment.topic_id]
        records += changer.change(
            topic,
            assignment.partition,
            Wanted(directory=(broker.id, assignment.directory)),
            rules=replace(changer.rules(topic), elr=False),
        )
        if not broker.has_online(assignment.directory):
            offline.add((topic.id, assignment.partition))
    records += changer.updates(offline, remove=broker.id)
    return Decision(tuple(results), tuple(records), atomic=False)


def _fault(at: Situation, broker: int, assignment: DirectoryAssignment) -> ErrorCode:
    topic = at.image.topics.get(assignment.topic_id)
    if topic is None:
        return ErrorCode.UNKNOWN_TOPIC_ID
    now = topic.partitions.get(assignment.partition)
    if now is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return ErrorCode.NONE if broker in now.replicas else ErrorCode.NOT_LEADER_OR_FOLLOWER
