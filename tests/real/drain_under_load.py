"""A cluster of four broker processes whose broker 4 has more than a gigabyte, and clients on it.

Each of the 24 partitions has two replicas, one of them on broker 4. Each broker leads six of them:
when broker 4 is drained, each of the others receives a third of the bytes and sends a quarter, so
what limits the run is the throttle into each of the brokers 1 to 3.
"""

from __future__ import annotations

import bisect
import threading
import time
from collections import Counter
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from confluent_kafka import Consumer
from confluent_kafka import TopicPartition as Place

from bench.prediction.real_cluster import Kedge, create_topic, fill_topic, stored_bytes
from jvm.separate import SeparateBrokers, separate_brokers
from kedge.cluster.kafka_admin import KafkaAdmin
from kedge.cluster.port import TopicDescription, broker_resource, topic_resource
from kedge.errors import KedgeError
from kedge.model import BrokerId, TopicPartition
from tests.real.kedge_cluster import until
from tests.real.operator import is_throttle

TOPIC, PARTITIONS, BYTES_EACH = "loaded", 24, 50_000_000
DRAINED, OTHERS = 4, (1, 2, 3)
# leaders come first
HOME = [(1, 4), (2, 4), (3, 4), (4, 1), (1, 4), (2, 4), (3, 4), (4, 2),
        (1, 4), (2, 4), (3, 4), (4, 3)] * 2  # fmt: skip
SAMPLE_S = 0.25
QUOTA_WINDOW_S = 11.0  # eleven samples of a second: `replication.quota.window.num` of brokers
SETTLE_S = 120.0


@dataclass(slots=True)
class Loaded:
    """The cluster, and `kedge` on it."""

    cluster: SeparateBrokers
    kedge: Kedge
    admin: KafkaAdmin

    def replicas(self) -> dict[int, tuple[int, ...]]:
        """The replicas of each partition."""
        return {each.partition: tuple(each.replicas) for each in self._described().partitions}

    def under_min_isr(self) -> list[int]:
        """The partitions with fewer than two replicas in sync, which is what they must have."""
        return [each.partition for each in self._described().partitions if len(each.isr) < 2]

    def _described(self) -> TopicDescription:
        found = self.admin.describe_topics([TOPIC])[TOPIC]
        assert isinstance(found, TopicDescription), found
        return found

    def throttles(self) -> list[str]:
        """Every replication throttle that brokers or topics have."""
        brokers = [broker_resource(BrokerId(each)) for each in self.cluster.broker_ids]
        places = [*brokers, *map(topic_resource, self.admin.topic_names())]
        found: list[str] = []
        for place, entries in self.admin.describe_configs(places).items():
            assert not isinstance(entries, KedgeError), f"{place}: {entries}"
            found += [f"{place}: {e.name}" for e in entries if "DYNAMIC" in e.source]
        return [each for each in found if is_throttle(each)]

    def warm_up(self) -> None:
        """Move every replica once without a throttle: brokers that have just started compile their
        code while they copy, and on few cores that is what would be measured."""
        others = {p: (1 + p % 3, 1 + (p + 1) % 3) for p in range(PARTITIONS)}
        self._reassign(others)
        self.bring_home()

    def bring_home(self) -> None:
        """Put every replica where it was at first, as fast as the brokers can."""
        self._reassign(dict(enumerate(HOME)))
        until(lambda: self.copied_to_others() == 0, SETTLE_S)

    def _reassign(self, target: Mapping[int, tuple[int, ...]]) -> None:
        wanted = {
            TopicPartition(TOPIC, p): tuple(map(BrokerId, target[p]))
            for p, replicas in self.replicas().items()
            if replicas != target[p]
        }
        for refusal in self.admin.alter_reassignments(wanted).values() if wanted else ():
            assert refusal is None, refusal
        until(lambda: not self.admin.reassignments(), SETTLE_S)
        until(lambda: not self.under_min_isr(), SETTLE_S)

    def copied_to_others(self) -> int:
        """Replicas on brokers 1 to 3 beyond those of the beginning."""
        return sum(len(self.new_on(broker)) for broker in OTHERS)

    def new_on(self, broker: int) -> dict[TopicPartition, int]:
        """The bytes of replicas that a broker did not have at first."""
        stored = stored_bytes(self.cluster, broker)
        return {
            tp: size
            for tp, size in stored.items()
            if tp.topic == TOPIC and broker not in HOME[tp.partition]
        }


@contextmanager
def loaded_cluster(directory: Path, release: str) -> Generator[Loaded]:
    """Four brokers of a release, filled."""
    with separate_brokers(directory, release) as cluster:
        create_topic(cluster, TOPIC, HOME, min_insync_replicas="2", file_delete_delay_ms="1000")
        fill_topic(cluster, TOPIC, PARTITIONS, BYTES_EACH)
        admin = KafkaAdmin(cluster.bootstrap)
        try:
            loaded = Loaded(cluster, Kedge(cluster, directory), admin)
            loaded.warm_up()
            yield loaded
        finally:
            admin.close()


