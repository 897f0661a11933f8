"""`python -m tests.soak --minutes 20`: exit code 0 if no acknowledged record is lost or doubled."""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import threading
import time
from pathlib import Path

from confluent_kafka import Consumer

from jvm import memory_directory
from kedge.cluster.kafka_admin import KafkaAdmin
from kedge.cluster.port import TopicCreation
from tests.real.identified import IdentifiedProducer, lost_and_doubled
from tests.real.kedge_cluster import Run, kedge_cluster, until
from tests.soak.mishaps import BROKERS, PARTITIONS, REPLICAS, STREAM, Mishaps


class Reader:
    """A consumer group of one that reads along and commits."""

    def __init__(self, bootstrap: str) -> None:
        self.read = 0
        self._stopping = threading.Event()
        self._consumer = Consumer({
            "bootstrap.servers": bootstrap, "group.id": "along", "auto.offset.reset": "earliest",
        })  # fmt: skip
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        self._consumer.subscribe([STREAM])
        while not self._stopping.is_set():
            found = self._consumer.consume(1000, timeout=0.5)
            self.read += sum(1 for message in found if message.error() is None)
        self._consumer.close()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()


def soak(cluster: Run, minutes: float, seed: int) -> dict[str, object]:
    """Run, and tell what came of it."""
    cluster.start_kedge(1001, "--take-over")
    admin = KafkaAdmin(cluster.fleet.bootstrap)
    order = TopicCreation(STREAM, PARTITIONS, REPLICAS, configs={"min.insync.replicas": "2"})
    until(lambda: len(admin.describe().brokers) == BROKERS + 1)
    (refusal,) = admin.create_topics([order]).values()
    assert refusal is None, refusal
    admin.close()
    began = time.monotonic()

    def tell(what: str) -> None:
        print(f"{time.monotonic() - began:7.1f} s  {what}", file=sys.stderr, flush=True)

    mishaps = Mishaps(cluster, random.Random(seed), tell=tell)
    bootstrap = cluster.fleet.bootstrap
    producers = [
        IdentifiedProducer(bootstrap, STREAM, name=f"p{n}", pause_s=0.002).start() for n in range(2)
    ]
    reader = Reader(bootstrap)
    while time.monotonic() - began < minutes * 60:
        mishaps.next()
    for producer in producers:
        producer.stop()
    mishaps.come_to_rest()
    reader.stop()
    acked = set[str]().union(*(producer.acked for producer in producers))
    lost, doubled = lost_and_doubled(acked, cluster.read_all(STREAM, PARTITIONS))
    return {
        "seed": seed,
        "minutes": round((time.monotonic() - began) / 60, 1),
        "kills": mishaps.kills,
        "what happened": dict(sorted(mishaps.counts.items())),
        "refused": dict(sorted(mishaps.refused.items())),
        "acknowledged": len(acked),
        "epochs of the producers": [producer.epochs for producer in producers],
        "failed": sum(sum(producer.failed.values()) for producer in producers),
        "read along": reader.read,
        "longest gap between acknowledgements, s": round(max(p.gap_s_max for p in producers), 1),
        "lost": len(lost),
        "twice": len(doubled),
        "examples": [*lost[:10], *doubled[:10]],
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 31))
    chosen = parser.parse_args()
    print(f"seed {chosen.seed}", file=sys.stderr)
    with (
        tempfile.TemporaryDirectory(prefix="kedge-soak-", dir=memory_directory()) as directory,
        kedge_cluster(
            Path(directory), brokers=BROKERS, apart=True, with_tools=False, options=["--take-over"]
        ) as cluster,
    ):
        outcome = soak(cluster, chosen.minutes, chosen.seed)
    print(json.dumps(outcome, indent=2))
    return 1 if outcome["lost"] or outcome["twice"] or outcome["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
