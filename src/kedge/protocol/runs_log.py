"""KedgeRunsLog: the request by which a lab keeps the log of runs for its clients.

A lab takes no data, so it has no topics to keep runs in, and no transactions to fence their owner.
It has this request instead, which is not Kafka's: its key is far above those of Kafka, and only a
lab lists it in ApiVersions. One request does what `kedge.cluster.log_port` needs of a cluster:

    READ             the records after an offset, a part of them at a time
    BECOME_WRITER    the epoch of a new writer; appends of every earlier epoch are refused
    APPEND           records by the writer of an epoch, all or none
    APPEND_UNFENCED  a record by any client
    CLOCK            the time of the lab, which may pass faster than that of its clients
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from kedge.protocol.broker_apis import BrokerApi
from kedge.protocol.schema import (
    BOOL,
    INT8,
    INT16,
    INT64,
    NULLABLE_BYTES,
    STRING,
    ArrayOf,
    Field,
    Struct,
)


class RunsLogOp(IntEnum):
    """What is requested."""

    READ = 0
    BECOME_WRITER = 1
    APPEND = 2
    APPEND_UNFENCED = 3
    CLOCK = 4


class SentEntry(NamedTuple):
    """A record to be written; without a value it removes the key."""

    key: str
    value: bytes | None


class SentRecord(NamedTuple):
    """A record as it is kept."""

    offset: int
    at_ms: int
    key: str
    value: bytes | None


class RunsLogRequest(NamedTuple):
    """`epoch` is that of the writer, `after` the last offset that the client has read."""

    op: int
    epoch: int = 0
    after: int = -1
    entries: tuple[SentEntry, ...] = ()


class RunsLogResponse(NamedTuple):
    """`last` is the offset of the last record that was written; with `more`, read on after it.

    `lab_ms` is the time of the lab, `speed` how many of its milliseconds pass in a second.
    """

    error: int = 0
    message: str = ""
    epoch: int = 0
    last: int = -1
    more: bool = False
    records: tuple[SentRecord, ...] = ()
    lab_ms: int = 0
    speed: int = 0


RUNS_LOG_REQUEST = Struct(
    RunsLogRequest,
    Field("op", INT8),
    Field("epoch", INT64),
    Field("after", INT64),
    Field(
        "entries",
        ArrayOf(Struct(SentEntry, Field("key", STRING), Field("value", NULLABLE_BYTES))),
    ),
)
RUNS_LOG_RESPONSE = Struct(
    RunsLogResponse,
    Field("error", INT16),
    Field("message", STRING),
    Field("epoch", INT64),
    Field("last", INT64),
    Field("more", BOOL),
    Field(
        "records",
        ArrayOf(
            Struct(
                SentRecord,
                Field("offset", INT64),
                Field("at_ms", INT64),
                Field("key", STRING),
                Field("value", NULLABLE_BYTES),
            )
        ),
    ),
    Field("lab_ms", INT64),
    Field("speed", INT64),
)
FENCED = 90  # PRODUCER_FENCED: another client has become the writer
RUNS_LOG = BrokerApi(19_282, "KedgeRunsLog", RUNS_LOG_REQUEST, RUNS_LOG_RESPONSE, 0, 0, 0)
