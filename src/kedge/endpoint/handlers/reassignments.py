"""AlterPartitionReassignments and ListPartitionReassignments (KIP-455): the controller's alone."""

from __future__ import annotations

from kedge.endpoint.backend import Outcomes, Targets
from kedge.endpoint.call import Call
from kedge.endpoint.handlers.by_topic import by_topic, flat
from kedge.endpoint.handlers.words import words_for
from kedge.errors import KedgeError
from kedge.model import BrokerId, ReplicaAssignment, TopicPartition
from kedge.model.error_codes import ErrorCode
from kedge.protocol import code_of, message_of
from kedge.protocol.messages import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)

Altered = AlterPartitionReassignmentsResponse.ReassignableTopicResponse
AlteredPartition = Altered.ReassignablePartitionResponse
Listed = ListPartitionReassignmentsResponse.OngoingTopicReassignment
ListedPartition = Listed.OngoingPartitionReassignment


async def alter_partition_reassignments(
    call: Call, request: AlterPartitionReassignmentsRequest
) -> AlterPartitionReassignmentsResponse:
    """Start moves, or cancel those whose replicas are null; answered once they have begun."""
    try:
        call.refuse_other_nodes()
        outcomes = await call.backend.alter_reassignments(
            call.node,
            _targets(request),
            timeout_ms=request.timeout_ms,
            may_change_replication_factor=request.allow_replication_factor_change,
        )
    except KedgeError as refusal:
        return AlterPartitionReassignmentsResponse(
            error_code=code_of(refusal), error_message=message_of(refusal), responses=[]
        )
    return AlterPartitionReassignmentsResponse(
        allow_replication_factor_change=request.allow_replication_factor_change,
        error_code=ErrorCode.NONE,
        error_message=None,
        responses=_altered(outcomes),
    )


def _targets(request: AlterPartitionReassignmentsRequest) -> Targets:
    return {
        TopicPartition(topic.name, partition.partition_index): None
        if partition.replicas is None
        else tuple(map(BrokerId, partition.replicas))
        for topic in request.topics
        for partition in topic.partitions
    }


def _altered(outcomes: Outcomes) -> list[Altered]:
    return [
        Altered(
            name=topic,
            partitions=[
                AlteredPartition(
                    partition_index=number, error_code=code, error_message=words_for(code)
                )
                for number, code in codes.items()
            ],
        )
        for topic, codes in by_topic(outcomes).items()
    ]


async def list_partition_reassignments(
    call: Call, request: ListPartitionReassignmentsRequest
) -> ListPartitionReassignmentsResponse:
    """The moves in progress."""
    asked = request.topics
    partitions = None if asked is None else flat((t.name, t.partition_indexes) for t in asked)
    try:
        call.refuse_other_nodes()
        found = await call.backend.list_reassignments(
            call.node, partitions, timeout_ms=request.timeout_ms
        )
    except KedgeError as refusal:
        return ListPartitionReassignmentsResponse(
            error_code=code_of(refusal), error_message=message_of(refusal), topics=[]
        )
    return ListPartitionReassignmentsResponse(
        error_code=ErrorCode.NONE,
        error_message=None,
        topics=[
            Listed(name=topic, partitions=[_listed(n, now) for n, now in moves.items()])
            for topic, moves in by_topic(found).items()
        ],
    )


def _listed(number: int, now: ReplicaAssignment) -> ListedPartition:
    return ListedPartition(
        partition_index=number,
        replicas=list(now.replicas),
        adding_replicas=list(now.adding),
        removing_replicas=list(now.removing),
    )
