"""The dynamic configs of brokers as the cluster stores them, whether the broker is up or down.

Kafka answers DescribeConfigs of a broker only at that broker, so a broker that is down cannot be
asked. ZooKeeper keeps them in `/config/brokers/<id>`; KRaft in the ConfigRecords of the metadata
log, which the controller's directory holds.
"""

from __future__ import annotations

import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

from kafka.record import MemoryRecords

from kedge.cluster.port import ResourceKind
from kedge.protocol import Reader
from kedge.store.port import GetData, Node
from kedge.store.zookeeper import ZooKeeperStore
from tests.real.live_cluster import LiveCluster

CONFIG_RECORD = 4
METADATA_LOG = "__cluster_metadata-0"

Stored = dict[int, dict[str, str]]


def stored_configs(cluster: LiveCluster) -> Stored:
    """The dynamic configs of each broker, by name."""
    if cluster.zookeeper:
        return _in_zookeeper(cluster)
    return _in_metadata_log(cluster)


def _in_zookeeper(cluster: LiveCluster) -> Stored:
    store = ZooKeeperStore(cluster.zookeeper)
    try:
        paths = [GetData(f"/config/brokers/{broker}") for broker in cluster.broker_ids]
        answers = store.batch(paths)
    finally:
        store.close()
    return {
        broker: json.loads(node.data or b"{}").get("config", {}) if isinstance(node, Node) else {}
        for broker, node in zip(cluster.broker_ids, answers, strict=True)
    }


def _in_metadata_log(cluster: LiveCluster) -> Stored:
    log = cluster.metadata_dir / METADATA_LOG
    found: Stored = {broker: {} for broker in cluster.broker_ids}
    for value in _records(log):
        reader = Reader(value)
        _frame, kind, _version = reader.varint(), reader.varint(), reader.varint()
        if kind != CONFIG_RECORD or reader.int8() != ResourceKind.BROKER:
            continue
        broker, name, setting = (reader.text(compact=True) for _ in range(3))
        if not broker or not name:
            continue
        if setting is None:
            found[int(broker)].pop(name, None)
        else:
            found[int(broker)][name] = setting
    return found


def _records(log: Path) -> Generator[bytes]:
    """The values of a log's records, in order, without control records."""
    for segment in sorted(log.glob("*.log")):
        records: Any = MemoryRecords(segment.read_bytes())
        while (batch := records.next_batch()) is not None:
            if not batch.is_control_batch:
                yield from (bytes(record.value) for record in batch)
