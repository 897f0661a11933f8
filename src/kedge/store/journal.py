"""The journal on disk of the tree in memory, for a lab that survives restarts and kill -9.

The transactions of a batch are appended in one write. A record is framed by its length, the
checksum of its payload and a checksum of those two, so that kinds of damage can be distinguished:

    the file ends within a record        a write was cut off: dropped, counted in `dropped_bytes`
    the last record's payload is wrong   the same, on a file system that grew the file first
    anything wrong further inside        JournalDamaged, with the position; nothing is repaired

A journal that has grown to several times its snapshot is compacted: the tree is written to a new
file, which is synced and renamed over the old one, so that there is always one complete journal.

`fsync` determines what a power failure may lose: nothing (`always`), the batches of the last
interval (`interval`; an idle journal is synced at its next write or its close), or everything that
the system had not written yet (`never`). A crash of the process alone loses nothing.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import struct
import time
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal

from kedge.errors import InvalidRequest, JournalDamaged, StoreUnavailable
from kedge.store.journal_records import (
    UnreadableRecord,
    apply_record,
    encode_snapshot,
    encode_transaction,
)
from kedge.store.tree import Transaction, Tree

Fsync = Literal["always", "interval", "never"]

MAGIC = b"kedge journal 1\n"
_COMPACT_RETRY_GROWTH = 1.25  # growth after which a failed compaction is retried
_LENGTH_AND_SUM = struct.Struct(">II")
_HEAD = struct.Struct(">III")


class Journal:
    """An open journal, locked against other processes. `tree` is its content."""

    def __init__(
        self,
        path: Path,
        *,
        fsync: Fsync = "always",
        interval_s: float = 1.0,
        compact_bytes_min: int = 16 << 20,
        compact_growth: float = 4.0,
    ) -> None:
        if fsync not in ("always", "interval", "never"):
            raise InvalidRequest(f"{fsync!r} is not one of always, interval, never")
        self.path = path
        self.tree = Tree()
        self.dropped_bytes = 0
        self._fsync: Fsync = fsync
        self._interval_s = interval_s
        self._compact_bytes_min = compact_bytes_min
        self._compact_growth = compact_growth
        self._compact_retry_bytes = 0
        self._torn_bytes = 0  # of an append that failed
        self._synced_at = time.monotonic()
        self._lock = _lock(path)
        self._file = -1
        try:
            self._file = self._open()
        except BaseException:
            self.close()
            raise

    @property
    def size_bytes(self) -> int:
        """The current length of the journal."""
        return self._size

    def append(self, transactions: Sequence[Transaction]) -> None:
        """Append transactions in one write, and sync as `fsync` requires.

        Raises OSError, and then none of them is in the journal: a partial write is truncated, at
        the latest by the next attempt.
        """
        self._truncate_torn_write()
        chunk = memoryview(b"".join(_framed(encode_transaction(each)) for each in transactions))
        try:
            while chunk:
                written = os.write(self._file, chunk)
                self._torn_bytes += written
                chunk = chunk[written:]
            self._maybe_sync()
        except OSError:
            with contextlib.suppress(OSError):
                self._truncate_torn_write()
            raise
        self._size += self._torn_bytes
        self._torn_bytes = 0

    def _truncate_torn_write(self) -> None:
        """Remove the bytes of a failed write, so that the next one begins after a record."""
        if self._torn_bytes:
            os.ftruncate(self._file, self._size)
            self._torn_bytes = 0

    def maybe_compact(self, tree: Tree) -> None:
        """Compact when the journal is several times as large as its snapshot.

        If the disk has no room for a second file, the journal stays as it is, and the next attempt
        is made when it has grown again.
        """
        due = max(self._compact_bytes_min, self._compact_growth * self._snapshot_bytes)
        if self._size > max(due, self._compact_retry_bytes):
            try:
                self.compact(tree)
            except OSError:
                self._compact_retry_bytes = int(self._size * _COMPACT_RETRY_GROWTH)

    def compact(self, tree: Tree) -> None:
        """Replace the journal by a snapshot of the tree."""
        new_path = _compaction_path(self.path)
        new_path.unlink(missing_ok=True)
        file = _open_private(new_path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND)
        try:
            size = _write_snapshot(file, tree)
            os.fsync(file)
            os.rename(new_path, self.path)
        except BaseException:
            os.close(file)
            new_path.unlink(missing_ok=True)
            raise
        os.close(self._file)
        self._file = file
        self._size = self._snapshot_bytes = size
        self._compact_retry_bytes = 0
        _fsync_directory(self.path)

    def close(self) -> None:
        """Sync and release the file. Closing twice is allowed."""
        if self._file >= 0:
            if self._fsync != "never":
                os.fsync(self._file)
            os.close(self._file)
            self._file = -1
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def _open(self) -> int:
        _compaction_path(self.path).unlink(missing_ok=True)  # of an interrupted compaction
        self._snapshot_bytes = 0
        file = _open_private(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        try:
            if not stat.S_ISREG(os.fstat(file).st_mode):
                raise JournalDamaged(f"{self.path} is not a regular file", hint="remove it")
            content = _read_all(file)
            end = _replay(self.tree, content, self.path)
            self.dropped_bytes = len(content) - end
            self._size = end
            if self.dropped_bytes:
                os.ftruncate(file, end)
            if not end:
                _write_all(file, MAGIC)
                self._size = len(MAGIC)
                _fsync_directory(self.path)
        except BaseException:
            os.close(file)
            raise
        return file

    def _maybe_sync(self) -> None:
        now = time.monotonic()
        if self._fsync == "always" or (
            self._fsync == "interval" and now - self._synced_at >= self._interval_s
        ):
            os.fsync(self._file)
            self._synced_at = now


def _framed(payload: bytes) -> bytes:
    head = _LENGTH_AND_SUM.pack(len(payload), zlib.crc32(payload))
    return head + zlib.crc32(head).to_bytes(4, "big") + payload


def _replay(tree: Tree, content: bytes, path: Path) -> int:
    """Apply all records to the tree; return where the last complete record ends."""
    if MAGIC.startswith(content[: len(MAGIC)]) and len(content) < len(MAGIC):
        return 0
    if not content.startswith(MAGIC):
        raise JournalDamaged(f"{path} is not a journal", hint="name another file")
    end = len(MAGIC)
    for start, payload in _records(content, path):
        try:
            apply_record(tree, payload)
        except UnreadableRecord as error:
            raise _damaged(path, start, str(error)) from error
        end = start + _HEAD.size + len(payload)
    return end


def _records(content: bytes, path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield every complete record with its position; stop at a torn tail."""
    at, size = len(MAGIC), len(content)
    while at + _HEAD.size <= size:
        length, payload_sum, head_sum = _HEAD.unpack_from(content, at)
        if zlib.crc32(content[at : at + _LENGTH_AND_SUM.size]) != head_sum:
            if content.count(0, at) == size - at:
                return  # only zeros: the file grew and was not filled
            raise _damaged(path, at, "a record's head does not fit its checksum")
        start = at + _HEAD.size
        payload = content[start : start + length]
        if len(payload) < length:
            return
        if zlib.crc32(payload) != payload_sum:
            if start + length == size:
                return
            raise _damaged(path, at, "a record does not fit its checksum")
        yield at, payload
        at = start + length


