"""What others make of the same cluster: Kafka's `--generate`, and kafka-tools from PyPI."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from bench.balance.clusters import Cluster
from jvm import KAFKA_3_9, ROOT, java

DRIVER = Path(__file__).parent / "KafkaGenerate.java"
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


def kafka_tools_note() -> str:
    """Whether kafka-tools runs here at all; it claims the package name `kafka`, so apart."""
    if not PEERS.is_dir():
        return f"kafka-tools is not installed (`{INSTALL}`)."
    code = "import kafka.tools.assigner.__main__"
    done = subprocess.run(
        [sys.executable, "-S", "-c", f"import sys; sys.path.insert(0, {str(PEERS)!r}); {code}"],
        capture_output=True,
        text=True,
        check=False,
    )
    version = f"Python {sys.version_info.major}.{sys.version_info.minor}"
    if done.returncode == 0:
        return f"kafka-tools 0.1.9 imports on {version}; it plans only against a live ZooKeeper."
    reason = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
    return f"kafka-tools 0.1.9 with the pins in requirements/peers.txt fails on {version}: {reason}"
