"""AlterPartition: a leader asks for another ISR.

Checks of each partition, first match: it exists; the leader's epochs are not newer than the
controller's (else this one is not the controller any more), nor older; the sender leads; the ISR is
made of distinct replicas and has the leader; recovery only ends; all members are alive and of the
broker epochs that the leader knows.
"""

from __future__ import annotations

from dataclasses import dataclass

from kedge.metadata.change import Wanted
from kedge.metadata.decision import Decision, Situation
from kedge.metadata.draft import merged
from kedge.metadata.ids import Uuid
from kedge.metadata.image import Partition, Topic
from kedge.metadata.partition_changes import PartitionChanger
from kedge.metadata.records import (
    LEADER_UNCHANGED,
    RECOVERED,
    RECOVERING,
    PartitionChangeRecord,
    Versioned,
)
from kedge.metadata.registrations import check_broker_epoch
from kedge.model.error_codes import ErrorCode

ANY_EPOCH = -1


@dataclass(frozen=True, slots=True)
class WantedIsr:
    """The ISR of one partition: brokers with the epochs that the leader knows, or -1."""

    topic_id: Uuid
    partition: int
    leader_epoch: int
    partition_epoch: int
    isr: tuple[tuple[int, int], ...]
    recovery: int = RECOVERED

    @property
    def members(self) -> tuple[int, ...]:
        """The brokers."""
        return tuple(broker for broker, _ in self.isr)


@dataclass(frozen=True, slots=True)
class AlterPartition:
    """AlterPartition."""

    broker: int
    broker_epoch: int
    partitions: tuple[WantedIsr, ...]


@dataclass(frozen=True, slots=True)
class AlteredPartition:
    """A partition after the change, or the error."""

    topic_id: Uuid
    partition: int
    error: ErrorCode = ErrorCode.NONE
    state: Partition | None = None


def alter_partition(
    at: Situation, request: AlterPartition
) -> Decision[tuple[AlteredPartition, ...]]:
    """Change ISRs as their leaders ask; this may complete a reassignment and move the leader."""
    if not request.partitions:
        return Decision(())
    check_broker_epoch(at.image, request.broker, request.broker_epoch)
    changer = PartitionChanger(at)
    results: list[AlteredPartition] = []
    records: list[Versioned] = []
    for wanted in request.partitions:
        topic = at.image.topics.get(wanted.topic_id)
        error = _fault(at, request.broker, topic, wanted)
        if topic is None or error is not ErrorCode.NONE:
            results.append(AlteredPartition(wanted.topic_id, wanted.partition, error))
            continue
        made = changer.change(
            topic,
            wanted.partition,
            Wanted(isr=wanted.members, recovery=wanted.recovery, election=changer.election(topic)),
        )
        records += made
        results.append(_result(request.broker, wanted, topic, made))
    return Decision(tuple(results), tuple(records), atomic=False)


def _result(
    sender: int, wanted: WantedIsr, topic: Topic, made: list[Versioned]
) -> AlteredPartition:
    state = topic.partitions[wanted.partition]
    for versioned in made:
        assert isinstance(versioned.record, PartitionChangeRecord)
        state = merged(state, versioned.record)
        if versioned.record.leader not in (sender, LEADER_UNCHANGED):
            # The record stands; the sender has to read the metadata before it asks again.
            error = ErrorCode.NEW_LEADER_ELECTED
            return AlteredPartition(wanted.topic_id, wanted.partition, error)
    return AlteredPartition(wanted.topic_id, wanted.partition, state=state)


def _fault(at: Situation, sender: int, topic: Topic | None, wanted: WantedIsr) -> ErrorCode:
    if topic is None:
        return ErrorCode.UNKNOWN_TOPIC_ID
    now = topic.partitions.get(wanted.partition)
    if now is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if wanted.leader_epoch > now.leader_epoch or wanted.partition_epoch > now.epoch:
        return ErrorCode.NOT_CONTROLLER
    if wanted.leader_epoch < now.leader_epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    if sender != now.leader:
        return ErrorCode.INVALID_REQUEST
    if wanted.partition_epoch < now.epoch:
        return ErrorCode.INVALID_UPDATE_VERSION
    if not _is_possible(now, wanted):
        return ErrorCode.INVALID_REQUEST
    eligible = all(_is_eligible(at, broker, epoch) for broker, epoch in wanted.isr)
    return ErrorCode.NONE if eligible else ErrorCode.INELIGIBLE_REPLICA


def _is_possible(now: Partition, wanted: WantedIsr) -> bool:
    members = wanted.members
    if len(set(members)) < len(members) or not set(members) <= set(now.replicas):
        return False
    if now.leader not in members:
        return False
    if wanted.recovery == RECOVERING:
        return len(members) == 1 and now.recovery == RECOVERING
    return True


def _is_eligible(at: Situation, broker: int, epoch: int) -> bool:
    found = at.image.brokers.get(broker)
    return found is not None and found.active and epoch in (ANY_EPOCH, found.epoch)
