"""What others make of the same cluster: Kafka's `--generate`, and kafka-tools from PyPI."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.balance.clusters import Cluster
from jvm import KAFKA_3_9, ROOT, java

DRIVER = Path(__file__).parent / "KafkaGenerate.java"
TOOLS = Path(__file__).parent / "kafka_tools_side.py"
PEERS = ROOT / ".cache" / "peers"
INSTALL = "uv pip install --target .cache/peers -r requirements/peers.txt"


@dataclass(frozen=True, slots=True, eq=False)
class Generated:
    """Kafka's proposal, and how long it took."""

    seconds: float
    replicas: npt.NDArray[np.int32]  # [P, K], as the cluster's rows


def kafka_generate(clusters: Sequence[Cluster]) -> list[Generated]:
    """Kafka's own code on each cluster, in one JVM."""
    with tempfile.TemporaryDirectory() as folder:
        pairs = [
            (Path(folder) / f"{n}.in", Path(folder) / f"{n}.out") for n in range(len(clusters))
        ]
        for (source, _), one in zip(pairs, clusters, strict=True):
            source.write_text(_as_text(one))
        arguments = [f"{source}:{made}" for source, made in pairs]
        with java(KAFKA_3_9, str(DRIVER), *arguments, cwd=ROOT, flags=("-Xmx3g",)) as process:
            lines = [process.wait_for_line("row ", timeout_s=300).split() for _ in pairs]
        return [
            Generated(int(line[1]) / 1e9, _read(made, one))
            for line, (_, made), one in zip(lines, pairs, clusters, strict=True)
        ]


def _partition_numbers(one: Cluster) -> npt.NDArray[np.int64]:
    first = np.searchsorted(one.topic, one.topic)
    return np.arange(len(one.topic)) - first


def _as_text(one: Cluster) -> str:
    staying = np.nonzero(~one.leaving)[0].tolist()
    lines = [" ".join(f"{b}=r{one.rack[b]:03d}" for b in staying)]
    rows = zip(one.topic.tolist(), _partition_numbers(one).tolist(), one.home.tolist(), strict=True)
    for topic, number, replicas in rows:
        lines.append(f"t{topic} {number} {','.join(str(b) for b in replicas if b >= 0)}")
    return "\n".join(lines) + "\n"


def _read(path: Path, one: Cluster) -> npt.NDArray[np.int32]:
    starts = np.searchsorted(one.topic, np.arange(int(one.topic.max()) + 1))
    replicas = np.full(one.home.shape, -1, np.int32)
    for line in path.read_text().splitlines():
        topic, number, brokers = line.split(" ")
        row = int(starts[int(topic[1:])]) + int(number)
        listed = [int(b) for b in brokers.split(",")]
        replicas[row, : len(listed)] = listed
    return replicas


def has_kafka_tools() -> bool:
    """Whether it is installed, in a folder of its own: it claims the package name `kafka`."""
    return PEERS.is_dir()


def kafka_tools(one: Cluster) -> Generated:
    """What `kafka-assigner balance --types size rackaware` of kafka-tools 0.1.9 makes of a cluster.

    It knows sizes (in KiB) and racks, and no other load; brokers that leave it would be told of
    by another command, so a cluster has none.
    """
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder) / "in", Path(folder) / "out"
        source.write_text(json.dumps(_as_json(one)))
        done = subprocess.run(
            [sys.executable, "-S", str(TOOLS), str(PEERS), str(source), str(made)],
            capture_output=True,
            text=True,
            check=True,
            timeout=600,
        )
        rows: dict[str, list[list[int]]] = json.loads(made.read_text())
    replicas = np.full(one.home.shape, -1, np.int32)
    partitions = _partition_numbers(one).tolist()
    for row, (topic, number) in enumerate(zip(one.topic.tolist(), partitions, strict=True)):
        listed = rows[f"t{topic}"][number]
        replicas[row, : len(listed)] = listed
    return Generated(float(done.stdout.split()[-1]), replicas)


def _as_json(one: Cluster) -> dict[str, Any]:
    racks = {b: f"r{one.rack[b]:03d}" for b in np.nonzero(~one.leaving)[0].tolist()}
    topics: dict[str, list[Any]] = {}
    for topic, size, home in zip(
        one.topic.tolist(), one.disk.tolist(), one.home.tolist(), strict=True
    ):
        replicas = [b for b in home if b >= 0]
        topics.setdefault(f"t{topic}", []).append([int(size) // 1024, replicas])
    return {"racks": racks, "topics": topics}
