"""Producers, consumers and retention: once for every minute of lab time.

A minute's bytes do not become records at once: they gather (`pending`) and are appended when it is
worth it, so that weeks of traffic are some hundred records per log and not ten thousand. A replica
in sync has what is pending, one that is behind has not. While somebody is behind, every minute is
a record, for it is records that replicas catch up on and fall behind by.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from kedge.brokers.hosting import Hosted
from kedge.brokers.log import ReplicaLog
from kedge.lab.settings import Traffic as Kind
from kedge.lab.shares import bytes_in_minute, fan_out, shares
from kedge.lab.world import LabWorld
from kedge.model import BrokerId, TopicPartition
from kedge.sim.transfers import Resource

MINUTE_MS = 60_000
RETENTION_MS = 7 * 24 * 60 * MINUTE_MS
RECORDS_PER_RETENTION = 256
RECORD_MS_MAX = 60 * MINUTE_MS
RECORDS_MAX = 2_048
FILL_RECORDS = 32
FILL_EVERY_MS = 10
FILL_AGAIN_MS = 100  # while nobody leads, or too few replicas are in sync


class Traffic:
    """What is written and read in the background. For the lab's thread."""

    def __init__(self, world: LabWorld) -> None:
        self.pending: dict[TopicPartition, int] = {}
        self.produced: dict[TopicPartition, int] = {}  # in the last minute
        self.consumed: dict[TopicPartition, int] = {}
        self.has_faults = False
        self._world = world
        self._appended_ms: dict[TopicPartition, int] = {}
        self._shares: dict[TopicPartition, float] = {}
        self._shared: Mapping[str, int] = {}

    def minute(self, number: int) -> None:
        """What happens in one minute, at its end."""
        self.produced = dict(self._produce(number))
        seed = self._world.lab.seed
        self.consumed = {tp: b * fan_out(tp.topic, seed) for tp, b in self.produced.items()}
        for tp in [tp for tp in self.pending if self._must_append(tp)]:
            self.append(tp)
        self._retain()
        if self._world.lab.traffic is not Kind.NONE:
            self._world.roads.use_by_traffic(self._use())
        self._world.touched.clear()  # nobody judges here what has changed

    # ---- writing ----

    def _produce(self, minute: int) -> Iterator[tuple[TopicPartition, int]]:
        lab = self._world.lab
        for tp, share in self._current_shares().items():
            hosted = self.leader(tp)
            if hosted is not None and self._takes_records(tp, hosted):
                written = bytes_in_minute(share, lab.rate, tp, minute, lab.seed)
                self.pending[tp] = self.pending.get(tp, 0) + written
                yield tp, written

    def _current_shares(self) -> Mapping[TopicPartition, float]:
        """Shares of the partitions that there are now."""
        topics = self._world.truth.topics
        counts = {name: len(topic.partitions) for name, topic in topics.items()}
        if counts != self._shared:
            self._shared = counts
            numbers = {name: list(topics[name].partitions) for name in counts}
            self._shares = shares(numbers, self._world.lab.traffic, self._world.lab.seed)
            self.pending = {tp: b for tp, b in self.pending.items() if tp.topic in counts}
        return self._shares

    def leader(self, tp: TopicPartition) -> Hosted | None:
        """The partition where it is led, if it is."""
        state = self._world.truth.states.get(tp)
        machine = None if state is None else self._world.machines.get(state.leader)
        if machine is None or machine.process is None:
            return None
        hosted = machine.process.hosted.get(tp)
        return hosted if hosted is not None and hosted.leading is not None else None

    def _takes_records(self, tp: TopicPartition, hosted: Hosted) -> bool:
        leading = hosted.leading
        return leading is not None and len(leading.isr) >= hosted.host.around.min_isr(tp.topic)

    def _must_append(self, tp: TopicPartition) -> bool:
        state, now = self._world.truth.states.get(tp), self._world.truth.assignment(tp)
        if self.has_faults or state is None or now is None or len(state.isr) < len(now.replicas):
            return True
        retention_ms = self._retention(tp.topic)[0]
        every_ms = RECORD_MS_MAX if retention_ms < 0 else retention_ms // RECORDS_PER_RETENTION
        since_ms = self._world.clock.now_ms - self._appended_ms.get(tp, 0)
        return since_ms >= min(max(every_ms, MINUTE_MS), RECORD_MS_MAX)

    def append(self, tp: TopicPartition) -> None:
        """Make a record of what is pending."""
        size = self.pending.pop(tp, 0)
        self._appended_ms[tp] = self._world.clock.now_ms
        hosted = self.leader(tp)
        if size and hosted is not None:
            hosted.produce(self._world.clock.now_ms, size, _ignore)

    def fill(self, tp: TopicPartition, size_bytes: int, done: Callable[[], None]) -> None:
        """Write so much to a partition, a record after the other, so that followers keep up; `done`
        is called once all replicas in sync have it."""
        count = max(1, min(FILL_RECORDS, size_bytes >> 20))

        def safe(_offset: int | None) -> None:
            done()

        def write(number: int) -> None:
            hosted = self.leader(tp)
            part = size_bytes // count + (number < size_bytes % count)
            last = number + 1 == count
            acked = safe if last else _ignore
            if hosted is None or not hosted.produce(self._world.clock.now_ms, part, acked):
                self._world.clock.after(FILL_AGAIN_MS, lambda: write(number))
            elif not last:
                self._world.clock.after(FILL_EVERY_MS, lambda: write(number + 1))

        write(0)

    # ---- sizes ----

    def size_of(self, broker: BrokerId, tp: TopicPartition) -> int:
        """The bytes of a replica: in its log, arriving, and pending if it is in sync."""
        log = self._world.machines[broker].disks.remnant(tp)
        state = self._world.truth.states.get(tp)
        in_sync = state is not None and broker in state.isr
        size = (log.size_bytes if log is not None else 0) + (in_sync * self.pending.get(tp, 0))
        return size + self._world.roads.arrivals.arriving_bytes(broker, tp)

    # ---- retention ----

    def _retention(self, topic: str) -> tuple[int, int]:
        config = self._world.truth.topic_config(topic)
        if "delete" not in config.get("cleanup.policy", "delete"):
            return -1, -1
        ms, size = config.get("retention.ms"), config.get("retention.bytes")
        return RETENTION_MS if ms is None else int(ms), -1 if size is None else int(size)

    def _retain(self) -> None:
        """Every broker drops what is too old or too much, as each does for itself."""
        now_ms = self._world.clock.now_ms
        rules: dict[str, tuple[int, int]] = {}
        for machine in self._world.machines.values():
            if machine.process is None:
                continue
            for tp, log in machine.disks.held().items():
                if tp.topic not in rules:
                    rules[tp.topic] = self._retention(tp.topic)
                keep_ms, keep_bytes = rules[tp.topic]
                _retain_log(log, now_ms - keep_ms if keep_ms >= 0 else None, keep_bytes)

    # ---- what is left for copies ----

    def _use(self) -> dict[Resource, float]:
        """Bytes per second that traffic takes of each disk and card."""
        use: dict[Resource, float] = {}

        def add(resource: Resource, size: float) -> None:
            use[resource] = use.get(resource, 0.0) + size / 60

        for tp, written in self.produced.items():
            state = self._world.truth.states[tp]
            for broker in state.isr:
                directory = self._world.machines[broker].disks.directory_of(tp)
                add(("in", broker), written)
                add(("disk", broker, directory), written)
            out = self.consumed[tp] + written * (len(state.isr) - 1)
            add(("out", state.leader), out)
        return use

    # ---- keeping ----

    def as_json(self) -> list[Any]:
        """What is pending, for the lab's file."""
        return [[tp.topic, tp.partition, size] for tp, size in self.pending.items()]

    def load(self, rows: list[Any]) -> None:
        """Take up again what the file says."""
        for topic, partition, size in rows:
            if topic in self._world.truth.topics:
                self.pending[TopicPartition(topic, partition)] = size


def _retain_log(log: ReplicaLog, oldest_ms: int | None, bytes_max: int) -> None:
    end = log.high_watermark
    offset, left = log.start_offset, log.size_bytes
    for record in log.records:
        too_old = oldest_ms is not None and record.identity < oldest_ms
        too_much = 0 <= bytes_max <= left - record.size_bytes
        if offset >= end or not (too_old or too_much):
            break
        offset += 1
        left -= record.size_bytes
    log.drop_head(offset)
    if len(log.records) > RECORDS_MAX and log.high_watermark == log.end_offset:
        log.fold_head(log.end_offset - RECORDS_MAX // 2)


def _ignore(_offset: int | None) -> None:
    """Nobody waits for this record."""
