"""Generates producer and consumer traffic and applies retention, once per minute of lab time.

The bytes of a minute are not appended at once: they accumulate (`pending`) and become one record
per interval, so that weeks of traffic are some hundred records per log and not ten thousand. The
pending bytes count for replicas in the ISR only. They become a record before a follower outside of
the ISR fetches, so that a new replica copies all of its partition. While a replica is out of sync
or a fault is active, every minute becomes a record, because replicas lag and catch up by records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from kedge.brokers.environment import FetchRequest
from kedge.brokers.log import ReplicaLog
from kedge.brokers.partition_host import HostedPartition
from kedge.lab.lab_cluster import LabCluster
from kedge.lab.settings import Traffic
from kedge.lab.traffic_model import bytes_in_minute, consumer_groups, traffic_shares
from kedge.model import BrokerId, TopicPartition
from kedge.sim.transfers import Resource

MINUTE_MS = 60_000
RETENTION_MS = 7 * 24 * 60 * MINUTE_MS
RECORDS_PER_RETENTION = 256
RECORD_INTERVAL_MS_MAX = 60 * MINUTE_MS
LOG_RECORDS_MAX = 2_048
FILL_RECORDS = 32
FILL_INTERVAL_MS = 10
FILL_RETRY_MS = 100  # while there is no leader or too few replicas are in sync


class TrafficGenerator:
    """The background traffic of all partitions. For the lab's thread."""

    def __init__(self, cluster: LabCluster) -> None:
        self.pending: dict[TopicPartition, int] = {}
        self.produced: dict[TopicPartition, int] = {}  # in the last minute
        self.consumed: dict[TopicPartition, int] = {}
        self.has_faults = False
        self._cluster = cluster
        self._appended_ms: dict[TopicPartition, int] = {}
        self._shares: dict[TopicPartition, float] = {}
        self._partition_counts: Mapping[str, int] = {}
        cluster.must_wait = self._append_before

    def end_minute(self, number: int) -> None:
        """Produce, consume and apply retention for one minute."""
        self.produced = dict(self._produce(number))
        seed = self._cluster.lab.seed
        self.consumed = {tp: b * consumer_groups(tp.topic, seed) for tp, b in self.produced.items()}
        for tp in [tp for tp in self.pending if self._must_append(tp)]:
            self.append(tp)
        self._retain()
        if self._cluster.lab.traffic is not Traffic.NONE:
            self._cluster.bandwidth.set_traffic(self._bandwidth_use())
        self._cluster.changed.clear()  # for checkers, which a lab does not have

    # ---- writing ----

    def _produce(self, minute: int) -> Iterator[tuple[TopicPartition, int]]:
        lab = self._cluster.lab
        for tp, share in self._current_shares().items():
            hosted = self.leader(tp)
            if hosted is not None and self._accepts_records(tp, hosted):
                written = bytes_in_minute(share, lab.rate, tp, minute, lab.seed)
                self.pending[tp] = self.pending.get(tp, 0) + written
                yield tp, written

    def _current_shares(self) -> Mapping[TopicPartition, float]:
        """The shares of the existing partitions."""
        topics = self._cluster.metadata.topics
        counts = {name: len(topic.partitions) for name, topic in topics.items()}
        if counts != self._partition_counts:
            self._partition_counts = counts
            numbers = {name: list(topics[name].partitions) for name in counts}
            self._shares = traffic_shares(
                numbers, self._cluster.lab.traffic, self._cluster.lab.seed
            )
            self.pending = {tp: b for tp, b in self.pending.items() if tp.topic in counts}
        return self._shares

    def leader(self, tp: TopicPartition) -> HostedPartition | None:
        """The partition on its leader; None if no broker leads it."""
        state = self._cluster.metadata.states.get(tp)
        machine = None if state is None else self._cluster.machines.get(state.leader)
        if machine is None or machine.process is None:
            return None
        hosted = machine.process.hosted.get(tp)
        return hosted if hosted is not None and hosted.leader_state is not None else None

    def _accepts_records(self, tp: TopicPartition, hosted: HostedPartition) -> bool:
        leading = hosted.leader_state
        return leading is not None and len(leading.isr) >= hosted.host.environment.min_isr(tp.topic)

    def _must_append(self, tp: TopicPartition) -> bool:
        state, now = self._cluster.metadata.states.get(tp), self._cluster.metadata.assignment(tp)
        if self.has_faults or state is None or now is None or len(state.isr) < len(now.replicas):
            return True
        retention_ms = self._retention(tp.topic)[0]
        every_ms = (
            RECORD_INTERVAL_MS_MAX if retention_ms < 0 else retention_ms // RECORDS_PER_RETENTION
        )
        since_ms = self._cluster.clock.now_ms - self._appended_ms.get(tp, 0)
        return since_ms >= min(max(every_ms, MINUTE_MS), RECORD_INTERVAL_MS_MAX)

    def append(self, tp: TopicPartition) -> bool:
        """Append the pending bytes as one record; without a leader they stay pending."""
        hosted, now_ms = self.leader(tp), self._cluster.clock.now_ms
        if hosted is None or not hosted.produce(now_ms, self.pending[tp], _ignore):
            return False
        del self.pending[tp]
        self._appended_ms[tp] = now_ms
        return True

    def _append_before(self, fetch: FetchRequest) -> bool:
        """Append the pending bytes that a follower outside of the ISR does not have.

        If so, it has to fetch again: until the ISR has them they are above the high watermark,
        and it could join the ISR without them.
        """
        tp = fetch.tp
        is_new = tp in self.pending and not self._cluster.is_in_sync(fetch.follower, tp)
        return is_new and self.append(tp)

    def fill(self, tp: TopicPartition, size_bytes: int, done: Callable[[], None]) -> None:
        """Write bytes to a partition in several records, so that followers keep up. `done` is
        called once all in-sync replicas have them."""
        count = max(1, min(FILL_RECORDS, size_bytes >> 20))

        def committed(_offset: int | None) -> None:
            done()

        def write(number: int) -> None:
            hosted = self.leader(tp)
            part = size_bytes // count + (number < size_bytes % count)
            last = number + 1 == count
            acked = committed if last else _ignore
            if hosted is None or not hosted.produce(self._cluster.clock.now_ms, part, acked):
                self._cluster.clock.after(FILL_RETRY_MS, lambda: write(number))
            elif not last:
                self._cluster.clock.after(FILL_INTERVAL_MS, lambda: write(number + 1))

        write(0)

    # ---- sizes ----

    def size_of(self, broker: BrokerId, tp: TopicPartition) -> int:
        """The bytes of a replica: in its log, being copied, and pending if it is in sync."""
        log = self._cluster.machines[broker].disks.find_any(tp)
        in_sync = self._cluster.is_in_sync(broker, tp)
        size = (log.size_bytes if log is not None else 0) + (in_sync * self.pending.get(tp, 0))
        return size + self._cluster.bandwidth.arrived_bytes(broker, tp)

    # ---- retention ----

    def _retention(self, topic: str) -> tuple[int, int]:
        config = self._cluster.metadata.topic_config(topic)
        if "delete" not in config.get("cleanup.policy", "delete"):
            return -1, -1
        ms, size = config.get("retention.ms"), config.get("retention.bytes")
        return RETENTION_MS if ms is None else int(ms), -1 if size is None else int(size)

    def _retain(self) -> None:
        """Delete records beyond retention time or size on every running broker."""
        now_ms = self._cluster.clock.now_ms
        rules: dict[str, tuple[int, int]] = {}
        for machine in self._cluster.machines.values():
            if machine.process is None:
                continue
            for tp, log in machine.disks.held().items():
                if tp.topic not in rules:
                    rules[tp.topic] = self._retention(tp.topic)
                keep_ms, keep_bytes = rules[tp.topic]
                _retain_log(log, now_ms - keep_ms if keep_ms >= 0 else None, keep_bytes)

    # ---- bandwidth ----

    def _bandwidth_use(self) -> dict[Resource, float]:
        """Bytes per second of traffic on each disk and link."""
        use: dict[Resource, float] = {}

        def add(resource: Resource, size: float) -> None:
            use[resource] = use.get(resource, 0.0) + size / 60

        for tp, written in self.produced.items():
            state = self._cluster.metadata.states[tp]
            for broker in state.isr:
                directory = self._cluster.machines[broker].disks.directory_of(tp)
                add(("in", broker), written)
                add(("disk", broker, directory), written)
            out = self.consumed[tp] + written * (len(state.isr) - 1)
            add(("out", state.leader), out)
        return use

    # ---- checkpoint ----

    def as_json(self) -> list[Any]:
        """The pending bytes, for the checkpoint."""
        return [[tp.topic, tp.partition, size] for tp, size in self.pending.items()]

    def load(self, rows: list[Any]) -> None:
        """Restore the pending bytes of a checkpoint."""
        for topic, partition, size in rows:
            if topic in self._cluster.metadata.topics:
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
    if len(log.records) > LOG_RECORDS_MAX and log.high_watermark == log.end_offset:
        log.fold_head(log.end_offset - LOG_RECORDS_MAX // 2)


def _ignore(_offset: int | None) -> None:
    """The acknowledgement of a record that no caller waits for."""
