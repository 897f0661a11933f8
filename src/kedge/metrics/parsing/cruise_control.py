"""Parses records of `__CruiseControlMetrics`, the topic of Cruise Control's metrics reporter.

Big-endian: u8 class (0 broker, 1 topic, 2 partition), u8 version, u8 type, i64 time in ms, i32
broker; for classes 1 and 2 an i32 length and the topic in UTF-8; for class 2 an i32 partition; f64
value. Rates are averages of one minute, in bytes per second. Topic names have `_` for every `.`.
"""

from __future__ import annotations

import struct
from typing import Final

from kedge.errors import MalformedInput
from kedge.metrics.measurement import NONE, Series
from kedge.metrics.parsing.collector import Collector, SeriesKey
from kedge.metrics.parsing.name_resolution import TopicNames

_HEAD: Final = struct.Struct(">BBBqi")
_INT: Final = struct.Struct(">i")
_VALUE: Final = struct.Struct(">d")
BROKER, TOPIC, PARTITION = range(3)
VERSION: Final = 0
TOPIC_LENGTH_MAX: Final = 249
TYPE_MAX: Final = 62

SERIES: Final = {
    (BROKER, 0): Series.BYTES_IN_RATE,
    (BROKER, 1): Series.BYTES_OUT_RATE,
    (TOPIC, 2): Series.BYTES_IN_RATE,
    (TOPIC, 3): Series.BYTES_OUT_RATE,
    (PARTITION, 4): Series.LOG_SIZE,
    (BROKER, 5): Series.CPU,
    (BROKER, 6): Series.REPLICATION_IN_RATE,
    (BROKER, 7): Series.REPLICATION_OUT_RATE,
    (BROKER, 10): Series.MESSAGES_IN_RATE,
    (TOPIC, 15): Series.MESSAGES_IN_RATE,
    # means; of fetches without the wait for records, which says nothing of the broker
    (BROKER, 29): Series.PRODUCE_LATENCY_MS,
    (BROKER, 37): Series.FETCH_LATENCY_MS,
    (BROKER, 42): Series.FLUSH_TIME_MS,
}


def collect_record(value: bytes, topics: TopicNames, into: Collector) -> None:
    """Collect the measurement of one record."""
    try:
        key, ts_ms, amount = _parse(value, topics)
    except (MalformedInput, struct.error, UnicodeDecodeError) as error:
        why = error.what if isinstance(error, MalformedInput) else "a truncated record"
        into.reject(value.hex(), why)
        return
    if key is None:
        into.ignore("(another type of metric)")
    else:
        into.add(key, ts_ms, amount)


def _parse(value: bytes, topics: TopicNames) -> tuple[SeriesKey | None, int, float]:
    kind, version, metric, ts_ms, broker = _HEAD.unpack_from(value)
    if kind > PARTITION or version != VERSION or metric > TYPE_MAX or broker < 0:
        raise MalformedInput("not a record of Cruise Control's metrics reporter")
    at, topic, partition = _HEAD.size, "", NONE
    if kind != BROKER:
        (length,) = _INT.unpack_from(value, at)
        at += _INT.size
        if not 0 < length <= TOPIC_LENGTH_MAX or at + length > len(value):
            raise MalformedInput("a truncated record")
        topic = topics.restore(value[at : at + length].decode())
        at += length
    if kind == PARTITION:
        (partition,) = _INT.unpack_from(value, at)
        at += _INT.size
        if partition < 0:
            raise MalformedInput("a partition below 0")
    (amount,) = _VALUE.unpack_from(value, at)
    if at + _VALUE.size != len(value):
        raise MalformedInput("a record with trailing bytes")
    series = SERIES.get((kind, metric))
    if series is None:
        return None, ts_ms, amount
    return SeriesKey(series, broker, topic, partition), ts_ms, amount
