"""Spark schemas and key columns of the tables that the pipeline reads and writes.

A *sample* is what a broker reports about one of its replicas for one interval. A *raw* row is a
sample as it arrived, with its provenance (the `file`, or Kafka's topic, partition and offset);
`raw` is the original text if it could not be parsed as a sample.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql.types import (
    ArrayType,
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

RAW_TEXT: Final = "raw"  # the text of a row that could not be parsed; null for all other rows

REPLICA_KEY: Final = ("cluster", "broker", "topic", "partition")
PARTITION_KEY: Final = ("cluster", "topic", "partition")
BROKER_KEY: Final = ("cluster", "broker")

# columns with few repeated values: dictionary encoding costs time and saves no space
HIGH_CARDINALITY: Final = (
    *("size_bytes", "bytes_in", "bytes_out", "leader_bytes_in", "leader_bytes_out"),
    *("last_size", "max_size_bytes"),
)

BROKERS: Final = _struct(
    cluster=StringType(),
    broker=IntegerType(),
    rack=StringType(),
    disk_capacity_bytes=LongType(),
)

ASSIGNMENT: Final = _struct(
    cluster=StringType(),
    topic=StringType(),
    partition=IntegerType(),
    replicas=ArrayType(IntegerType()),
    leader=IntegerType(),
)

REPLICAS: Final = _struct(
    cluster=StringType(),
    broker=IntegerType(),
    topic=StringType(),
    partition=IntegerType(),
    replica=LongType(),  # the number of the replica, from 0
)

# a silver row is a sample; `copies` counts the rows that were ingested with its `seq`
SILVER: Final = StructType([*SAMPLE.fields, StructField("copies", LongType())])

SILVER_COLUMNS: Final = tuple(SILVER.fieldNames())

__all__ = [
    "ASSIGNMENT",
    "BROKERS",
    "BROKER_KEY",
    "HIGH_CARDINALITY",
    "PARTITION_KEY",
    "RAW_TEXT",
    "REPLICAS",
    "REPLICA_KEY",
    "SAMPLE",
    "SAMPLE_COLUMNS",
    "SILVER",
    "SILVER_COLUMNS",
]
