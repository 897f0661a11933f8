"""What controllers and ZooKeeper-mode brokers say to each other, as values and as schemas.

From controller to broker: LeaderAndIsr, StopReplica, UpdateMetadata, in the versions of
inter-broker protocols from 2.6 to 3.9. From broker to controller: AlterPartition (KIP-497),
ControlledShutdown (KIP-380), AllocateProducerIds (KIP-730), in all versions that brokers send.
"""

from __future__ import annotations

from typing import NamedTuple

from kedge.protocol.schema import (
    BOOL,
    INT8,
    INT16,
    INT32,
    INT64,
    NULLABLE_STRING,
    STRING,
    TOPIC_ID,
    ArrayOf,
    Field,
    Struct,
)

INT32S = ArrayOf(INT32)

# ---- LeaderAndIsr --------------------------------------------------------------------------------


class LeadPartition(NamedTuple):
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


class LeadTopic(NamedTuple):
    """A topic in LeaderAndIsr."""

    topic: str
    partitions: tuple[LeadPartition | bytes, ...]
    topic_id: str | None = None


class LiveLeader(NamedTuple):
    """Where a leader is reached."""

    broker: int
    host: str
    port: int


class LeaderAndIsrRequest(NamedTuple):
    """Lead or follow these."""

    controller: int
    controller_epoch: int
    broker_epoch: int
    topics: tuple[LeadTopic, ...]
    live_leaders: tuple[LiveLeader, ...]
    is_kraft: bool = False
    type: int = 0


