"""The log of one replica: records that can be told apart, and where leader epochs begin.

A record has an identity that is unique in its world and a checksum over its partition, offset and
identity, taken when the leader appends it. So a record that is lost, doubled, or copied to another
place than its own is found out by looking at any log.

Logs that parted ways are brought together by leader epochs (KIP-101, KIP-279): the follower asks
where the leader's part of its own last epoch ends, and drops what it has beyond that.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple
from zlib import crc32

from kedge.model import TopicPartition

NO_EPOCH = -1

Touched = dict[TopicPartition, None]  # a set that remembers its order


class Record(NamedTuple):
    """One record (or one batch of them: `size_bytes` is as large as the world wants)."""

    identity: int
    leader_epoch: int
    size_bytes: int
    checksum: int


def checksum_of(tp: TopicPartition, offset: int, identity: int) -> int:
    """What a record's checksum has to be."""
    return crc32(f"{tp.topic}-{tp.partition}@{offset}:{identity}".encode())


class EpochEnd(NamedTuple):
    """The largest epoch that is not above the one asked for, and where it ends."""

    leader_epoch: int
    end_offset: int


class ReplicaLog:
    """What a broker's disk holds for one partition. The offset of a record is its place, counted
    from where the log begins: what is too old is dropped from its head.

    `touched` collects the partitions whose records went away, for whoever checks that.
    """

    def __init__(self, tp: TopicPartition, topic_id: str, touched: Touched | None = None) -> None:
        self.tp = tp
        self.topic_id = topic_id
        self.records: list[Record] = []
        self.start_offset = 0  # of the first record that is still there
        self.high_watermark = 0
        self.checkpoint = 0  # the high watermark as last written to disk
        self.size_bytes = 0
        self.lowest_cut: int | None = None  # since somebody last looked
        self.touched: Touched = {} if touched is None else touched
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
        """Append as leader: give the record its place and its checksum."""
        checksum = checksum_of(self.tp, self.end_offset, identity)
        record = Record(identity, leader_epoch, size_bytes, checksum)
        self.append((record,))
        return record

    def append(self, records: Sequence[Record]) -> None:
        """Append records as they are."""
        for record in records:
            if record.leader_epoch > self.last_epoch:
                self._epochs.append(record.leader_epoch)
                self._starts.append(self.end_offset)
            self.records.append(record)
            self.size_bytes += record.size_bytes

    def truncate(self, offset: int) -> None:
        """Drop every record from an offset on."""
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
        self.lowest_cut = offset if self.lowest_cut is None else min(self.lowest_cut, offset)
        self.touched[self.tp] = None

    def drop_head(self, offset: int) -> int:
        """Drop the records below an offset, which is at most the end; how many bytes they had."""
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
        """Make one record of all up to an offset, that one included: as many bytes, less to keep
        in mind."""
        folded = self.drop_head(offset)
        if folded:
            self.records[0] = self.records[0]._replace(
                size_bytes=self.records[0].size_bytes + folded
            )
            self.size_bytes += folded

    def begin_at(self, offset: int) -> None:
        """Drop everything, and begin anew at an offset: nothing before it is to be had."""
        self.truncate(self.start_offset)
        self.start_offset = offset
        self.high_watermark = self.checkpoint = offset

    def end_of_epoch(self, leader_epoch: int) -> EpochEnd:
        """Where the records of an epoch, or of the last one before it, end."""
        place = bisect_right(self._epochs, leader_epoch)
        epoch = self._epochs[place - 1] if place else NO_EPOCH
        end = self._starts[place] if place < len(self._starts) else self.end_offset
        return EpochEnd(epoch, end)

    def slice(self, offset: int, bytes_max: int) -> list[Record]:
        """Records from an offset on, so many bytes of them, but at least one if there is one."""
        place = offset - self.start_offset
        window = self.records[place : place + 1024]
        sizes = accumulate(record.size_bytes for record in window)
        fitting = sum(1 for size in sizes if size <= bytes_max)
        return window[: max(fitting, 1)]

    def restart(self) -> None:
        """What a process finds that opens this log again: the watermark is the one on disk."""
        self.high_watermark = min(self.checkpoint, self.end_offset)

    def damaged_offsets(self) -> list[int]:
        """Where a record is not the one that was appended there."""
        return [
            offset
            for offset, record in enumerate(self.records, self.start_offset)
            if record.checksum != checksum_of(self.tp, offset, record.identity)
        ]


def divergence(log: ReplicaLog, offset: int, last_epoch: int) -> EpochEnd | None:
    """Where a follower that ends at `offset` with `last_epoch` left the leader's log, if it did."""
    if offset == 0 or last_epoch == NO_EPOCH:
        return None
    end = log.end_of_epoch(last_epoch)
    return end if end.leader_epoch < last_epoch or end.end_offset < offset else None


def meeting_point(log: ReplicaLog, leaders: EpochEnd) -> int:
    """Up to where a follower's log may be the leader's, given where the leader's epoch ends."""
    return min(leaders.end_offset, log.end_of_epoch(leaders.leader_epoch).end_offset)
