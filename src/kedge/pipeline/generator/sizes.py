"""Sizes of the generated clusters, and the constants that they share."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from kedge.errors import InvalidRequest

MICROS: Final = 1_000_000
INTERVAL_S: Final = 60
WINDOW_S: Final = 300
ALLOWED_LATENESS_S: Final = 1800
FUTURE_TOLERANCE_S: Final = 300
START_S: Final = int(datetime(2026, 1, 5, tzinfo=UTC).timestamp())
ARRIVAL_DELAY_S: Final = 5  # between the end of an interval and the arrival of its row


@dataclass(frozen=True, slots=True)
class Size:
    """Number of clusters, counts per cluster, and samples per replica."""

    clusters: int
    brokers: int
    topics: int
    partitions: int
    replication_factor: int
    samples: int
    rows_per_file: int

    @property
    def all_partitions(self) -> int:
        """The partitions of all clusters together."""
        return self.clusters * self.partitions

    @property
    def windows(self) -> int:
        """The number of windows of the samples."""
        return -(-self.samples * INTERVAL_S // WINDOW_S)


SIZES: Final = {
    "XS": Size(2, 6, 5, 50, 3, 40, 10_000),
    "S": Size(2, 6, 10, 200, 3, 120, 50_000),
    "M": Size(4, 25, 100, 2_500, 3, 170, 500_000),
    "L": Size(4, 50, 400, 10_000, 3, 417, 2_000_000),
}


def size_of(name: str) -> Size:
    """The size by its name."""
    if name not in SIZES:
        raise InvalidRequest(f"unknown size {name!r}", hint=f"sizes: {', '.join(SIZES)}")
    return SIZES[name]
