"""StopReplica: the controller makes a broker stop serving partitions, or delete them."""

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


class StopReplicaPartition(NamedTuple):
    """A partition in StopReplica."""

    partition: int
    leader_epoch: int = -1
    delete: bool = False


class StopReplicaTopic(NamedTuple):
    """A topic in StopReplica."""

    topic: str
    partitions: tuple[StopReplicaPartition, ...]


class StopReplicaRequest(NamedTuple):
    """The replicas to stop."""

    controller: int
    controller_epoch: int
    broker_epoch: int
    topics: tuple[StopReplicaTopic, ...]
    is_kraft: bool = False


class StopReplicaResponse(NamedTuple):
    """The errors."""

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
                StopReplicaTopic,
                Field("topic", STRING),
                Field(
                    "partitions",
                    ArrayOf(
                        Struct(
                            StopReplicaPartition,
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
