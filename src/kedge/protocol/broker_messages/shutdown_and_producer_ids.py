"""ControlledShutdown (KIP-380) and AllocateProducerIds (KIP-730): brokers' other requests."""

from __future__ import annotations

from typing import NamedTuple

from kedge.protocol.schema import (
    INT16,
    INT32,
    INT64,
    STRING,
    ArrayOf,
    Field,
    Struct,
)


class ControlledShutdownRequest(NamedTuple):
    """A broker requests to shut down."""

    broker: int
    broker_epoch: int = -1


class RemainingPartition(NamedTuple):
    """A partition that the broker still leads."""

    topic: str
    partition: int


class ControlledShutdownResponse(NamedTuple):
    """The partitions that the broker still leads; it repeats the request until there are none."""

    error: int
    remaining: tuple[RemainingPartition, ...] = ()


class AllocateProducerIdsRequest(NamedTuple):
    """A broker requests a block of producer ids."""

    broker: int
    broker_epoch: int


class AllocateProducerIdsResponse(NamedTuple):
    """The allocated block."""

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
