"""Metrics: one row per replica and minute of lab time, as pipelines take them in.

Columns: cluster, broker, topic, partition, ts, ingest_ts, seq, is_leader, size_bytes, bytes_in,
bytes_out, isr, rf. Bytes are counts over the minute that ends at `ts`; what consumers read is the
leader's `bytes_out`, replication is not in it. Brokers that are down have no rows.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kedge.files import parquet, with_path_context
from kedge.lab.shares import chance
from kedge.lab.traffic import MINUTE_MS, Traffic
from kedge.lab.world import LabWorld
from kedge.model import BrokerId, TopicPartition

Row = dict[str, Any]
Sink = Callable[[list[Row]], None]

INGEST_DELAY_MS_MAX = 5_000
SETTLED_MS = 1_000  # after a minute's end, when followers have it


def instant(lab_epoch_ms: int, now_ms: int) -> str:
    """A moment of lab time, written as UTC."""
    moment = datetime.fromtimestamp((lab_epoch_ms + now_ms) / 1000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Sampler:
    """Takes the minutes' samples. For the lab's thread."""

    def __init__(self, world: LabWorld, traffic: Traffic, cluster: str, epoch_ms: int) -> None:
        self.sinks: list[Sink] = []
        self.each_minute: list[Callable[[], None]] = []  # what else is due then
        self._world = world
        self._traffic = traffic
        self._cluster = cluster
        self._epoch_ms = epoch_ms
        self._sizes: dict[tuple[BrokerId, TopicPartition], int] = {}

    def start(self) -> None:
        """Let minutes pass, from the next full one on."""
        self._plan(self._world.clock.now_ms // MINUTE_MS + 1)

    def _plan(self, minute: int) -> None:
        def end_minute() -> None:
            self._plan(minute + 1)
            self._traffic.minute(minute)
            for chore in self.each_minute:
                chore()
            self._world.clock.after(SETTLED_MS, lambda: self._sample(minute))

        self._world.clock.at(minute * MINUTE_MS, end_minute)

    def _sample(self, minute: int) -> None:
        if self.sinks:
            rows = list(self._rows(minute))
            for sink in list(self.sinks):
                sink(rows)
        else:
            self._sizes.clear()

    def _rows(self, minute: int) -> Iterator[Row]:
        truth, sizes = self._world.truth, self._sizes
        self._sizes = {}
        ts = instant(self._epoch_ms, minute * MINUTE_MS)
        for tp in truth.partitions():
            now, state = truth.assignment(tp), truth.states.get(tp)
            if now is None or state is None:
                continue
            for broker in now.replicas:
                if not self._world.machines[broker].is_up:
                    continue
                size = self._sizes[broker, tp] = self._traffic.size_of(broker, tp)
                came = self._traffic.produced.get(tp, 0)
                if broker not in state.isr:
                    came = max(size - sizes.get((broker, tp), size), 0)
                leads = broker == state.leader
                delay_ms = int(chance(broker, minute) * INGEST_DELAY_MS_MAX)
                yield {
                    "cluster": self._cluster,
                    "broker": broker,
                    "topic": tp.topic,
                    "partition": tp.partition,
                    "ts": ts,
                    "ingest_ts": instant(self._epoch_ms, minute * MINUTE_MS + delay_ms),
                    "seq": minute,
                    "is_leader": leads,
                    "size_bytes": size,
                    "bytes_in": came,
                    "bytes_out": self._traffic.consumed.get(tp, 0) if leads else 0,
                    "isr": sum(member in now.replicas for member in state.isr),
                    "rf": len(now.replicas),
                }


# ---- files --------------------------------------------------------------------------------------


def jsonl(rows: Sequence[Row]) -> bytes:
    """Rows as JSON lines."""
    return b"".join(json.dumps(row, separators=(",", ":")).encode() + b"\n" for row in rows)


def write_tables(folder: Path, brokers: Sequence[Row], partitions: Sequence[Row]) -> None:
    """`brokers.parquet` and `assignment.parquet`: what the rows are about."""
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
        with with_path_context(folder / name):
            parquet().write_table(table, folder / name)
