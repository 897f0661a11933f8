"""Reads a Kafka topic of samples as raw rows: JSON values with topic, partition and offset.

Every row has its position (`kafka_topic`, `kafka_partition`, `kafka_offset`), so that lost or
duplicated rows can be counted. A value that cannot be parsed, and a tombstone, is a row too: it
goes to quarantine with its text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from kedge.errors import InvalidRequest, SparkUnavailable
from kedge.pipeline.schemas import RAW_TEXT, SAMPLE_COLUMNS
from kedge.pipeline.session import SessionSettings, kafka_connector_jars
from kedge.pipeline.transforms.parse import parse_json

PROVENANCE: Final = ("source", "kafka_topic", "kafka_partition", "kafka_offset")
SOURCE: Final = "kafka"

# set by the connector, which rejects them as options
SET_BY_CONNECTOR: Final = frozenset(
    {
        *("auto.offset.reset", "key.deserializer", "value.deserializer", "enable.auto.commit"),
        *("interceptor.classes", "key.serializer", "value.serializer", "bootstrap.servers"),
    }
)


@dataclass(frozen=True, slots=True)
class KafkaSource:
    """A topic, the client settings of its cluster, and the maximum number of rows of a batch."""

    bootstrap: str
    topic: str
    max_offsets: int
    client: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)

    def options(self) -> dict[str, str]:
        """The options of Spark's connector: from the earliest offset, and fail on data loss."""
        client = {
            name: value for name, value in self.client.items() if name not in SET_BY_CONNECTOR
        }
        return {
            **{f"kafka.{name}": value for name, value in client.items()},
            "kafka.bootstrap.servers": self.bootstrap,
            "subscribe": self.topic,
            "startingOffsets": "earliest",
            "failOnDataLoss": "true",
            "maxOffsetsPerTrigger": str(self.max_offsets),
        }


def check_kafka_connector(settings: SessionSettings) -> None:
    """Refuse settings without the Kafka connector, before a session is started."""
    has_jar = any(
        "spark-sql-kafka" in jar.name for jar in (*settings.jars, *kafka_connector_jars())
    )
    if not has_jar and "spark.jars.packages" not in settings.more:
        hint = "add the jars of spark-sql-kafka-0-10 with --jars"
        raise SparkUnavailable("the Kafka connector of Spark is missing", hint=hint)


def kafka_stream(session: SparkSession, source: KafkaSource) -> DataFrame:
    """The topic as a streaming DataFrame of raw rows."""
    if source.max_offsets < 1:
        raise InvalidRequest(f"batches of {source.max_offsets} rows", hint="use 1 or more")
    reader = session.readStream.format("kafka")
    return parse_records(reader.options(**source.options()).load())


def parse_records(records: DataFrame) -> DataFrame:
    """Kafka records as raw rows."""
    positioned = records.select(
        F.col("value").cast("string").alias("value"),
        F.lit(SOURCE).alias("source"),
        F.col("topic").alias("kafka_topic"),
        F.col("partition").alias("kafka_partition"),
        F.col("offset").alias("kafka_offset"),
    )
    return parse_json(positioned).select(*SAMPLE_COLUMNS, RAW_TEXT, *PROVENANCE)
