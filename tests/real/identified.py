"""Records that can be told apart: what was acknowledged, and whether it is read exactly once."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Iterable
from typing import Any

from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition


class IdentifiedProducer:
    """Sends records with an identity each, as fast as `pause_s` lets it, on a thread of its own,
    and takes down which of them were acknowledged."""

    def __init__(
        self, bootstrap: str, topic: str, *, name: str, pause_s: float = 0.0005, **settings: Any
    ) -> None:
        self.sent = 0
        self.acked: set[str] = set()
        self.failed: Counter[str] = Counter()
        self.gap_s_max = 0.0
        self.epochs = 0  # how often the client was given a producer id or another epoch of it
        self._topic = topic
        self._name = name
        self._pause_s = pause_s
        self._stopping = threading.Event()
        self._last_ack = time.monotonic()
        self._producer = Producer({
            "bootstrap.servers": bootstrap, "log_level": 0, "acks": "all",
            "enable.idempotence": True,
            "linger.ms": 2, "delivery.timeout.ms": 120_000, "socket.timeout.ms": 5_000,
            "reconnect.backoff.ms": 20, "reconnect.backoff.max.ms": 200,
            "retry.backoff.ms": 20, "retry.backoff.max.ms": 200,
            "topic.metadata.refresh.interval.ms": 1_000,
            # with more, this client may begin a new epoch when a leader changes, and then sends
            # again what was stored already: https://github.com/confluentinc/librdkafka/issues/4953
            "max.in.flight": 1,
            "statistics.interval.ms": 500, "stats_cb": self._count_epochs, **settings,
        })  # fmt: skip
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> IdentifiedProducer:
        self._thread.start()
        return self

    def stop(self) -> None:
        """Send no more, and wait until all that was sent is settled."""
        self._stopping.set()
        self._thread.join()
        assert self._producer.flush(130) == 0, "records are neither acknowledged nor failed"

    def _run(self) -> None:
        while not self._stopping.is_set():
            identity = f"{self._name}-{self.sent}"
            try:
                self._producer.produce(self._topic, identity, on_delivery=self._delivered)
                self.sent += 1
            except BufferError:
                self._producer.poll(0.05)
            self._producer.poll(0)
            time.sleep(self._pause_s)

    def _count_epochs(self, statistics: str) -> None:
        self.epochs = json.loads(statistics).get("eos", {}).get("epoch_cnt", self.epochs)

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.failed[str(error.name())] += 1
            return
        now = time.monotonic()
        self.gap_s_max = max(self.gap_s_max, now - self._last_ack)
        self._last_ack = now
        self.acked.add((message.value() or b"").decode())


def read_all(bootstrap: str, topic: str, partitions: int) -> list[bytes]:
    """Everything that can be read now, to the high watermark of each partition."""
    consumer = Consumer({
        "bootstrap.servers": bootstrap, "group.id": "reader",
        "auto.offset.reset": "earliest", "enable.auto.commit": False,
    })  # fmt: skip
    found: list[bytes] = []
    try:
        places = [TopicPartition(topic, p) for p in range(partitions)]
        ends = {p.partition: consumer.get_watermark_offsets(p, timeout=30)[1] for p in places}
        consumer.assign([TopicPartition(topic, p, 0) for p, end in ends.items() if end])
        missing = {p: end for p, end in ends.items() if end}
        deadline = time.monotonic() + 60
        while missing:
            assert time.monotonic() < deadline, missing
            for message in consumer.consume(5000, timeout=0.5):
                assert message.error() is None, message.error()
                found.append(message.value() or b"")
                partition, offset = message.partition(), message.offset()
                assert partition is not None
                assert offset is not None
                if offset + 1 >= missing.get(partition, 1 << 62):
                    del missing[partition]
    finally:
        consumer.close()
    return found


def lost_and_doubled(acked: set[str], read: Iterable[bytes]) -> tuple[list[str], list[str]]:
    """Acknowledged records that nobody can read, and records that are there more than once."""
    times = Counter(each.decode() for each in read)
    lost = sorted(acked - times.keys())
    return lost, sorted(each for each, count in times.items() if count > 1)
