"""Spark data source `kedge-cluster`: brokers, assignment and samples of a live cluster.

    session.dataSource.register(LiveCluster)
    session.read.format("kedge-cluster").options(
        bootstrap="localhost:9092", table="assignment").load()

| table        | columns                                                    |
|--------------|------------------------------------------------------------|
| `brokers`    | cluster, broker, rack, disk_capacity_bytes                 |
| `assignment` | cluster, topic, partition, replicas, leader                |
| `samples`    | the columns of a sample, at the time of the read            |

The first two are the reference tables of `ingest`. The option `properties` is the path of a client
properties file, which is read on the worker that connects to the cluster.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from kedge.cluster.hosts import replica_hosts
from kedge.cluster.port import Cluster
from kedge.errors import InvalidRequest, KedgeError
from kedge.model import BrokerId
from kedge.pipeline.schemas import ASSIGNMENT, BROKERS, SAMPLE, SAMPLE_COLUMNS

SCHEMAS: dict[str, StructType] = {
    "brokers": BROKERS,
    "assignment": ASSIGNMENT,
    "samples": SAMPLE,
}


class KafkaClusterDataSource(DataSource):
    """The data source `kedge-cluster`."""

    @classmethod
    def name(cls) -> str:
        return "kedge-cluster"

    def schema(self) -> StructType:
        return SCHEMAS[self._table]

    def reader(self, schema: StructType) -> DataSourceReader:
        options = {name.lower(): value for name, value in self.options.items()}
        if "bootstrap" not in options:
            raise InvalidRequest(
                "no bootstrap server", hint="set the option bootstrap to host:port"
            )
        return KafkaClusterReader(options["bootstrap"], options.get("properties"), self._table)

    @property
    def _table(self) -> str:
        table = self.options.get("table", "samples")
        if table not in SCHEMAS:
            raise InvalidRequest(f"unknown table {table!r}", hint=f"tables: {', '.join(SCHEMAS)}")
        return table


class KafkaClusterReader(DataSourceReader):
    """Reads the cluster in one task, with one admin client."""

    def __init__(self, bootstrap: str, properties: str | None, table: str) -> None:
        self.bootstrap = bootstrap
        self.properties = properties
        self.table = table

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
        from kedge.cluster.access import access_from
        from kedge.cluster.kafka_admin import KafkaAdmin
        from kedge.cluster.properties import parse_properties
        from kedge.files import read_text

        text = read_text(Path(self.properties)) if self.properties else ""
        cluster = KafkaAdmin(self.bootstrap, access_from(parse_properties(text)))
        try:
            yield from table_rows(cluster, self.table, datetime.now(UTC))
        finally:
            cluster.close()


def table_rows(cluster: Cluster, table: str, at: datetime) -> list[tuple[Any, ...]]:
    """The rows of one table of a cluster."""
    from kedge.pipeline.jobs.cluster_sampler import Sampler

    if table == "samples":
        rows = Sampler(cluster).sample(at)
        return [tuple(row[name] for name in SAMPLE_COLUMNS) for row in rows]
    return _brokers(cluster) if table == "brokers" else _assignment(cluster)


def _brokers(cluster: Cluster) -> list[tuple[Any, ...]]:
    described = cluster.describe()
    hosts = replica_hosts(cluster, described.brokers, _replica_brokers(cluster))
    log_dirs = cluster.log_dirs(sorted(broker.id for broker in hosts))
    rows: list[tuple[Any, ...]] = []
    for broker in hosts:
        dirs = log_dirs[broker.id]
        sizes = [] if isinstance(dirs, KedgeError) else [each.total_bytes for each in dirs]
        known = [size for size in sizes if size is not None]
        disk = sum(known) if known and len(known) == len(sizes) else None
        rows.append((described.cluster_id, broker.id, broker.rack, disk))
    return rows


def _replica_brokers(cluster: Cluster) -> set[BrokerId]:
    topics = cluster.describe_topics(sorted(cluster.topic_names())).values()
    known = (topic for topic in topics if not isinstance(topic, KedgeError))
    return {broker for topic in known for each in topic.partitions for broker in each.replicas}


def _assignment(cluster: Cluster) -> list[tuple[Any, ...]]:
    name = cluster.describe().cluster_id
    described = cluster.describe_topics(sorted(cluster.topic_names()))
    return [
        (name, topic.name, each.partition, list(each.replicas), each.leader)
        for topic in described.values()
        if not isinstance(topic, KedgeError)
        for each in topic.partitions
    ]
