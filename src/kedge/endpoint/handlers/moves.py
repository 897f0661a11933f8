"""Handlers of reassignments, leader elections and log directories.

Reassignments (KIP-455) and elections (KIP-183, KIP-460) are answered by the controller alone, log
directories (KIP-113) by each broker for its own.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from kedge.controller.events import ElectionType
from kedge.endpoint.handlers.call import Call
from kedge.endpoint.log_dirs import LogDirState, ReplicaInDir
from kedge.endpoint.move_requests import Outcomes, Targets
from kedge.errors import InvalidRequest, KedgeError
from kedge.model import BrokerId, ReplicaAssignment, TopicPartition, by_topic
from kedge.model.error_codes import ErrorCode
from kedge.protocol import code_of, message_of
from kedge.protocol.messages import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    ElectLeadersRequest,
    ElectLeadersResponse,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)

# ---- reassignments -------------------------------------------------------------------------------

Altered = AlterPartitionReassignmentsResponse.ReassignableTopicResponse
AlteredPartition = Altered.ReassignablePartitionResponse
Listed = ListPartitionReassignmentsResponse.OngoingTopicReassignment
ListedPartition = Listed.OngoingPartitionReassignment


async def alter_partition_reassignments(
    call: Call, request: AlterPartitionReassignmentsRequest
) -> AlterPartitionReassignmentsResponse:
    """Start moves, or cancel those whose replicas are null; answered once they have started."""
    try:
        call.require_controller()
        outcomes = await call.backend.moves.reassign(
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
                    partition_index=number, error_code=code, error_message=message_for(code)
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
    named = request.topics
    partitions = None if named is None else flat((t.name, t.partition_indexes) for t in named)
    try:
        call.require_controller()
        found = await call.backend.moves.reassignments(
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


# ---- elections -----------------------------------------------------------------------------------

Elected = ElectLeadersResponse.ReplicaElectionResult
ElectedPartition = Elected.PartitionResult

_TYPES = {0: ElectionType.PREFERRED, 1: ElectionType.UNCLEAN}


async def elect_leaders(call: Call, request: ElectLeadersRequest) -> ElectLeadersResponse:
    """Elect leaders of these partitions, or of all; of all, only those that needed an election are
    in the response."""
    named = request.topic_partitions
    partitions = _all(call) if named is None else flat((t.topic, t.partitions) for t in named)
    try:
        kind = _kind(request.election_type)
        outcomes = await call.backend.moves.elect_leaders(
            call.node, partitions, kind, timeout_ms=request.timeout_ms
        )
    except InvalidRequest as refusal:
        return ElectLeadersResponse(error_code=code_of(refusal), replica_election_results=[])
    except KedgeError as refusal:
        # reported for each partition: only a fault of the request itself is reported for all
        outcomes = dict.fromkeys(partitions, code_of(refusal))
    if named is None:
        unneeded = ErrorCode.ELECTION_NOT_NEEDED
        outcomes = {tp: code for tp, code in outcomes.items() if code is not unneeded}
    return ElectLeadersResponse(
        error_code=ErrorCode.NONE, replica_election_results=_elected(outcomes)
    )


def _kind(number: int) -> ElectionType:
    if number not in _TYPES:
        raise InvalidRequest(f"election type {number} is not known")
    return _TYPES[number]


def _all(call: Call) -> list[TopicPartition]:
    return flat((name, topic.partitions) for name, topic in call.cache.topics.items())


def _elected(outcomes: Outcomes) -> list[Elected]:
    return [
        Elected(
            topic=topic,
            partition_result=[
                ElectedPartition(
                    partition_id=number, error_code=code, error_message=message_for(code)
                )
                for number, code in codes.items()
            ],
        )
        for topic, codes in by_topic(outcomes).items()
    ]


# ---- log directories -----------------------------------------------------------------------------

Described = DescribeLogDirsResponse.DescribeLogDirsResult
DescribedTopic = Described.DescribeLogDirsTopic
DescribedPartition = DescribedTopic.DescribeLogDirsPartition
Moved = AlterReplicaLogDirsResponse.AlterReplicaLogDirTopicResult
MovedPartition = Moved.AlterReplicaLogDirPartitionResult


async def describe_log_dirs(call: Call, request: DescribeLogDirsRequest) -> DescribeLogDirsResponse:
    """The node's directories, with the sizes of these partitions, or of all."""
    named = request.topics
    wanted = None if named is None else set(flat((t.topic, t.partitions) for t in named))
    try:
        states = await call.backend.moves.describe_log_dirs(call.node)
    except KedgeError as refusal:
        return DescribeLogDirsResponse(error_code=code_of(refusal), results=[])
    return DescribeLogDirsResponse(
        error_code=ErrorCode.NONE, results=[_described(state, wanted) for state in states]
    )


