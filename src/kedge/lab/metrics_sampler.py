"""Samples metrics: one row per replica and minute of lab time, in the pipeline's input format.

Columns: cluster, broker, topic, partition, ts, ingest_ts, seq, is_leader, size_bytes, bytes_in,
bytes_out, isr, rf. Bytes are counts over the minute that ends at `ts`; `bytes_out` counts consumer
reads from the leader, without replication. Brokers that are down have no rows.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kedge.files import parquet, with_path_context
from kedge.lab.lab_cluster import LabCluster
from kedge.lab.traffic_generator import MINUTE_MS, TrafficGenerator
from kedge.lab.traffic_model import hash_fraction
from kedge.model import BrokerId, TopicPartition

Row = dict[str, Any]
Sink = Callable[[list[Row]], None]

INGEST_DELAY_MS_MAX = 5_000
SAMPLE_DELAY_MS = 1_000  # after the end of a minute, when followers have its records


def utc_text(lab_epoch_ms: int, now_ms: int) -> str:
    """A time of the lab clock as ISO 8601 text in UTC."""
    moment = datetime.fromtimestamp((lab_epoch_ms + now_ms) / 1000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


class MetricsSampler:
    """Takes a sample at the end of each minute. For the lab's thread."""

    def __init__(
        self, cluster: LabCluster, traffic: TrafficGenerator, cluster_id: str, epoch_ms: int
    ) -> None:
        self.sinks: list[Sink] = []
        self.each_minute: list[Callable[[], None]] = []  # other work at the end of each minute
        self._cluster = cluster
        self._traffic = traffic
        self._cluster_id = cluster_id
        self._epoch_ms = epoch_ms
        self._sizes: dict[tuple[BrokerId, TopicPartition], int] = {}

    def start(self) -> None:
        """Start with the next full minute."""
        self._schedule(self._cluster.clock.now_ms // MINUTE_MS + 1)

    def _schedule(self, minute: int) -> None:
        def end_minute() -> None:
            self._schedule(minute + 1)
            self._traffic.end_minute(minute)
            for job in self.each_minute:
                job()
            self._cluster.clock.after(SAMPLE_DELAY_MS, lambda: self._sample(minute))

        self._cluster.clock.at(minute * MINUTE_MS, end_minute)

    def _sample(self, minute: int) -> None:
        if self.sinks:
            rows = list(self._rows(minute))
            for sink in list(self.sinks):
                sink(rows)
        else:
            self._sizes.clear()

    def _rows(self, minute: int) -> Iterator[Row]:
        metadata, sizes = self._cluster.metadata, self._sizes
        self._sizes = {}
        ts = utc_text(self._epoch_ms, minute * MINUTE_MS)
        for tp in metadata.partitions():
            now, state = metadata.assignment(tp), metadata.states.get(tp)
            if now is None or state is None:
                continue
            for broker in now.replicas:
                if not self._cluster.machines[broker].is_up:
                    continue
                size = self._sizes[broker, tp] = self._traffic.size_of(broker, tp)
                written = self._traffic.produced.get(tp, 0)
                if broker not in state.isr:
                    written = max(size - sizes.get((broker, tp), size), 0)
                is_leader = broker == state.leader
                delay_ms = int(hash_fraction(broker, minute) * INGEST_DELAY_MS_MAX)
                yield {
                    "cluster": self._cluster_id,
                    "broker": broker,
                    "topic": tp.topic,
                    "partition": tp.partition,
                    "ts": ts,
                    "ingest_ts": utc_text(self._epoch_ms, minute * MINUTE_MS + delay_ms),
                    "seq": minute,
                    "is_leader": is_leader,
                    "size_bytes": size,
                    "bytes_in": written,
                    "bytes_out": self._traffic.consumed.get(tp, 0) if is_leader else 0,
                    "isr": sum(member in now.replicas for member in state.isr),
                    "rf": len(now.replicas),
                }


# ---- files --------------------------------------------------------------------------------------


def jsonl(rows: Sequence[Row]) -> bytes:
    """Rows as JSON lines."""
    return b"".join(json.dumps(row, separators=(",", ":")).encode() + b"\n" for row in rows)


def write_tables(directory: Path, brokers: Sequence[Row], partitions: Sequence[Row]) -> None:
    """Write `brokers.parquet` and `assignment.parquet` for the sampled cluster."""
    import pyarrow as pa

    broker_fields: list[tuple[str, Any]] = [
        ("cluster", pa.string()),
        ("broker", pa.int32()),
        ("rack", pa.string()),
        ("disk_capacity_bytes", pa.int64()),
    ]
    partition_fields: list[tuple[str, Any]] = [
        ("cluster", pa.string()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("replicas", pa.list_(pa.int32())),
        ("leader", pa.int32()),
    ]
    for name, rows, fields in (
        ("brokers.parquet", brokers, broker_fields),
        ("assignment.parquet", partitions, partition_fields),
    ):
        arrow: Any = pa
        table = arrow.Table.from_pylist(list(rows), schema=pa.schema(fields))
        with with_path_context(directory / name):
            parquet().write_table(table, directory / name)
