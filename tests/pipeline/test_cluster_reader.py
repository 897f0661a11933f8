"""The Spark data source of a live cluster."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from pyspark.sql import SparkSession

from kedge.cluster.kafka_admin import KafkaAdmin
from kedge.cluster.memory import MemoryCluster
from kedge.cluster.port import TopicCreation
from kedge.pipeline.schemas import BROKERS, SAMPLE_COLUMNS
from kedge.pipeline.sources.cluster_reader import KafkaClusterDataSource, table_rows
from tests.endpoint.endpoint_cluster import endpoint_cluster

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)


def test_a_cluster_is_read_as_brokers_assignment_and_samples() -> None:
    cluster = MemoryCluster(3)
    cluster.create_topics([TopicCreation("orders", partitions=2, replication_factor=3)])
    name = cluster.describe().cluster_id
    assert [row[:3] for row in table_rows(cluster, "brokers", NOON)] == [
        (name, broker, f"r{broker}") for broker in (1, 2, 3)
    ]
    placed = table_rows(cluster, "assignment", NOON)
    assert [row[:3] for row in placed] == [(name, "orders", 0), (name, "orders", 1)]
    assert all(row[4] == row[3][0] for row in placed)  # the preferred replica leads
    samples = table_rows(cluster, "samples", NOON)
    assert len(samples) == 6
    assert all(len(row) == len(SAMPLE_COLUMNS) for row in samples)


@pytest.mark.real
def test_spark_reads_the_brokers_and_the_assignment_of_a_live_cluster(
    spark: SparkSession,
) -> None:
    spark.dataSource.register(KafkaClusterDataSource)
    with endpoint_cluster() as cluster:
        admin = KafkaAdmin(cluster.bootstrap)
        admin.create_topics([TopicCreation("orders", partitions=2, replication_factor=2)])
        wanted = table_rows(admin, "assignment", NOON)
        admin.close()
        reader = spark.read.format("kedge-cluster").option("bootstrap", cluster.bootstrap)
        brokers = reader.option("table", "brokers").load()
        placed = reader.option("table", "assignment").load().collect()
        assert brokers.schema == BROKERS
        assert brokers.count() >= 2
        assert sorted(map(tuple, placed)) == wanted
