"""UpdateMetadata: the controller sends brokers the metadata that they serve to clients."""

from __future__ import annotations

from typing import NamedTuple

from kedge.protocol.schema import (
    BOOL,
    INT16,
    INT32,
    INT32S,
    INT64,
    NULLABLE_STRING,
    STRING,
    TOPIC_ID,
    ArrayOf,
    Field,
    Struct,
)


class MetadataPartition(NamedTuple):
    """A partition in UpdateMetadata."""

    partition: int
    controller_epoch: int
    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    partition_epoch: int
    replicas: tuple[int, ...]
    offline: tuple[int, ...] = ()


class MetadataTopic(NamedTuple):
    """A topic in UpdateMetadata."""

    topic: str
    partitions: tuple[MetadataPartition, ...]
    topic_id: str | None = None


class BrokerEndpoint(NamedTuple):
    """The address of a broker's listener; the security protocol by its number."""

    port: int
    host: str
    listener: str
    protocol: int


class LiveBroker(NamedTuple):
    """A live broker."""

    broker: int
    endpoints: tuple[BrokerEndpoint, ...]
    rack: str | None = None


class MetadataContent(NamedTuple):
    """The part of the request that is the same for all brokers."""

    topics: tuple[MetadataTopic, ...]
    live_brokers: tuple[LiveBroker, ...]


class UpdateMetadataRequest(NamedTuple):
    """The live brokers, and the partitions that have changed."""

    controller: int
    controller_epoch: int
    broker_epoch: int
    content: MetadataContent | bytes
    is_kraft: bool = False


class UpdateMetadataResponse(NamedTuple):
    """The error, if any."""

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
                MetadataTopic,
                Field("topic", STRING),
                Field("topic_id", TOPIC_ID, since=7),
                Field(
                    "partitions",
                    ArrayOf(
                        Struct(
                            MetadataPartition,
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