# ---- what is measured ---------------------------------------------------------------------------


@dataclass(slots=True)
class Arrivals:
    """How many bytes of new replicas each broker had at each moment, from the files on its disk."""

    samples: list[tuple[float, Mapping[int, int]]] = field(
        default_factory=list[tuple[float, Mapping[int, int]]]
    )
    under_min_isr: set[int] = field(default_factory=set[int])

    def steady_rate(self, broker: int) -> float:
        """Bytes per second between the moments with 5 and with 95 percent of what arrived, over
        whole windows of Kafka's quota: what arrives comes in waves as long as one of them."""
        last = max(arrived[broker] for _, arrived in self.samples)
        inner = [
            at for at, arrived in self.samples if 0.05 * last <= arrived[broker] <= 0.95 * last
        ]
        windows = int((inner[-1] - inner[0]) / QUOTA_WINDOW_S)
        assert windows >= 3, "too few bytes to tell a rate from its waves"
        return self.rate([broker], inner[0], inner[0] + windows * QUOTA_WINDOW_S)

    def rate(self, brokers: Iterable[int], since: float, until_: float) -> float:
        """Bytes per second into some brokers between two moments, between samples in proportion.

        What arrives in a burst between two samples counts: none is left out at the edges.
        """
        return sum(self._at(b, until_) - self._at(b, since) for b in brokers) / (until_ - since)

    def _at(self, broker: int, moment: float) -> float:
        after = bisect.bisect_left(self.samples, moment, key=lambda sample: sample[0])
        assert 0 < after < len(self.samples), "nothing was measured before or after that moment"
        (began, before), (ended, later) = self.samples[after - 1], self.samples[after]
        share = (moment - began) / (ended - began)
        return before[broker] + share * (later[broker] - before[broker])


@contextmanager
def watching(loaded: Loaded, brokers: tuple[int, ...] = OTHERS) -> Generator[Arrivals]:
    """Measure on threads of their own, within the block: a broker that is late to answer which
    replicas are in sync does not delay what is read from disks."""
    found, stopping = Arrivals(), threading.Event()

    def watch_disks() -> None:
        while not stopping.wait(SAMPLE_S):
            arrived = {broker: sum(loaded.new_on(broker).values()) for broker in brokers}
            found.samples.append((time.monotonic(), arrived))

    def watch_replicas() -> None:
        while not stopping.wait(SAMPLE_S):
            found.under_min_isr.update(loaded.under_min_isr())

    threads = [threading.Thread(target=each) for each in (watch_disks, watch_replicas)]
    for each in threads:
        each.start()
    try:
        yield found
    finally:
        stopping.set()
        for each in threads:
            each.join()


class LiveReader:
    """A consumer of everything that is written from its start on, on a thread of its own."""

    def __init__(self, bootstrap: str) -> None:
        self._consumer = Consumer({
            "bootstrap.servers": bootstrap, "log_level": 0, "group.id": "live-reader",
            "enable.auto.commit": False, "auto.offset.reset": "error",
        })  # fmt: skip
        self.begins = {p: self._end(p) for p in range(PARTITIONS)}
        self.read: Counter[str] = Counter()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def _end(self, partition: int) -> int:
        return self._consumer.get_watermark_offsets(Place(TOPIC, partition), timeout=30)[1]

    def start(self) -> LiveReader:
        self._consumer.assign([Place(TOPIC, p, offset) for p, offset in self.begins.items()])
        self._thread.start()
        return self

    def _run(self) -> None:
        while not self._stopping.is_set():
            for message in self._consumer.consume(2000, timeout=0.2):
                assert message.error() is None, message.error()
                self.read[(message.value() or b"").decode()] += 1

    def stop_after(self, acked: set[str]) -> None:
        """Stop when all of these records were read, or none was for a while."""
        until(lambda: acked <= self.read.keys(), SETTLE_S)
        self._stopping.set()
        self._thread.join()
        self._consumer.close()


def read_again(bootstrap: str, begins: Mapping[int, int]) -> list[bytes]:
    """Everything from these offsets to the ends, by a consumer that was not there before."""
    again = LiveReader(bootstrap)
    ends, again.begins = again.begins, dict(begins)
    expected = sum(ends.values()) - sum(begins.values())
    again.start()
    try:
        until(lambda: again.read.total() >= expected, SETTLE_S)
    finally:
        again.stop_after(set())
    return [value.encode() for value, times in again.read.items() for _ in range(times)]
