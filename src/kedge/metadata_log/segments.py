"""The segments of the log: files of batches, named by their first offsets."""

from __future__ import annotations

import os
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from kedge.errors import InvalidRequest, MalformedMessage
from kedge.metadata_log.batches import batch_of
from kedge.metadata_log.files import sync_directory
from kedge.protocol.record_batches import batch_size
from kedge.quorum.values import Batch

SEGMENT_BYTES_MAX = 1 << 30


class Place(NamedTuple):
    """Where a batch is."""

    base: int
    last: int
    segment: int  # the first offset of its file
    position: int
    size: int


class Segments:
    """All batches on disk; appends go to the last file."""

    def __init__(self, directory: Path, *, segment_bytes_max: int = SEGMENT_BYTES_MAX) -> None:
        self._directory = directory
        self._segment_bytes_max = segment_bytes_max
        self._places: list[Place] = []
        self._files: dict[int, int] = {}  # handles by first offset
        self._end = 0  # of the last file, in bytes

    def open(self) -> list[Batch]:
        """Read all batches; a torn append at the end is cut off."""
        found = sorted(self._directory.glob("*.log"))
        batches: list[Batch] = []
        for path in found:
            first = int(path.stem)
            self._files[first] = os.open(path, os.O_RDWR)
            batches += self._read(first, path, is_last=path == found[-1])
        return batches

    def close(self) -> None:
        """Close all files."""
        for handle in self._files.values():
            os.close(handle)
        self._files.clear()

    def _read(self, first: int, path: Path, *, is_last: bool) -> list[Batch]:
        data = path.read_bytes()
        batches: list[Batch] = []
        position = 0
        for batch in _whole_batches(path, data, is_last=is_last):
            expected = self._places[-1].last + 1 if self._places else first
            if batch.base != expected:
                raise _damaged(path, position, f"offset {batch.base} follows {expected - 1}")
            self._places.append(Place(batch.base, batch.last, first, position, len(batch.raw)))
            position += len(batch.raw)
            batches.append(batch)
        if position < len(data):
            os.ftruncate(self._files[first], position)
            os.fsync(self._files[first])
        self._end = position
        return batches

    # ---- writing ---------------------------------------------------------------------------------

    def append(self, batches: list[tuple[Batch, bytes]]) -> None:
        """Append batches and sync."""
        for batch, raw in batches:
            if not self._files or self._end + len(raw) > self._segment_bytes_max:
                self._roll(batch.base)
            segment = max(self._files)
            _write_all(self._files[segment], raw, self._end)
            self._places.append(Place(batch.base, batch.last, segment, self._end, len(raw)))
            self._end += len(raw)
        os.fsync(self._files[max(self._files)])

    def _roll(self, first: int) -> None:
        if self._files:
            os.fsync(self._files[max(self._files)])
        path = self._directory / f"{first:020d}.log"
        self._files[first] = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644)
        self._end = 0
        sync_directory(self._directory)

    def truncate(self, offset: int) -> None:
        """Remove all batches that reach `offset` or beyond."""
        kept = bisect_left(self._places, offset, key=lambda place: place.last)
        if kept == len(self._places):
            return
        cut = self._places[kept]
        del self._places[kept:]
        for first in [first for first in self._files if first > cut.segment]:
            self._remove(first)
        os.ftruncate(self._files[cut.segment], cut.position)
        os.fsync(self._files[cut.segment])
        self._end = cut.position
        sync_directory(self._directory)

    def restart(self, offset: int) -> None:
        """Drop everything, and begin at an offset."""
        for first in list(self._files):
            self._remove(first)
        self._places.clear()
        self._roll(offset)

    def drop_before(self, offset: int) -> None:
        """Remove the files that end before an offset; later appends go to a new one."""
        if self._places and max(self._files) != self._places[-1].last + 1:
            self._roll(self._places[-1].last + 1)
        last_of = {place.segment: place.last for place in self._places}
        gone = {first for first, last in last_of.items() if last < offset}
        for first in gone:
            self._remove(first)
        self._places = [place for place in self._places if place.segment not in gone]
        sync_directory(self._directory)

    def _remove(self, first: int) -> None:
        os.close(self._files.pop(first))
        for path in self._directory.glob(f"{first:020d}.*"):
            path.unlink()

    # ---- reading ---------------------------------------------------------------------------------

    def read(self, first: int, last: int) -> bytes:
        """The bytes of the batches from the one with offset `first` to the one with `last`."""
        begin = bisect_left(self._places, first, key=lambda place: place.last)
        end = bisect_right(self._places, last, key=lambda place: place.base)
        return b"".join(
            os.pread(self._files[segment], size, position)
            for segment, position, size in _joined(self._places[begin:end])
        )


def _joined(places: list[Place]) -> Iterator[tuple[int, int, int]]:
    """Adjacent batches as one read."""
    at = 0
    while at < len(places):
        stop, first = at, places[at]
        while stop < len(places) and places[stop].segment == first.segment:
            stop += 1
        last = places[stop - 1]
        yield first.segment, first.position, last.position + last.size - first.position
        at = stop


def _whole_batches(path: Path, data: bytes, *, is_last: bool) -> Iterator[Batch]:
    position = 0
    while position < len(data):
        try:
            size = batch_size(data, position)
            if size is None or position + size > len(data):
                raise MalformedMessage("a batch that ends early")
            batch = batch_of(data[position : position + size])
        except MalformedMessage as problem:
            if not is_last or _has_batch_behind(data, position):
                raise _damaged(path, position, str(problem)) from None
            return
        yield batch
        position += size


def _has_batch_behind(data: bytes, position: int) -> bool:
    """Whether a sound batch follows a damaged one: then it is no torn append."""
    try:
        size = batch_size(data, position)
        follows = None if size is None else batch_size(data, position + size)
        if size is None or follows is None or position + size + follows > len(data):
            return False
        batch_of(data[position + size : position + size + follows])
    except MalformedMessage:
        return False
    return True


def _damaged(path: Path, position: int, what: str) -> InvalidRequest:
    return InvalidRequest(
        f"{path} is damaged at byte {position}: {what}",
        hint="restore the directory, or format it and let the node fetch the log from the quorum",
    )


def _write_all(handle: int, data: bytes, position: int) -> None:
    written = 0
    while written < len(data):
        written += os.pwrite(handle, memoryview(data)[written:], position + written)