def _described(state: LogDirState, wanted: Collection[TopicPartition] | None) -> Described:
    topics: dict[str, list[DescribedPartition]] = {}
    for replica in state.replicas:
        if wanted is None or replica.tp in wanted:
            topics.setdefault(replica.tp.topic, []).append(_replica(replica))
    return Described(
        error_code=state.error,
        log_dir=state.path,
        topics=[DescribedTopic(name=name, partitions=found) for name, found in topics.items()],
        total_bytes=state.total_bytes,
        usable_bytes=state.usable_bytes,
        is_cordoned=False,
    )


def _replica(replica: ReplicaInDir) -> DescribedPartition:
    return DescribedPartition(
        partition_index=replica.tp.partition,
        partition_size=replica.size_bytes,
        offset_lag=replica.offset_lag,
        is_future_key=replica.is_future,
    )


async def alter_replica_log_dirs(
    call: Call, request: AlterReplicaLogDirsRequest
) -> AlterReplicaLogDirsResponse:
    """Move replicas of the node between its directories."""
    moves = {
        TopicPartition(topic.name, number): directory.path
        for directory in request.dirs
        for topic in directory.topics
        for number in topic.partitions
    }
    try:
        outcomes = await call.backend.moves.move_log_dirs(call.node, moves)
    except KedgeError as refusal:
        outcomes = dict.fromkeys(moves, refusal)
    return AlterReplicaLogDirsResponse(
        results=[
            Moved(topic_name=topic, partitions=[_moved(n, e) for n, e in errors.items()])
            for topic, errors in by_topic(outcomes).items()
        ]
    )


def _moved(number: int, error: KedgeError | None) -> MovedPartition:
    code = ErrorCode.NONE if error is None else code_of(error)
    return MovedPartition(partition_index=number, error_code=code)


# ---- partitions and messages ---------------------------------------------------------------------


def flat(topics: Iterable[tuple[str, Iterable[int]]]) -> list[TopicPartition]:
    """Partitions from topics and their numbers."""
    return [TopicPartition(topic, number) for topic, numbers in topics for number in numbers]


_MESSAGES: Mapping[ErrorCode, str] = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: "no such partition, or its topic is being deleted",
    ErrorCode.INVALID_REPLICA_ASSIGNMENT: (
        "the replicas are empty, named twice, negative, or to be added to a broker that is not live"
    ),
    ErrorCode.INVALID_REPLICATION_FACTOR: "the number of replicas would change",
    ErrorCode.NO_REASSIGNMENT_IN_PROGRESS: "the partition is not being reassigned",
    ErrorCode.NOT_CONTROLLER: "this broker is not the controller any more",
    ErrorCode.ELECTION_NOT_NEEDED: "the right replica leads already",
    ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE: "the preferred replica is not alive and in sync",
    ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE: "no replica is alive",
    ErrorCode.INVALID_TOPIC_EXCEPTION: "the topic is being deleted",
    ErrorCode.REQUEST_TIMED_OUT: "not done in time; it may still be done",
}


def message_for(code: ErrorCode) -> str | None:
    """The text for a code that the controller answered without one; None for success."""
    if code is ErrorCode.NONE:
        return None
    return _MESSAGES.get(code, code.name.lower().replace("_", " "))
