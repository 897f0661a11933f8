"""AlterPartition (KIP-497): a leader requests an ISR change."""

from __future__ import annotations

from typing import NamedTuple

from kedge.protocol.schema import (
    INT8,
    INT16,
    INT32,
    INT32S,
    INT64,
    STRING,
    TOPIC_ID,
    ArrayOf,
    Field,
    Struct,
)


class IsrMember(NamedTuple):
    """A broker in a requested ISR, with the epoch that the leader knows (KIP-903)."""

    broker: int
    broker_epoch: int = -1


class RequestedPartition(NamedTuple):
    """The ISR that a leader requests for a partition."""

    partition: int
    leader_epoch: int
    partition_epoch: int
    isr: tuple[int, ...] = ()
    members: tuple[IsrMember, ...] = ()
    recovery: int = 0


class RequestedTopic(NamedTuple):
    """A topic in AlterPartition: by name up to version 1, by id from version 2 on."""

    partitions: tuple[RequestedPartition, ...]
    topic: str = ""
    topic_id: str | None = None


class AlterPartitionRequest(NamedTuple):
    """A leader's request for ISR changes."""

    broker: int
    broker_epoch: int
    topics: tuple[RequestedTopic, ...]


class AlteredPartition(NamedTuple):
    """A partition's current state, or the error."""

    partition: int
    error: int = 0
    leader: int = 0
    leader_epoch: int = 0
    isr: tuple[int, ...] = ()
    recovery: int = 0
    partition_epoch: int = 0


class AlteredTopic(NamedTuple):
    """A topic in the response, named as in the request."""

    partitions: tuple[AlteredPartition, ...]
    topic: str = ""
    topic_id: str | None = None


class AlterPartitionResponse(NamedTuple):
    """The results."""

    error: int
    topics: tuple[AlteredTopic, ...] = ()
    throttle_ms: int = 0


ALTER_PARTITION_REQUEST = Struct(
    AlterPartitionRequest,
    Field("broker", INT32),
    Field("broker_epoch", INT64),
    Field(
        "topics",
        ArrayOf(
            Struct(
                RequestedTopic,
                Field("topic", STRING, until=1),
                Field("topic_id", TOPIC_ID, since=2),
                Field(
                    "partitions",
                    ArrayOf(
                        Struct(
                            RequestedPartition,
                            Field("partition", INT32),
                            Field("leader_epoch", INT32),
                            Field("isr", INT32S, until=2),
                            Field(
                                "members",
                                ArrayOf(
                                    Struct(
                                        IsrMember,
                                        Field("broker", INT32),
                                        Field("broker_epoch", INT64),
                                    )
                                ),
                                since=3,
                            ),
                            Field("recovery", INT8, since=1),
                            Field("partition_epoch", INT32),
                        )
                    ),
                ),
            )
        ),
    ),
)
ALTER_PARTITION_RESPONSE = Struct(
    AlterPartitionResponse,
    Field("throttle_ms", INT32),
    Field("error", INT16),
    Field(
        "topics",
        ArrayOf(
            Struct(
                AlteredTopic,
                Field("topic", STRING, until=1),
                Field("topic_id", TOPIC_ID, since=2),
                Field(
                    "partitions",
                    ArrayOf(
                        Struct(
                            AlteredPartition,
                            Field("partition", INT32),
                            Field("error", INT16),
                            Field("leader", INT32),
                            Field("leader_epoch", INT32),
                            Field("isr", INT32S),
                            Field("recovery", INT8, since=1),
                            Field("partition_epoch", INT32),
                        )
                    ),
                ),
            )
        ),
    ),
)
