"""StopReplica: serve these partitions no more, or delete them."""

from __future__ import annotations

from typing import NamedTuple

from kedge.protocol.broker_messages.leader_and_isr import PartitionError
from kedge.protocol.schema import (
    BOOL,
    INT16,
    INT32,
    INT64,
    STRING,
    ArrayOf,
    Field,
    Struct,
)


class StopPartition(NamedTuple):
    """A partition in StopReplica."""

    partition: int
    leader_epoch: int = -1
    delete: bool = False


class StopTopic(NamedTuple):
    """A topic in StopReplica."""

    topic: str
    partitions: tuple[StopPartition, ...]


class StopReplicaRequest(NamedTuple):
    """Stop serving these."""

    controller: int
    controller_epoch: int
    broker_epoch: int
    topics: tuple[StopTopic, ...]
    is_kraft: bool = False


class StopReplicaResponse(NamedTuple):
    """The outcomes."""

    error: int
    partitions: tuple[PartitionError, ...] = ()


STOP_REPLICA_REQUEST = Struct(
    StopReplicaRequest,
    Field("controller", INT32),
    Field("is_kraft", BOOL, since=4),
    Field("controller_epoch", INT32),
    Field("broker_epoch", INT64),
    Field(
        "topics",
        ArrayOf(
            Struct(
                StopTopic,
                Field("topic", STRING),
                Field(
                    "partitions",
                    ArrayOf(
                        Struct(
                            StopPartition,
                            Field("partition", INT32),
                            Field("leader_epoch", INT32),
                            Field("delete", BOOL),
                        )
                    ),
                ),
            )
        ),
    ),
)
STOP_REPLICA_RESPONSE = Struct(
    StopReplicaResponse,
    Field("error", INT16),
    Field(
        "partitions",
        ArrayOf(
            Struct(
                PartitionError,
                Field("topic", STRING),
                Field("partition", INT32),
                Field("error", INT16),
            )
        ),
    ),
)