def _damaged(path: Path, at: int, why: str) -> JournalDamaged:
    return JournalDamaged(
        f"{path}, byte {at}: {why}", hint="restore the file from a copy, or begin with a new one"
    )


def _write_snapshot(file: int, tree: Tree) -> int:
    return sum(_write_all(file, chunk) for chunk in _snapshot_chunks(tree))


def _snapshot_chunks(tree: Tree) -> Iterable[bytes]:
    yield MAGIC
    for payload in encode_snapshot(tree):
        yield _framed(payload)


def _write_all(file: int, content: bytes) -> int:
    view = memoryview(content)
    while view:
        view = view[os.write(file, view) :]
    return len(content)


def _open_private(path: Path, flags: int) -> int:
    """Open a file with mode 0600, whatever the umask; do not follow links."""
    file = os.open(path, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    os.fchmod(file, 0o600)
    return file


def _read_all(file: int) -> bytes:
    with os.fdopen(os.dup(file), "rb") as reading:
        reading.seek(0)
        return reading.read()


def _compaction_path(path: Path) -> Path:
    return path.with_name(path.name + ".new")


def _lock(path: Path) -> int:
    # a separate file: each compaction replaces the journal itself
    try:
        lock = _open_private(path.with_name(path.name + ".lock"), os.O_RDWR | os.O_CREAT)
    except OSError as error:
        raise StoreUnavailable(f"{path}: {error.strerror}", hint="name another file") from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(lock)
        raise StoreUnavailable(
            f"{path} is in use by another process", hint="stop it, or name another file"
        ) from error
    return lock


def _fsync_directory(path: Path) -> None:
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
