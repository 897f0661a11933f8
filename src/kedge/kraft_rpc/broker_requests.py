"""What brokers and standby controllers ask the active controller."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from kedge.kraft_rpc.scripts import Handlers, Script, Served, code_of, message_of
from kedge.metadata.brokers import RegisterBroker, RegisterController, UnregisterBroker
from kedge.metadata.directories import AssignDirectories, DirectoryAssignment
from kedge.metadata.heartbeats import Heartbeat
from kedge.metadata.ids import ZERO
from kedge.metadata.isr_changes import AlteredPartition, AlterPartition, WantedIsr
from kedge.metadata.producer_ids import AllocateProducerIds
from kedge.metadata.records import Endpoint, FeatureRange
from kedge.metadata.refusal import ApiError
from kedge.model.error_codes import ErrorCode
from kedge.protocol import broker_messages as b
from kedge.protocol import controller_messages as c
from kedge.protocol.kraft_apis import (
    ALLOCATE_PRODUCER_IDS,
    ALTER_PARTITION,
    ASSIGN_DIRECTORIES,
    BROKER_HEARTBEAT,
    BROKER_REGISTRATION,
    CONTROLLER_REGISTRATION,
    UNREGISTER_BROKER,
)


def register_broker(served: Served, request: Any, version: int) -> Script:
    """BrokerRegistration: the answer is the broker's epoch."""
    answer = yield RegisterBroker(
        request.broker_id,
        request.cluster_id,
        request.incarnation or ZERO,
        _listeners(request.listeners),
        _features(request.features),
        request.rack,
        _ids(request.directories),
        request.previous_epoch,
        request.is_migrating,
        version,
    )
    epoch = -1 if isinstance(answer, ApiError) else answer
    return c.BROKER_REGISTRATION_RESPONSE(error=code_of(answer), broker_epoch=epoch)


def heartbeat(served: Served, request: Any, version: int) -> Script:
    """BrokerHeartbeat: the broker is alive, and has read the log up to an offset."""
    answer = yield Heartbeat(
        request.broker_id,
        request.broker_epoch,
        request.metadata_offset,
        request.want_fence,
        request.want_shutdown,
        _ids(request.offline_directories),
    )
    if isinstance(answer, ApiError):
        return c.BROKER_HEARTBEAT_RESPONSE(error=answer.code)
    return c.BROKER_HEARTBEAT_RESPONSE(
        is_caught_up=answer.is_caught_up,
        is_fenced=answer.is_fenced,
        should_shut_down=answer.should_shut_down,
    )


def unregister_broker(served: Served, request: Any, version: int) -> Script:
    """UnregisterBroker: a broker that will not come back is forgotten."""
    answer = yield UnregisterBroker(request.broker_id)
    return c.UNREGISTER_BROKER_RESPONSE(error=code_of(answer), message=message_of(answer))


def register_controller(served: Served, request: Any, version: int) -> Script:
    """ControllerRegistration of a member of the quorum."""
    answer = yield RegisterController(
        request.controller_id,
        request.incarnation or ZERO,
        _listeners(request.listeners),
        _features(request.features),
    )
    return c.CONTROLLER_REGISTRATION_RESPONSE(error=code_of(answer), message=message_of(answer))


def allocate_producer_ids(served: Served, request: Any, version: int) -> Script:
    """AllocateProducerIds: a block of a thousand."""
    answer = yield AllocateProducerIds(request.broker, request.broker_epoch)
    if isinstance(answer, ApiError):
        return b.AllocateProducerIdsResponse(answer.code)
    return b.AllocateProducerIdsResponse(ErrorCode.NONE, answer.start, answer.length)


# ---- ISRs and directories ------------------------------------------------------------------------


def alter_partition(served: Served, request: Any, version: int) -> Script:
    """AlterPartition: a leader asks for other ISRs."""
    if not request.topics:
        return b.AlterPartitionResponse(ErrorCode.NONE)
    wanted = tuple(
        WantedIsr(
            topic.topic_id or ZERO,
            asked.partition,
            asked.leader_epoch,
            asked.partition_epoch,
            tuple(asked.members) or tuple((broker, -1) for broker in asked.isr),
            asked.recovery,
        )
        for topic in request.topics
        for asked in topic.partitions
    )
    answer = yield AlterPartition(request.broker, request.broker_epoch, wanted)
    if isinstance(answer, ApiError):
        return b.AlterPartitionResponse(error=answer.code)
    by_topic = groupby(answer, key=lambda altered: altered.topic_id)
    topics = tuple(
        b.AlteredTopic(tuple(map(_altered, altered)), topic_id=topic_id)
        for topic_id, altered in by_topic
    )
    return b.AlterPartitionResponse(ErrorCode.NONE, topics)


def _altered(altered: AlteredPartition) -> b.AlteredPartition:
    now = altered.state
    if now is None:
        return b.AlteredPartition(altered.partition, altered.error)
    return b.AlteredPartition(
        altered.partition,
        altered.error,
        now.leader,
        now.leader_epoch,
        now.isr,
        now.recovery,
        now.epoch,
    )


def assign_directories(served: Served, request: Any, version: int) -> Script:
    """AssignReplicasToDirs: where a broker with several directories has put replicas."""
    assignments = tuple(
        DirectoryAssignment(directory.id or ZERO, topic.topic_id or ZERO, partition.index)
        for directory in request.directories
        for topic in directory.topics
        for partition in topic.partitions
    )
    answer = yield AssignDirectories(request.broker_id, request.broker_epoch, assignments)
    if isinstance(answer, ApiError):
        return c.ASSIGN_DIRECTORIES_RESPONSE(error=answer.code)
    directories = tuple(
        c.ASSIGNED_DIRECTORY(id=directory, topics=_assigned(list(rows)))
        for directory, rows in groupby(answer, key=lambda row: row[0].directory)
    )
    return c.ASSIGN_DIRECTORIES_RESPONSE(directories=directories)


def _assigned(rows: list[Any]) -> tuple[Any, ...]:
    return tuple(
        c.ASSIGNED_TOPIC(
            topic_id=topic_id,
            partitions=tuple(
                c.ASSIGNED_PARTITION(index=row.partition, error=error) for row, error in of_topic
            ),
        )
        for topic_id, of_topic in groupby(rows, key=lambda row: row[0].topic_id)
    )


def _ids(found: Any) -> tuple[str, ...]:
    return tuple(one or ZERO for one in found)


def _listeners(found: Any) -> tuple[Endpoint, ...]:
    return tuple(Endpoint(one.name, one.host, one.port, one.security_protocol) for one in found)


def _features(found: Any) -> tuple[FeatureRange, ...]:
    return tuple(FeatureRange(one.name, one.lowest, one.highest) for one in found)


HANDLERS: Handlers = {
    BROKER_REGISTRATION.key: register_broker,
    BROKER_HEARTBEAT.key: heartbeat,
    UNREGISTER_BROKER.key: unregister_broker,
    CONTROLLER_REGISTRATION.key: register_controller,
    ALLOCATE_PRODUCER_IDS.key: allocate_producer_ids,
    ALTER_PARTITION.key: alter_partition,
    ASSIGN_DIRECTORIES.key: assign_directories,
}
