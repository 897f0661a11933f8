"""LeaderAndIsr: the controller makes a broker lead or follow partitions."""

from __future__ import annotations

from typing import NamedTuple

from kedge.protocol.schema import (
    BOOL,
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


class LeaderAndIsrPartition(NamedTuple):
    """A partition in LeaderAndIsr."""

    partition: int
    controller_epoch: int
    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    partition_epoch: int
    replicas: tuple[int, ...]
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()
    is_new: bool = False
    recovery: int = 0


class LeaderAndIsrTopic(NamedTuple):
    """A topic in LeaderAndIsr."""

    topic: str
    partitions: tuple[LeaderAndIsrPartition | bytes, ...]
    topic_id: str | None = None


class LiveLeader(NamedTuple):
    """The address of a leader."""

    broker: int
    host: str
    port: int


class LeaderAndIsrRequest(NamedTuple):
    """The partitions that a broker is to lead or follow."""

    controller: int
    controller_epoch: int
    broker_epoch: int
    topics: tuple[LeaderAndIsrTopic, ...]
    live_leaders: tuple[LiveLeader, ...]
    is_kraft: bool = False
    type: int = 0


LEADER_AND_ISR_PARTITION = Struct(
    LeaderAndIsrPartition,
    Field("partition", INT32),
    Field("controller_epoch", INT32),
    Field("leader", INT32),
    Field("leader_epoch", INT32),
    Field("isr", INT32S),
    Field("partition_epoch", INT32),
    Field("replicas", INT32S),
    Field("adding", INT32S),
    Field("removing", INT32S),
    Field("is_new", BOOL),
    Field("recovery", INT8, since=6),
)
LEADER_AND_ISR_REQUEST = Struct(
    LeaderAndIsrRequest,
    Field("controller", INT32),
    Field("is_kraft", BOOL, since=7),
    Field("controller_epoch", INT32),
    Field("broker_epoch", INT64),
    Field("type", INT8, since=5),
    Field(
        "topics",
        ArrayOf(
            Struct(
                LeaderAndIsrTopic,
                Field("topic", STRING),
                Field("topic_id", TOPIC_ID, since=5),
                Field("partitions", ArrayOf(LEADER_AND_ISR_PARTITION)),
            )
        ),
    ),
    Field(
        "live_leaders",
        ArrayOf(
            Struct(LiveLeader, Field("broker", INT32), Field("host", STRING), Field("port", INT32))
        ),
    ),
)


class PartitionError(NamedTuple):
    """The error of a partition; version 5 and later name the topic around it."""

    partition: int
    error: int
    topic: str = ""


class TopicErrors(NamedTuple):
    """The errors of a topic, named by its id."""

    topic_id: str | None
    partitions: tuple[PartitionError, ...]


class LeaderAndIsrResponse(NamedTuple):
    """The errors: flat up to version 4, by topic from version 5 on."""

    error: int
    partitions: tuple[PartitionError, ...] = ()
    topics: tuple[TopicErrors, ...] = ()


_PARTITION_ERROR = Struct(
    PartitionError,
    Field("topic", STRING, until=4),
    Field("partition", INT32),
    Field("error", INT16),
)
LEADER_AND_ISR_RESPONSE = Struct(
    LeaderAndIsrResponse,
    Field("error", INT16),
    Field("partitions", ArrayOf(_PARTITION_ERROR), until=4),
    Field(
        "topics",
        ArrayOf(
            Struct(
                TopicErrors,
                Field("topic_id", TOPIC_ID),
                Field("partitions", ArrayOf(_PARTITION_ERROR)),
            )
        ),
        since=5,
    ),
)
