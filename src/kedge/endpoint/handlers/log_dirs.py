"""DescribeLogDirs and AlterReplicaLogDirs (KIP-113): each broker speaks of its own directories."""

from __future__ import annotations

from collections.abc import Collection

from kedge.endpoint.backend import LogDirState, ReplicaInDir
from kedge.endpoint.call import Call
from kedge.endpoint.handlers.by_topic import by_topic, flat
from kedge.errors import KedgeError
from kedge.model import TopicPartition
from kedge.model.error_codes import ErrorCode
from kedge.protocol import code_of
from kedge.protocol.messages import (
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
)

Described = DescribeLogDirsResponse.DescribeLogDirsResult
DescribedTopic = Described.DescribeLogDirsTopic
DescribedPartition = DescribedTopic.DescribeLogDirsPartition
Moved = AlterReplicaLogDirsResponse.AlterReplicaLogDirTopicResult
MovedPartition = Moved.AlterReplicaLogDirPartitionResult


async def describe_log_dirs(call: Call, request: DescribeLogDirsRequest) -> DescribeLogDirsResponse:
    """The node's directories, and what these partitions (or all) take in them."""
    asked = request.topics
    wanted = None if asked is None else set(flat((t.topic, t.partitions) for t in asked))
    try:
        states = await call.backend.describe_log_dirs(call.node)
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
        outcomes = await call.backend.move_log_dirs(call.node, moves)
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
