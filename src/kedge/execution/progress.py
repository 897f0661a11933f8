"""How much is done, how fast it goes and when it will be over.

Bytes count when they lie on the broker that they are for: a finished copy with the size of its
partition, one under way with what has arrived. The rate is that of the last minutes, so that an
estimate follows a throttle that is changed on the way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from kedge.execution.standing import SETTLED, Standing
from kedge.model import BrokerId, TopicPartition
from kedge.plan import Change

Sizes = Mapping[tuple[TopicPartition, BrokerId], int]  # bytes of each replica that exists
MEMORY_S = 120.0


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


def copied_bytes(
    changes: Iterable[Change], standings: Mapping[TopicPartition, Standing], sizes: Sizes
) -> tuple[int, int]:
    """Bytes to be copied in all, and bytes that have arrived."""
    total = arrived = 0
    for change in changes:
        whole = _size_of(change, sizes)
        for broker in change.added:
            total += whole
            if standings[change.tp] in SETTLED:
                arrived += whole
            else:
                arrived += min(whole, sizes.get((change.tp, broker), 0))
    return total, arrived


def _size_of(change: Change, sizes: Sizes) -> int:
    """The size of a partition: that of its largest replica."""
    brokers = {*change.before, *change.after}
    return max((sizes.get((change.tp, broker), 0) for broker in brokers), default=0)


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


def progress_of(
    changes: list[Change],
    standings: Mapping[TopicPartition, Standing],
    sizes: Sizes,
    pace: Pace,
    now: float,
) -> Progress:
    """The figures at one moment."""
    total, arrived = copied_bytes(changes, standings, sizes)
    rate = pace.at(now, arrived)
    left = total - arrived
    return Progress(
        partitions=len(changes),
        done=sum(standing in SETTLED for standing in standings.values()),
        moving=sum(standing is Standing.MOVING for standing in standings.values()),
        bytes_total=total,
        bytes_done=arrived,
        bytes_per_second=rate,
        seconds_left=0.0 if not left else left / rate if rate else None,
    )
