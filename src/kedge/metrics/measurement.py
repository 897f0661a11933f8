"""The common form of metrics: one value of one series at one moment.

Every source is parsed to measurements, and attribution reads nothing else. A measurement belongs to
a broker, and depending on its series to a topic, a partition and a consumer group; what does not
apply is `NONE` or empty. Columns of a batch (`SCHEMA`) have the same names.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from kedge.model.arrow import arrow

NONE: Final = -1  # the broker or partition of a measurement that has none


class Kind(StrEnum):
    """How values of a series follow each other."""

    COUNTER = "counter"  # grows; falls to 0 when its broker restarts or leads again
    GAUGE = "gauge"  # the value at this moment
    RATE = "rate"  # bytes or records per second, averaged by the broker over the last minute


class Series(StrEnum):
    """What is measured."""

    UP = "up"  # gauge of a broker: 1 where its endpoint answered
    # of a topic on a broker; with an empty topic of all topics together
    BYTES_IN = "bytes_in"
    BYTES_OUT = "bytes_out"
    MESSAGES_IN = "messages_in"
    BYTES_IN_RATE = "bytes_in_rate"
    BYTES_OUT_RATE = "bytes_out_rate"
    MESSAGES_IN_RATE = "messages_in_rate"
    # of a broker: client traffic is in none of these
    REPLICATION_IN = "replication_in"
    REPLICATION_OUT = "replication_out"
    REASSIGNMENT_IN = "reassignment_in"
    REASSIGNMENT_OUT = "reassignment_out"
    REPLICATION_IN_RATE = "replication_in_rate"
    REPLICATION_OUT_RATE = "replication_out_rate"
    CPU = "cpu"  # share of the machine, 0 to 1
    CPU_SECONDS = "cpu_seconds"  # counter: cpu time of the broker's process
    PRODUCE_LATENCY_MS = "produce_latency_ms"
    FETCH_LATENCY_MS = "fetch_latency_ms"
    FLUSH_TIME_MS = "flush_time_ms"
    # of a replica
    LOG_SIZE = "log_size"
    LOG_START_OFFSET = "log_start_offset"
    LOG_END_OFFSET = "log_end_offset"
    # of a partition, on its leader; 0 on followers where the source has them there
    REPLICAS = "replicas"
    IN_SYNC_REPLICAS = "in_sync_replicas"
    # of a partition and a group; no broker
    COMMITTED_OFFSET = "committed_offset"
    GROUP_LAG = "group_lag"  # records between the end of the log and the committed offset
    # of a topic; no broker
    TOPIC_SIZE = "topic_size"  # of all its replicas together
    REPLICATION_FACTOR = "replication_factor"

    @property
    def kind(self) -> Kind:
        """How its values follow each other."""
        if self.value.endswith("_rate"):
            return Kind.RATE
        return Kind.COUNTER if self in _COUNTERS else Kind.GAUGE


_COUNTERS: Final = frozenset(
    {
        Series.BYTES_IN,
        Series.BYTES_OUT,
        Series.MESSAGES_IN,
        Series.REPLICATION_IN,
        Series.REPLICATION_OUT,
        Series.REASSIGNMENT_IN,
        Series.REASSIGNMENT_OUT,
        Series.CPU_SECONDS,
    }
)


# of any process: other exporters on the host of a broker have these too
PROCESS_SERIES: Final = frozenset({Series.UP, Series.CPU_SECONDS})


@dataclass(frozen=True, slots=True)
class Measurement:
    """One value of one series."""

    cluster: str
    ts_ms: int  # since 1970, UTC
    series: Series
    value: float
    broker: int = NONE
    topic: str = ""
    partition: int = NONE
    group: str = ""


pa = arrow()

SCHEMA: Final[Any] = pa.schema(
    [
        pa.field("cluster", pa.string(), nullable=False),
        pa.field("ts_ms", pa.int64(), nullable=False),
        pa.field("series", pa.string(), nullable=False),
        pa.field("value", pa.float64(), nullable=False),
        pa.field("broker", pa.int32(), nullable=False),
        pa.field("topic", pa.string(), nullable=False),
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("group", pa.string(), nullable=False),
    ]
)
