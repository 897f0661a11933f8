"""The columns of every table that the pipeline reads or writes: the one place that names them.

A *sample* is what a broker tells about one of its replicas for one interval. A *raw* row is a
sample as it arrived, with where it came from (`file` of a directory, or topic, partition and
offset of Kafka) and, where a text could not be read as a sample at all, that text itself.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql.types import (
    BooleanType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)


def _struct(**columns: DataType) -> StructType:
    return StructType([StructField(name, kind) for name, kind in columns.items()])


SAMPLE: Final = _struct(
    cluster=StringType(),
    broker=IntegerType(),
    topic=StringType(),
    partition=IntegerType(),
    ts=TimestampType(),
    ingest_ts=TimestampType(),
    seq=LongType(),
    is_leader=BooleanType(),
    size_bytes=LongType(),
    bytes_in=LongType(),
    bytes_out=LongType(),
    isr=IntegerType(),
    rf=IntegerType(),
)

SAMPLE_COLUMNS: Final = tuple(SAMPLE.fieldNames())

RAW_TEXT: Final = "raw"  # the text of a row that is no sample; null for every other row

REPLICA_KEY: Final = ("cluster", "broker", "topic", "partition")
PARTITION_KEY: Final = ("cluster", "topic", "partition")
BROKER_KEY: Final = ("cluster", "broker")

# figures that hardly repeat: a dictionary of their values costs time and saves no room
VARIED: Final = (
    *("size_bytes", "bytes_in", "bytes_out", "leader_bytes_in", "leader_bytes_out"),
    *("last_size", "max_size_bytes"),
)

# what the tables of a cluster must have; a broker or a replica list may be told more about
BROKERS: Final = _struct(
    cluster=StringType(),
    broker=IntegerType(),
    rack=StringType(),
    disk_capacity_bytes=LongType(),
)

REPLICAS: Final = _struct(
    cluster=StringType(),
    broker=IntegerType(),
    topic=StringType(),
    partition=IntegerType(),
    replica=LongType(),  # the number of this replica, from 0 on
)

# a silver row is a sample, and how many rows of its `seq` have been seen
SILVER: Final = StructType([*SAMPLE.fields, StructField("copies", LongType())])

SILVER_COLUMNS: Final = tuple(SILVER.fieldNames())

__all__ = [
    "BROKERS",
    "BROKER_KEY",
    "PARTITION_KEY",
    "RAW_TEXT",
    "REPLICAS",
    "REPLICA_KEY",
    "SAMPLE",
    "SAMPLE_COLUMNS",
    "SILVER",
    "SILVER_COLUMNS",
    "VARIED",
]
