"""What attribution returns: bytes of each partition and interval, and how they were found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, cast

from kedge.model.arrow import Table, arrow

_pa = arrow()


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


PARTITION_COLUMNS: Final[Any] = _pa.schema(
    [
        _pa.field("partition", _pa.int32(), nullable=False),
        _pa.field("start_ms", _pa.int64(), nullable=False),
        _pa.field("end_ms", _pa.int64(), nullable=False),
        _pa.field("bytes_in", _pa.float64(), nullable=False),
        _pa.field("bytes_out", _pa.float64(), nullable=False),
        # the part of the interval that was measured: a mean rate is bytes over this time
        _pa.field("in_covered_ms", _pa.float64(), nullable=False),
        _pa.field("out_covered_ms", _pa.float64(), nullable=False),
        _pa.field("in_by", _pa.dictionary(_pa.int8(), _pa.string()), nullable=False),
        _pa.field("out_by", _pa.dictionary(_pa.int8(), _pa.string()), nullable=False),
        # compacted or unmeasured: the amount may be far off
        _pa.field("in_uncertain", _pa.bool_(), nullable=False),
        _pa.field("out_uncertain", _pa.bool_(), nullable=False),
        _pa.field("leader", _pa.int32(), nullable=False),  # at the end; NONE where not known
        _pa.field("replicas", _pa.int32(), nullable=False),
        _pa.field("in_sync_replicas", _pa.int32(), nullable=False),
    ]
)
REPLICA_COLUMNS: Final[Any] = _pa.schema(
    [
        _pa.field("partition", _pa.int32(), nullable=False),
        _pa.field("broker", _pa.int32(), nullable=False),
        _pa.field("end_ms", _pa.int64(), nullable=False),
        _pa.field("size_bytes", _pa.float64(), nullable=False),  # the last one in the interval
        _pa.field("is_leader", _pa.bool_(), nullable=False),
    ]
)


@dataclass(frozen=True, slots=True)
class Attributed:
    """Bytes of the partitions of one topic, and sizes of their replicas, by interval.

    `partitions` has one row for each partition and interval, sorted by both; `replicas` has one for
    each replica and interval in which its size is known.
    """

    topic: str
    partitions: Table  # PARTITION_COLUMNS
    replicas: Table  # REPLICA_COLUMNS

    def rows(self) -> Iterator[PartitionBytes]:
        """The rows of `partitions`, one value each."""
        for row in cast("list[dict[str, Any]]", self.partitions.to_pylist()):
            yield PartitionBytes(
                self.topic,
                row["partition"],
                row["start_ms"],
                row["end_ms"],
                row["bytes_in"],
                row["bytes_out"],
                Rule(row["in_by"]),
                Rule(row["out_by"]),
            )
