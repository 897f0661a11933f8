"""The metadata log as a value: batches, where epochs start, snapshots, the high watermark.

Appending to a `Log` makes a new one. Versions share one list of batches: each sees the part of it
that it had when it was made, so an append costs the same however long the log is. Only an append
after a truncation copies.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import NamedTuple

from kedge.quorum.values import Batch, EpochOffset

_LAST = attrgetter("last")
BOOTSTRAP_SNAPSHOT = EpochOffset(0, 0)  # the checkpoint that a format writes, never sent


class EpochStart(NamedTuple):
    """The offset of an epoch's first record."""

    epoch: int
    offset: int


class SnapshotInfo(NamedTuple):
    """A finished snapshot on disk."""

    id: EpochOffset
    size: int
    last_contained_ms: int | None = None  # the time of its last record, if that is known


class Valid(NamedTuple):
    """The fetch position is in the log."""


class Diverging(NamedTuple):
    """The follower's log parts from this one; it must truncate to this end of an epoch."""

    end: EpochOffset


class NeedsSnapshot(NamedTuple):
    """The fetch position is before the log; the follower must load this snapshot."""

    id: EpochOffset


@dataclass(frozen=True, slots=True)
class Log:
    """The log of one node; positions are offsets of records, the end is the next offset."""

    _batches: list[Batch] = field(default_factory=list[Batch], repr=False)
    _first: int = 0  # the part of the list that belongs to this version
    _stop: int = 0
    epochs: tuple[EpochStart, ...] = ()
    snapshots: tuple[SnapshotInfo, ...] = ()
    high_watermark: int = 0

    @classmethod
    def loaded(cls, batches: Iterable[Batch], snapshots: Iterable[SnapshotInfo]) -> Log:
        """A log from what is on a disk.

        A log that ends before the newest snapshot is void. One that begins in the middle is usable
        from its first snapshot on.
        """
        found, known = list(batches), tuple(sorted(snapshots))
        if known and (not found or found[-1].last + 1 < known[-1].id.offset):
            return cls(snapshots=known[-1:])
        epochs: list[EpochStart] = []
        for batch in found:
            if not epochs or batch.epoch > epochs[-1].epoch:
                epochs.append(EpochStart(batch.epoch, batch.base))
        log = cls(found, 0, len(found), tuple(epochs), known)
        return log.deleted_before(known[0].id) if known and found[0].base > 0 else log

    @property
    def batches(self) -> tuple[Batch, ...]:
        """All batches; for tests and start-up, since it copies."""
        return tuple(self._batches[self._first : self._stop])

    @property
    def start(self) -> int:
        """The first offset in the log."""
        if self._stop > self._first:
            return self._batches[self._first].base
        return self.snapshots[0].id.offset if self.snapshots else 0

    @property
    def end(self) -> int:
        """The offset of the next record."""
        if self._stop > self._first:
            return self._batches[self._stop - 1].last + 1
        return self.snapshots[-1].id.offset if self.snapshots else 0

    @property
    def last_epoch(self) -> int:
        """The epoch of the last record."""
        if self.epochs:
            return self.epochs[-1].epoch
        return self.snapshots[-1].id.epoch if self.snapshots else 0

    @property
    def position(self) -> EpochOffset:
        """How new the log is: what votes compare."""
        return EpochOffset(self.last_epoch, self.end)

    @property
    def latest_snapshot(self) -> SnapshotInfo | None:
        """The newest snapshot."""
        return self.snapshots[-1] if self.snapshots else None

    def snapshot(self, snapshot_id: EpochOffset) -> SnapshotInfo | None:
        """The snapshot of this id, or None."""
        return next((known for known in self.snapshots if known.id == snapshot_id), None)

    def appended(self, batches: Iterable[Batch]) -> Log:
        """The log with these batches at its end."""
        shared, epochs = self._batches, self.epochs
        if self._stop != len(shared):  # a newer version has gone another way
            shared = shared[self._first : self._stop]
            grown = replace(self, _batches=shared, _first=0, _stop=len(shared))
        else:
            grown = self
        last_epoch = self.last_epoch
        for batch in batches:
            assert batch.base == (shared[-1].last + 1 if len(shared) > grown._first else self.end)
            if batch.epoch > last_epoch:
                epochs, last_epoch = (*epochs, EpochStart(batch.epoch, batch.base)), batch.epoch
            shared.append(batch)
        return replace(grown, _stop=len(shared), epochs=epochs)

    def with_epoch(self, epoch: int) -> Log:
        """The log with the start of a leader's epoch at its end."""
        kept = tuple(s for s in self.epochs if s.offset < self.end and s.epoch < epoch)
        return replace(self, epochs=(*kept, EpochStart(epoch, self.end)))

    def truncated(self, offset: int) -> Log:
        """The log without the batches that reach `offset` or beyond."""
        stop = bisect_left(self._batches, offset, self._first, self._stop, key=_LAST)
        kept = tuple(start for start in self.epochs if start.offset < offset)
        return replace(self, _stop=stop, epochs=kept)

    def with_high_watermark(self, offset: int) -> Log:
        """The log with this high watermark."""
        return replace(self, high_watermark=offset)

    def with_snapshot(self, snapshot: SnapshotInfo) -> Log:
        """The log with a snapshot taken of its own records."""
        return replace(self, snapshots=tuple(sorted({*self.snapshots, snapshot})))

    def replaced_by(self, snapshot: SnapshotInfo) -> Log:
        """An empty log that begins where the snapshot of the leader ends."""
        return Log(snapshots=(snapshot,), high_watermark=snapshot.id.offset)

    def deleted_before(self, snapshot_id: EpochOffset) -> Log:
        """The log without what a snapshot covers, and without older snapshots."""
        offset = snapshot_id.offset
        first = bisect_left(self._batches, offset, self._first, self._stop, key=_LAST)
        covered = [start for start in self.epochs if start.offset <= offset]
        epochs = tuple(start for start in self.epochs if start.offset > offset)
        if covered:
            epochs = (EpochStart(covered[-1].epoch, offset), *epochs)
        kept = tuple(known for known in self.snapshots if known.id >= snapshot_id)
        left = self._batches[first : self._stop]  # a copy, so that the deleted ones can be freed
        return replace(
            self, _batches=left, _first=0, _stop=len(left), epochs=epochs, snapshots=kept
        )

    def end_of_epoch(self, epoch: int) -> EpochOffset:
        """The largest epoch of this log that is not above `epoch`, and where it ends."""
        known = self.snapshots[0].id.epoch if self.snapshots else 0
        for start in self.epochs:
            if start.epoch > epoch:
                return EpochOffset(known, start.offset)
            known = start.epoch
        return EpochOffset(self.last_epoch, self.end)

    def truncation_offset(self, diverging: EpochOffset) -> int:
        """Where to cut this log, given the end of the epoch that the leader named."""
        if diverging.epoch == 0:
            return min(diverging.offset, self.end)
        own = self.end_of_epoch(diverging.epoch)
        return min(own.offset, diverging.offset) if own.epoch == diverging.epoch else own.offset

    def check(self, offset: int, epoch: int) -> Valid | Diverging | NeedsSnapshot:
        """What a fetch at `offset`, whose last record is of `epoch`, is to be answered with."""
        if self.start == 0 and offset == 0:
            return Valid()
        if self.snapshots:
            first = self.snapshots[0].id
            at_start = offset == self.start and epoch != first.epoch
            if offset < self.start or at_start or epoch < first.epoch:
                return NeedsSnapshot(self.snapshots[-1].id)
        own = self.end_of_epoch(epoch)
        return Diverging(own) if own.epoch != epoch or own.offset < offset else Valid()

    def batch_start(self, offset: int) -> int:
        """The base offset of the batch that has this offset; the end of the log is its own.

        Replicas hold whole batches, so an offset inside a batch acknowledges none of it.
        """
        index = bisect_left(self._batches, offset, self._first, self._stop, key=_LAST)
        return self._batches[index].base if index < self._stop else offset

    def read(self, offset: int, *, before: int | None = None, max_bytes: int) -> tuple[Batch, ...]:
        """Whole batches from the one that has `offset` on; always one, however large it is."""
        index = bisect_left(self._batches, offset, self._first, self._stop, key=_LAST)
        stop = self._stop
        if before is not None:
            stop = bisect_right(self._batches, before - 1, index, stop, key=_LAST)
        taken, size = index, 0
        while taken < stop and (taken == index or size + self._batches[taken].size <= max_bytes):
            size += self._batches[taken].size
            taken += 1
        return tuple(self._batches[index:taken])
