"""How long reading a snapshot takes, beside the least that its file format could take.

The cluster has replication factor 3, with loads, leaders, ISRs and log directories. "Bare" is the
library alone on the same file (`orjson.loads` with the collector off, or Arrow's Parquet reader):
no reader built on it can be faster.
"""

from __future__ import annotations

import gc
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import orjson
import pyarrow.parquet as pq

from bench.report import BenchRow, BenchSection, measure, readable
from kedge.files import read_snapshot, sha256_of_snapshot, write_snapshot
from kedge.model import Assignment, Broker, BrokerId, Capacity, CpuModel, LogDir, Snapshot

PATHS = ("/data/0", "/data/1", "/data/2")


ROUNDS = 5


def generated(partitions: int, brokers: int) -> Snapshot:
    """A cluster from a fixed seed; the third replica list in ten has its leader elsewhere."""
    luck = np.random.default_rng(1)
    first, step = luck.integers(0, brokers, partitions), luck.integers(1, brokers // 3, partitions)
    replicas = ((first[:, None] + step[:, None] * np.arange(3)) % brokers).astype(np.int32)
    topic, partition = np.divmod(np.arange(partitions), 25)
    names = [f"topic-{index:05d}" for index in range(int(topic.max()) + 1)]
    leading = np.where(luck.random(partitions) < 0.3, 1, 0)
    return Snapshot.of(
        [_broker(index) for index in range(brokers)],
        Assignment.from_columns(names, topic, partition, replicas),
        cluster_id="bench",
        leader=replicas[np.arange(partitions), leading],
        isr=np.where((luck.random(partitions) < 0.01)[:, None] & (np.arange(3) == 2), -1, replicas),
        size=luck.integers(0, 10**12, partitions),
        bytes_in=luck.random(partitions) * 1e6,
        bytes_out=luck.random(partitions) * 3e6,
        log_dir=luck.integers(0, len(PATHS), (partitions, 3)).astype(np.int32),
        log_dir_paths=PATHS,
        cpu_model=CpuModel(6e-7, 3e-7, 2e-7),
    )


def _broker(index: int) -> Broker:
    log_dirs = tuple(LogDir(path, 2e12) for path in PATHS)
    capacity = Capacity(6e12, 2e8, 4e8, 100.0)
    return Broker(BrokerId(index), f"r{index % 20}", capacity=capacity, log_dirs=log_dirs)


def bare_json(path: Path) -> None:
    gc.disable()
    try:
        orjson.loads(path.read_bytes())
    finally:
        gc.enable()


def bare_parquet(path: Path) -> None:
    for name in ("brokers.parquet", "partitions.parquet"):
        pq.ParquetFile(path / name).read()


def run(partitions: int = 200_000, brokers: int = 1000) -> BenchSection:
    """Read the same snapshot from each form, beside the bare library."""
    snapshot = generated(partitions, brokers)
    with tempfile.TemporaryDirectory() as directory:
        as_json, as_parquet = Path(directory) / "s.json", Path(directory) / "s"
        write_snapshot(snapshot, as_json)
        write_snapshot(snapshot, as_parquet)
        assert read_snapshot(as_json) == read_snapshot(as_parquet) == snapshot
        rows = (
            _row("read JSON", lambda: read_snapshot(as_json), lambda: bare_json(as_json)),
            _row(
                "read Parquet", lambda: read_snapshot(as_parquet), lambda: bare_parquet(as_parquet)
            ),
        )
        digest = measure(lambda: sha256_of_snapshot(snapshot), rounds=ROUNDS)
    return BenchSection(
        "snapshot",
        "Snapshots",
        f"Reading {partitions:,} partitions on {brokers:,} brokers from a file, every fault looked "
        "for, beside the library alone on the same file: a bound that no checked reader reaches.",
        rows,
        (f"The digest of such a snapshot takes {readable(digest.best)}.",),
    )


def _row(what: str, ours: Callable[[], object], bare: Callable[[], object]) -> BenchRow:
    return BenchRow(
        what, measure(ours, rounds=ROUNDS), "the bare library", measure(bare, rounds=ROUNDS)
    )
