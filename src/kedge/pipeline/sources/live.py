"""A live cluster as frames: what metadata and log directories tell, through Spark's own reader.

    session.dataSource.register(LiveCluster)
    session.read.format("kedge-cluster").options(
        bootstrap="localhost:9092", table="assignment").load()

| table        | columns                                                    |
|--------------|------------------------------------------------------------|
| `brokers`    | cluster, broker, rack, disk_capacity_bytes                 |
| `assignment` | cluster, topic, partition, replicas, leader                |
| `samples`    | those of a sample: sizes and ISR as they are at this moment |

The first two are what `ingest` wants to know of a cluster. A client properties file is named by
the option `properties`; it is read where the cluster is asked, and never shown.
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
from kedge.pipeline.schemas import BROKERS, SAMPLE, SAMPLE_COLUMNS

SCHEMAS: dict[str, str | StructType] = {
    "brokers": BROKERS,
    "assignment": "cluster string, topic string, partition int, replicas array<int>, leader int",
    "samples": SAMPLE,
}


class LiveCluster(DataSource):
    """The data source `kedge-cluster`."""

    @classmethod
    def name(cls) -> str:
        return "kedge-cluster"

    def schema(self) -> str | StructType:
        return SCHEMAS[self._table]

    def reader(self, schema: StructType) -> DataSourceReader:
        options = {name.lower(): value for name, value in self.options.items()}
        if "bootstrap" not in options:
            raise InvalidRequest("no cluster named", hint="set the option bootstrap to host:port")
        return LiveReader(options["bootstrap"], options.get("properties"), self._table)

    @property
    def _table(self) -> str:
        table = self.options.get("table", "samples")
        if table not in SCHEMAS:
            raise InvalidRequest(f"no table {table!r}", hint=f"there are {', '.join(SCHEMAS)}")
        return table


class LiveReader(DataSourceReader):
    """Asks the cluster, in one place: an admin client is one connection, not many."""

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
            yield from rows_of(cluster, self.table, datetime.now(UTC))
        finally:
            cluster.close()


def rows_of(cluster: Cluster, table: str, at: datetime) -> list[tuple[Any, ...]]:
    """The rows of a table, as a cluster tells them."""
    from kedge.pipeline.jobs.sampling import Sampler

    if table == "samples":
        rows = Sampler(cluster).sample(at)
        return [tuple(row[name] for name in SAMPLE_COLUMNS) for row in rows]
    return _brokers(cluster) if table == "brokers" else _assignment(cluster)


def _brokers(cluster: Cluster) -> list[tuple[Any, ...]]:
    described = cluster.describe()
    hosts = replica_hosts(cluster, described.brokers, _holding(cluster))
    told = cluster.log_dirs(sorted(broker.id for broker in hosts))
    rows: list[tuple[Any, ...]] = []
    for broker in hosts:
        dirs = told[broker.id]
        sizes = [] if isinstance(dirs, KedgeError) else [each.total_bytes for each in dirs]
        known = [size for size in sizes if size is not None]
        disk = sum(known) if known and len(known) == len(sizes) else None
        rows.append((described.cluster_id, broker.id, broker.rack, disk))
    return rows


def _holding(cluster: Cluster) -> set[BrokerId]:
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
