"""A Kafka topic of samples as raw rows: JSON values, and where each of them lay.

Every row keeps its place in the topic (`kafka_topic`, `kafka_partition`, `kafka_offset`), so that
anybody can count whether one was lost or taken twice. A value that is no sample, and a tombstone,
is a row all the same: it goes to quarantine with its text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from kedge.errors import InvalidRequest, SparkUnavailable
from kedge.pipeline.schemas import RAW_TEXT, SAMPLE_COLUMNS
from kedge.pipeline.session import SessionSettings, connector_jars
from kedge.pipeline.transforms.parse import parse_json

PROVENANCE: Final = ("source", "kafka_topic", "kafka_partition", "kafka_offset")
SOURCE: Final = "kafka"

# what the connector sets itself, and refuses to be told
SPARKS_OWN: Final = frozenset(
    {
        *("auto.offset.reset", "key.deserializer", "value.deserializer", "enable.auto.commit"),
        *("interceptor.classes", "key.serializer", "value.serializer", "bootstrap.servers"),
    }
)


@dataclass(frozen=True, slots=True)
class KafkaSource:
    """A topic, how its cluster is reached, and how much of it a batch may hold at most."""

    bootstrap: str
    topic: str
    max_offsets: int
    client: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)

    def options(self) -> dict[str, str]:
        """The settings of Spark's connector: from the start, and never over a gap in silence."""
        told = {name: value for name, value in self.client.items() if name not in SPARKS_OWN}
        return {
            **{f"kafka.{name}": value for name, value in told.items()},
            "kafka.bootstrap.servers": self.bootstrap,
            "subscribe": self.topic,
            "startingOffsets": "earliest",
            "failOnDataLoss": "true",
            "maxOffsetsPerTrigger": str(self.max_offsets),
        }


def check_connector(settings: SessionSettings) -> None:
    """Refuse a session that has no connector, before one is started."""
    named = any("spark-sql-kafka" in jar.name for jar in (*settings.jars, *connector_jars()))
    if not named and "spark.jars.packages" not in settings.more:
        hint = "name the jars of spark-sql-kafka-0-10 with --jars"
        raise SparkUnavailable("there is no Kafka connector for Spark", hint=hint)


def kafka_stream(session: SparkSession, source: KafkaSource) -> DataFrame:
    """The topic as an endless frame of raw rows."""
    if source.max_offsets < 1:
        raise InvalidRequest(f"batches of {source.max_offsets} rows", hint="ask for 1 or more")
    reader = session.readStream.format("kafka")
    return raw_rows(reader.options(**source.options()).load())


def raw_rows(records: DataFrame) -> DataFrame:
    """Kafka's records as raw rows."""
    placed = records.select(
        F.col("value").cast("string").alias("value"),
        F.lit(SOURCE).alias("source"),
        F.col("topic").alias("kafka_topic"),
        F.col("partition").alias("kafka_partition"),
        F.col("offset").alias("kafka_offset"),
    )
    return parse_json(placed).select(*SAMPLE_COLUMNS, RAW_TEXT, *PROVENANCE)