LEAD_PARTITION = Struct(
    LeadPartition,
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
                LeadTopic,
                Field("topic", STRING),
                Field("topic_id", TOPIC_ID, since=5),
                Field("partitions", ArrayOf(LEAD_PARTITION)),
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
    """The outcome for a partition; new versions of LeaderAndIsr name the topic around it."""

    partition: int
    error: int
    topic: str = ""


class TopicErrors(NamedTuple):
    """The outcomes for a topic, which is named by its id."""

    topic_id: str | None
    partitions: tuple[PartitionError, ...]


class LeaderAndIsrResponse(NamedTuple):
    """The outcomes: flat up to version 4, by topic from version 5 on."""

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

# ---- UpdateMetadata ------------------------------------------------------------------------------


class KnownPartition(NamedTuple):
    """A partition in UpdateMetadata."""

    partition: int
    controller_epoch: int
    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    partition_epoch: int
    replicas: tuple[int, ...]
    offline: tuple[int, ...] = ()


class KnownTopic(NamedTuple):
    """A topic in UpdateMetadata."""

    topic: str
    partitions: tuple[KnownPartition, ...]
    topic_id: str | None = None


class BrokerEndpoint(NamedTuple):
    """Where a broker's listener is reached; the protocol by its number."""

    port: int
    host: str
    listener: str
    protocol: int


class LiveBroker(NamedTuple):
    """A broker that is there."""

    broker: int
    endpoints: tuple[BrokerEndpoint, ...]
    rack: str | None = None


class MetadataContent(NamedTuple):
    """What is the same for all brokers that are told."""

    topics: tuple[KnownTopic, ...]
    live_brokers: tuple[LiveBroker, ...]


class UpdateMetadataRequest(NamedTuple):
    """These are the brokers, and these partitions have changed."""

    controller: int
    controller_epoch: int
    broker_epoch: int
    content: MetadataContent | bytes
    is_kraft: bool = False


class UpdateMetadataResponse(NamedTuple):
    """Whether it was taken."""

    error: int


_BROKER_ENDPOINT = Struct(
    BrokerEndpoint,
    Field("port", INT32),
    Field("host", STRING),
    Field("listener", STRING),
    Field("protocol", INT16),
)
METADATA_CONTENT = Struct(
    MetadataContent,
    Field(
        "topics",
        ArrayOf(
            Struct(
                KnownTopic,
                Field("topic", STRING),
                Field("topic_id", TOPIC_ID, since=7),
                Field(
                    "partitions",
                    ArrayOf(
                        Struct(
                            KnownPartition,
                            Field("partition", INT32),
                            Field("controller_epoch", INT32),
                            Field("leader", INT32),
                            Field("leader_epoch", INT32),
                            Field("isr", INT32S),
                            Field("partition_epoch", INT32),
                            Field("replicas", INT32S),
                            Field("offline", INT32S),
                        )
                    ),
                ),
            )
        ),
    ),
    Field(
        "live_brokers",
        ArrayOf(
            Struct(
                LiveBroker,
                Field("broker", INT32),
                Field("endpoints", ArrayOf(_BROKER_ENDPOINT)),
                Field("rack", NULLABLE_STRING),
            )
        ),
    ),
    inline=True,
)
UPDATE_METADATA_REQUEST = Struct(
    UpdateMetadataRequest,
    Field("controller", INT32),
    Field("is_kraft", BOOL, since=8),
    Field("controller_epoch", INT32),
    Field("broker_epoch", INT64),
    Field("content", METADATA_CONTENT),
)
UPDATE_METADATA_RESPONSE = Struct(UpdateMetadataResponse, Field("error", INT16))

# ---- StopReplica ---------------------------------------------------------------------------------


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

# ---- AlterPartition ------------------------------------------------------------------------------


class IsrMember(NamedTuple):
    """A broker in a wanted ISR, with the epoch that the leader knows (KIP-903)."""

    broker: int
    broker_epoch: int = -1


class WantedPartition(NamedTuple):
    """The ISR that a leader wants for a partition."""

    partition: int
    leader_epoch: int
    partition_epoch: int
    isr: tuple[int, ...] = ()
    members: tuple[IsrMember, ...] = ()
    recovery: int = 0


class WantedTopic(NamedTuple):
    """A topic in AlterPartition: by name up to version 1, by id from version 2 on."""

    partitions: tuple[WantedPartition, ...]
    topic: str = ""
    topic_id: str | None = None


class AlterPartitionRequest(NamedTuple):
    """A leader asks for ISR changes."""

    broker: int
    broker_epoch: int
    topics: tuple[WantedTopic, ...]


class AlteredPartition(NamedTuple):
    """A partition as it is now, or why it is not as wanted."""

    partition: int
    error: int = 0
    leader: int = 0
    leader_epoch: int = 0
    isr: tuple[int, ...] = ()
    recovery: int = 0
    partition_epoch: int = 0


class AlteredTopic(NamedTuple):
    """A topic in the answer, named as it was asked."""

    partitions: tuple[AlteredPartition, ...]
    topic: str = ""
    topic_id: str | None = None


class AlterPartitionResponse(NamedTuple):
    """The outcomes."""

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
                WantedTopic,
                Field("topic", STRING, until=1),
                Field("topic_id", TOPIC_ID, since=2),
                Field(
                    "partitions",
                    ArrayOf(
                        Struct(
                            WantedPartition,
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

# ---- ControlledShutdown and AllocateProducerIds --------------------------------------------------


class ControlledShutdownRequest(NamedTuple):
    """A broker wants to leave."""

    broker: int
    broker_epoch: int = -1


class RemainingPartition(NamedTuple):
    """A partition that the broker still leads."""

    topic: str
    partition: int


class ControlledShutdownResponse(NamedTuple):
    """What the broker still leads; it asks again until there is nothing."""

    error: int
    remaining: tuple[RemainingPartition, ...] = ()


class AllocateProducerIdsRequest(NamedTuple):
    """A broker wants a block of producer ids."""

    broker: int
    broker_epoch: int


class AllocateProducerIdsResponse(NamedTuple):
    """The block."""

    error: int
    first: int = 0
    length: int = 0
    throttle_ms: int = 0


CONTROLLED_SHUTDOWN_REQUEST = Struct(
    ControlledShutdownRequest,
    Field("broker", INT32),
    Field("broker_epoch", INT64, since=2),
)
CONTROLLED_SHUTDOWN_RESPONSE = Struct(
    ControlledShutdownResponse,
    Field("error", INT16),
    Field(
        "remaining",
        ArrayOf(Struct(RemainingPartition, Field("topic", STRING), Field("partition", INT32))),
    ),
)
ALLOCATE_PRODUCER_IDS_REQUEST = Struct(
    AllocateProducerIdsRequest, Field("broker", INT32), Field("broker_epoch", INT64)
)
ALLOCATE_PRODUCER_IDS_RESPONSE = Struct(
    AllocateProducerIdsResponse,
    Field("throttle_ms", INT32),
    Field("error", INT16),
    Field("first", INT64),
    Field("length", INT32),
)
