"""Computes how much of a run is done, its rate, and the time that is left.

Bytes count when they are on the broker, or in the log directory, that they are for: a finished copy
with the size of its partition, one under way with what has arrived. The rate is that of the last
minutes. The time left is the longer of two estimates: the bytes left at that rate, and the
schedule of the moves that are left (`schedule`) at the throttle, or at the rate that the busiest
broker has reached.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from kedge.execution.move_status import ANYWHERE, SETTLED, LogDirs, MoveStatus, Statuses, Target
from kedge.execution.schedule import Transfer, busiest_bytes, seconds_left
from kedge.model import BrokerId, TopicPartition
from kedge.plan import Change, PartitionReplica

MEMORY_S = 120.0


@dataclass(frozen=True, slots=True)
class Sizes:
    """Bytes of each replica, and of each copy in another log directory of its broker."""

    replicas: Mapping[PartitionReplica, int] = field(default_factory=dict[PartitionReplica, int])
    future: Mapping[PartitionReplica, int] = field(default_factory=dict[PartitionReplica, int])

    def of_partition(self, change: Change) -> int:
        """The size of a partition: that of its largest replica."""
        brokers = {*change.before, *change.after}
        found = (self.replicas.get(PartitionReplica(*change.tp, b), 0) for b in brokers)
        return max(found, default=0)


@dataclass(frozen=True, slots=True)
class Progress:
    """A run in figures; seconds left are None while nothing is known of the rate."""

    partitions: int
    done: int
    moving: int
    bytes_total: int
    bytes_done: int
    bytes_per_second: float
    seconds_left: float | None

    @property
    def share(self) -> float:
        """Between 0 and 1: of the bytes, or of the partitions where nothing is to be copied."""
        if self.bytes_total:
            return min(1.0, self.bytes_done / self.bytes_total)
        return self.done / self.partitions if self.partitions else 1.0


@dataclass(frozen=True, slots=True)
class Copies:
    """What one partition copies: to other brokers, and between log directories of its own."""

    change: Change
    size: int
    to_brokers: Mapping[BrokerId, int]  # bytes that have arrived, by destination
    within_brokers: Mapping[BrokerId, int]

    @property
    def total(self) -> int:
        """Bytes to be copied."""
        return self.size * (len(self.to_brokers) + len(self.within_brokers))

    @property
    def arrived(self) -> int:
        """Bytes that have been copied."""
        return sum(self.to_brokers.values()) + sum(self.within_brokers.values())


def copies_of(
    change: Change, status: MoveStatus, sizes: Sizes, target: Target, log_dirs_before: LogDirs
) -> Copies:
    """What a change copies and how much of it has arrived."""
    size = sizes.of_partition(change)

    def arrived(shown: Mapping[PartitionReplica, int], broker: BrokerId) -> int:
        if status in SETTLED:
            return size
        return min(size, shown.get(PartitionReplica(*change.tp, broker), 0))

    within = [
        replica.broker
        for replica, path in target.log_dirs_of(change).items()
        if log_dirs_before.get(replica, path) != path and replica.broker in change.before
    ]
    return Copies(
        change,
        size,
        {broker: arrived(sizes.replicas, broker) for broker in change.added},
        {broker: arrived(sizes.future, broker) for broker in within},
    )


def transfers_of(
    copies: Iterable[Copies],
    statuses: Statuses,
    leaders: Mapping[TopicPartition, BrokerId | None],
) -> list[Transfer]:
    """What is left to be copied, for the schedule."""
    found: list[Transfer] = []
    for each in copies:
        tp = each.change.tp
        started = statuses[tp] is MoveStatus.MOVING
        left = each.size - min(each.to_brokers.values(), default=each.size)
        if left:
            destinations = tuple(each.to_brokers)
            found.append(Transfer(leaders.get(tp), destinations, left, started))
        found += [
            Transfer(None, (broker,), each.size - arrived, started)
            for broker, arrived in each.within_brokers.items()
            if arrived < each.size
        ]
    return found


@dataclass(slots=True)
class Pace:
    """Measures the rate from bytes that have arrived at moments in time."""

    _seen: list[tuple[float, int]] = field(default_factory=list[tuple[float, int]])

    def at(self, now: float, arrived: int) -> float:
        """Bytes per second over the last minutes."""
        self._seen.append((now, arrived))
        while len(self._seen) > 2 and self._seen[1][0] < now - MEMORY_S:
            self._seen.pop(0)
        (start, before), (end, after) = self._seen[0], self._seen[-1]
        return max(0.0, (after - before) / (end - start)) if end > start else 0.0


@dataclass(frozen=True, slots=True)
class Limits:
    """How fast a run may go: bytes per second and broker (None: unlimited), and its slots.

    `log_dir_rate` is that of copies between the log directories of a broker; None: like `rate`.
    """

    rate: int | None = None
    each_way: int = 2
    log_dir_rate: int | None = None

    @property
    def rate_within(self) -> int | None:
        """Bytes per second of copies between the log directories of a broker; None: unlimited."""
        return self.rate if self.log_dir_rate is None else self.log_dir_rate

    @property
    def throttled(self) -> bool:
        """Whether a throttle is set at all."""
        return self.rate is not None or self.log_dir_rate is not None


@dataclass(frozen=True, slots=True)
class Work:
    """What a run copies, as observed at one moment."""

    statuses: Statuses
    copies: Sequence[Copies]
    transfers: Sequence[Transfer]
    leaders: Mapping[TopicPartition, BrokerId | None] = field(
        default_factory=dict[TopicPartition, "BrokerId | None"]
    )

    def progress(self, limits: Limits, pace: Pace | None = None, now: float = 0.0) -> Progress:
        """The figures of the run; without a `pace` nothing is known of its rate."""
        total = sum(each.total for each in self.copies)
        arrived = sum(each.arrived for each in self.copies)
        rate = (pace or Pace()).at(now, arrived)
        return Progress(
            partitions=len(self.copies),
            done=sum(status in SETTLED for status in self.statuses.values()),
            moving=sum(status is MoveStatus.MOVING for status in self.statuses.values()),
            bytes_total=total,
            bytes_done=arrived,
            bytes_per_second=rate,
            seconds_left=_seconds_left(total - arrived, rate, self.transfers, limits),
        )

    def bound_seconds(self, limits: Limits) -> float | None:
        """No run is faster than its busiest broker at the throttle; None without one."""
        return None if limits.rate is None else busiest_bytes(self.transfers) / limits.rate


def work_of(
    changes: Sequence[Change],
    statuses: Statuses,
    sizes: Sizes,
    leaders: Mapping[TopicPartition, BrokerId | None],
    target: Target = ANYWHERE,
    log_dirs_before: LogDirs | None = None,
) -> Work:
    """What the changes of a run copy: in total, and what is left for the schedule."""
    before = log_dirs_before or {}
    copies = [copies_of(c, statuses[c.tp], sizes, target, before) for c in changes]
    return Work(statuses, copies, transfers_of(copies, statuses, leaders), leaders)


def _seconds_left(
    left: int, rate: float, transfers: Sequence[Transfer], limits: Limits
) -> float | None:
    if not left:
        return 0.0
    estimates: list[float] = []
    if rate:
        estimates.append(left / rate)
    if limits.rate is not None:
        estimates.append(seconds_left(transfers, limits.rate, limits.each_way))
    return max(estimates, default=None)
