"""The log of one replica: identifiable records, leader epochs and truncation.

A record has an identity that is unique in its cluster, and a checksum of partition, offset and
identity that the leader computes. A record that is lost, duplicated or copied to a wrong offset is
therefore detectable in any log.

Diverged logs are reconciled by leader epochs (KIP-101, KIP-279): the follower asks for the end of
its own last epoch in the leader's log, and truncates its log to that offset.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple
from zlib import crc32

from kedge.model import TopicPartition

NO_EPOCH = -1

ChangedPartitions = dict[TopicPartition, None]  # an ordered set


class Record(NamedTuple):
    """One record, or one batch of records: `size_bytes` may be of any size."""

    identity: int
    leader_epoch: int
    size_bytes: int
    checksum: int


def checksum_of(tp: TopicPartition, offset: int, identity: int) -> int:
    """The expected checksum of a record."""
    return crc32(f"{tp.topic}-{tp.partition}@{offset}:{identity}".encode())


class EpochEnd(NamedTuple):
    """The largest epoch that is not above the requested one, and its end offset."""

    leader_epoch: int
    end_offset: int


class ReplicaLog:
    """The records of one partition on one broker. Offsets are consecutive from `start_offset`,
    which rises when old records are deleted.

    `changed` collects the partitions that have lost records, for the simulator's checkers.
    """

    def __init__(
        self, tp: TopicPartition, topic_id: str, changed: ChangedPartitions | None = None
    ) -> None:
        self.tp = tp
        self.topic_id = topic_id
        self.records: list[Record] = []
        self.start_offset = 0  # of the oldest record
        self.high_watermark = 0
        self.checkpoint = 0  # the high watermark as last written to disk
        self.size_bytes = 0
        self.lowest_truncation: int | None = None  # since the last check
        self.changed: ChangedPartitions = {} if changed is None else changed
        self._epochs: list[int] = []  # ascending, each with
        self._starts: list[int] = []  # the offset of its first record

    @property
    def end_offset(self) -> int:
        """The offset of the next record."""
        return self.start_offset + len(self.records)

    @property
    def last_epoch(self) -> int:
        """The leader epoch of the last record."""
        return self._epochs[-1] if self._epochs else NO_EPOCH

    @property
    def epoch_starts(self) -> list[tuple[int, int]]:
        """Leader epochs, ascending, each with the offset of its first record."""
        return list(zip(self._epochs, self._starts, strict=True))

    def append_new(self, identity: int, leader_epoch: int, size_bytes: int) -> Record:
        """Append a record as leader, with its checksum."""
        checksum = checksum_of(self.tp, self.end_offset, identity)
        record = Record(identity, leader_epoch, size_bytes, checksum)
        self.append((record,))
        return record

    def append(self, records: Sequence[Record]) -> None:
        """Append records as follower, unchanged."""
        for record in records:
            if record.leader_epoch > self.last_epoch:
                self._epochs.append(record.leader_epoch)
                self._starts.append(self.end_offset)
            self.records.append(record)
            self.size_bytes += record.size_bytes

    def truncate(self, offset: int) -> None:
        """Delete all records from an offset on."""
        if offset >= self.end_offset:
            return
        place = max(offset - self.start_offset, 0)
        self.size_bytes -= sum(record.size_bytes for record in self.records[place:])
        del self.records[place:]
        self.start_offset = min(self.start_offset, offset)
        while self._starts and self._starts[-1] >= offset:
            self._starts.pop()
            self._epochs.pop()
        self.high_watermark = min(self.high_watermark, offset)
        self.checkpoint = min(self.checkpoint, offset)
        self.lowest_truncation = (
            offset if self.lowest_truncation is None else min(self.lowest_truncation, offset)
        )
        self.changed[self.tp] = None

    def drop_head(self, offset: int) -> int:
        """Delete the records below an offset, at most the end; returns their bytes."""
        place = offset - self.start_offset
        if place <= 0:
            return 0
        dropped = sum(record.size_bytes for record in self.records[:place])
        del self.records[:place]
        self.size_bytes -= dropped
        self.start_offset = offset
        while len(self._starts) > 1 and self._starts[1] <= offset:
            del self._starts[0], self._epochs[0]
        if self._starts:
            self._starts[0] = max(self._starts[0], offset)
        return dropped

    def fold_head(self, offset: int) -> None:
        """Replace all records up to and including an offset by one record of the same size."""
        folded = self.drop_head(offset)
        if folded:
            self.records[0] = self.records[0]._replace(
                size_bytes=self.records[0].size_bytes + folded
            )
            self.size_bytes += folded

    def begin_at(self, offset: int) -> None:
        """Delete all records and continue at an offset, below which the leader has none."""
        self.truncate(self.start_offset)
        self.start_offset = offset
        self.high_watermark = self.checkpoint = offset

    def end_of_epoch(self, leader_epoch: int) -> EpochEnd:
        """The end offset of an epoch, or of the last one before it."""
        place = bisect_right(self._epochs, leader_epoch)
        epoch = self._epochs[place - 1] if place else NO_EPOCH
        end = self._starts[place] if place < len(self._starts) else self.end_offset
        return EpochEnd(epoch, end)

    def slice(self, offset: int, bytes_max: int) -> list[Record]:
        """Records from an offset on, up to a size limit, but at least one if there is one."""
        place = offset - self.start_offset
        window = self.records[place : place + 1024]
        sizes = accumulate(record.size_bytes for record in window)
        fitting = sum(1 for size in sizes if size <= bytes_max)
        return window[: max(fitting, 1)]

    def restart(self) -> None:
        """Reopen the log in a new process: the high watermark is that of the checkpoint."""
        self.high_watermark = min(self.checkpoint, self.end_offset)

    def damaged_offsets(self) -> list[int]:
        """The offsets of records with a wrong checksum."""
        return [
            offset
            for offset, record in enumerate(self.records, self.start_offset)
            if record.checksum != checksum_of(self.tp, offset, record.identity)
        ]


def divergence(log: ReplicaLog, offset: int, last_epoch: int) -> EpochEnd | None:
    """Where a follower's log that ends at `offset` with `last_epoch` diverges from the leader's;
    None if it does not."""
    if offset == 0 or last_epoch == NO_EPOCH:
        return None
    end = log.end_of_epoch(last_epoch)
    return end if end.leader_epoch < last_epoch or end.end_offset < offset else None


def truncation_offset(log: ReplicaLog, leaders: EpochEnd) -> int:
    """The offset to truncate a follower's log to, given the end of the leader's epoch."""
    return min(leaders.end_offset, log.end_of_epoch(leaders.leader_epoch).end_offset)
