"""What attribution returns: bytes of each partition and interval, and how they were found."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Rule(StrEnum):
    """How the bytes of a partition were found, the most trustworthy first."""

    MEASURED = "measured"  # the source tells them by partition
    OFFSETS = "offsets"  # by offset growth and bytes per record
    COMMITS = "commits"  # by growth of committed offsets and bytes per record
    GROWTH = "growth"  # by growth of the log
    BYTES_IN = "bytes_in"  # bytes out, in the proportion of bytes in
    EVEN = "even"  # equal shares


@dataclass(frozen=True, slots=True)
class PartitionBytes:
    """What producers appended to and consumers read from one partition in one interval.

    Record batches as in the log (compressed), without replication. `end_ms` closes the interval.
    """

    topic: str
    partition: int
    start_ms: int
    end_ms: int
    bytes_in: float
    bytes_out: float
    in_by: Rule
    out_by: Rule
