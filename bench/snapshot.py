"""How long reading a snapshot takes, beside the least that its file format could take.

    python bench/snapshot.py [--partitions 200000] [--brokers 1000] [--repeat 5]

The cluster has replication factor 3, with loads, leaders, ISRs and log directories. "Bare" is the
library alone on the same file (`orjson.loads` with the collector off, or Arrow's Parquet reader):
no reader built on it can be faster. The forms take turns, so that a busy moment meets them all.
Each figure is the median of the repeats with the smallest and largest beside it: seconds of cpu,
and seconds of wall time, which on a busy machine tell more of its other guests.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import orjson
import pyarrow.parquet as pq

from kedge.files import read_snapshot, sha256_of_snapshot, write_snapshot
from kedge.model import Assignment, Broker, BrokerId, Capacity, CpuModel, LogDir, Snapshot

PATHS = ("/data/0", "/data/1", "/data/2")


@dataclass(frozen=True, slots=True)
class Row:
    """One measured thing: seconds of each repeat."""

    name: str
    cpu: list[float] = field(default_factory=list[float])
    wall: list[float] = field(default_factory=list[float])


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


def measure(row: Row, work: Callable[[], object]) -> None:
    """One repeat; what is made is freed within it, as it is in use."""
    gc.collect()
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    row.cpu.append(time.process_time() - cpu)
    row.wall.append(time.perf_counter() - wall)


def bare_json(path: Path) -> None:
    gc.disable()
    try:
        orjson.loads(path.read_bytes())
    finally:
        gc.enable()


def bare_parquet(path: Path) -> None:
    for name in ("brokers.parquet", "partitions.parquet"):
        pq.ParquetFile(path / name).read()


def run(partitions: int = 200_000, brokers: int = 1000, repeat: int = 5) -> list[Row]:
    """Read the same snapshot from each form, beside the bare library."""
    snapshot = generated(partitions, brokers)
    with tempfile.TemporaryDirectory() as directory:
        as_json, as_parquet = Path(directory) / "s.json", Path(directory) / "s"
        write_snapshot(snapshot, as_json)
        write_snapshot(snapshot, as_parquet)
        assert read_snapshot(as_json) == read_snapshot(as_parquet) == snapshot
        works: dict[str, Callable[[], object]] = {
            "JSON": lambda: read_snapshot(as_json),
            "JSON bare": lambda: bare_json(as_json),
            "Parquet": lambda: read_snapshot(as_parquet),
            "Parquet bare": lambda: bare_parquet(as_parquet),
            "digest": lambda: sha256_of_snapshot(snapshot),
        }
        rows = {name: Row(name) for name in works}
        for _ in range(repeat):
            for name, work in works.items():
                measure(rows[name], work)
        return list(rows.values())


def shown(seconds: list[float]) -> str:
    return f"{statistics.median(seconds):.2f} ({min(seconds):.2f}–{max(seconds):.2f})"


def main() -> None:
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--partitions", type=int, default=200_000)
    options.add_argument("--brokers", type=int, default=1000)
    options.add_argument("--repeat", type=int, default=5)
    chosen = options.parse_args()
    print(f"{chosen.partitions} partitions, {chosen.brokers} brokers, {chosen.repeat} repeats")
    print(f"{'':12} {'cpu s':>18} {'wall s':>18}")
    rows = {row.name: row for row in run(chosen.partitions, chosen.brokers, chosen.repeat)}
    for row in rows.values():
        print(f"{row.name:12} {shown(row.cpu):>18} {shown(row.wall):>18}")
    for name in ("JSON", "Parquet"):
        ratio = statistics.median(rows[name].cpu) / statistics.median(rows[f"{name} bare"].cpu)
        print(f"{name}: {ratio:.1f} × the cpu of the bare library")


if __name__ == "__main__":
    main()
