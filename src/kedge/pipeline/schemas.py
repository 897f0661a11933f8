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
    DoubleType,
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

# of samples that were made of other systems' metrics; null for samples that arrived as such
ATTRIBUTION: Final = _struct(
    origin=StringType(),  # the source of the bytes
    in_by=StringType(),  # the rule by which bytes in were found
    out_by=StringType(),
    in_covered_ms=IntegerType(),  # the part of the interval that was measured
    out_covered_ms=IntegerType(),
)

ATTRIBUTION_COLUMNS: Final = tuple(ATTRIBUTION.fieldNames())

# a value of a series, as `kedge.metrics.measurement` has it, and where it came from
MEASUREMENT: Final = _struct(
    cluster=StringType(),
    ts_ms=LongType(),
    series=StringType(),
    value=DoubleType(),
    broker=IntegerType(),
    topic=StringType(),
    partition=IntegerType(),
    group=StringType(),
    replica=StringType(),
    origin=StringType(),
    file=StringType(),
    raw=StringType(),
)

RAW_TEXT: Final = "raw"  # the text of a row that could not be parsed; null for all other rows

REPLICA_KEY: Final = ("cluster", "broker", "topic", "partition")
PARTITION_KEY: Final = ("cluster", "topic", "partition")
BROKER_KEY: Final = ("cluster", "broker")

# columns with few repeated values: dictionary encoding costs time and saves no space
HIGH_CARDINALITY: Final = (
    *("size_bytes", "bytes_in", "bytes_out", "leader_bytes_in", "leader_bytes_out"),
    *("last_size", "max_size_bytes"),
)

# where a row came from: a file, or a record of a Kafka topic
PROVENANCE: Final = _struct(
    source=StringType(),
    file=StringType(),
    kafka_topic=StringType(),
    kafka_partition=IntegerType(),
    kafka_offset=LongType(),
)
RUN_ID: Final = StructField("run_id", StringType())


def _wide(field: StructField) -> StructField:
    """Bronze has integers as they arrived, which may be too large for the column of a sample."""
    wide = LongType() if field.dataType == IntegerType() else field.dataType
    return StructField(field.name, wide)


BRONZE: Final = StructType(
    [
        *(_wide(field) for field in (*SAMPLE.fields, *ATTRIBUTION.fields)),
        StructField(RAW_TEXT, StringType()),
        *PROVENANCE.fields,
        RUN_ID,
    ]
)
LATE: Final = StructType([*SAMPLE.fields, *PROVENANCE.fields, RUN_ID])
QUARANTINE: Final = StructType(
    [
        *(StructField(name, StringType()) for name in ("reason", RAW_TEXT)),
        *PROVENANCE.fields,
        RUN_ID,
    ]
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
SILVER: Final = StructType([*SAMPLE.fields, StructField("copies", LongType()), *ATTRIBUTION.fields])

SILVER_COLUMNS: Final = tuple(SILVER.fieldNames())

__all__ = [
    "ASSIGNMENT",
    "ATTRIBUTION",
    "ATTRIBUTION_COLUMNS",
    "BROKERS",
    "BROKER_KEY",
    "BRONZE",
    "HIGH_CARDINALITY",
    "LATE",
    "MEASUREMENT",
    "PARTITION_KEY",
    "PROVENANCE",
    "QUARANTINE",
    "RAW_TEXT",
    "REPLICAS",
    "REPLICA_KEY",
    "RUN_ID",
    "SAMPLE",
    "SAMPLE_COLUMNS",
    "SILVER",
    "SILVER_COLUMNS",
]
