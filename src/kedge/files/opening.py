"""Opens files from outside: regular files only, and never more bytes than a limit.

A named pipe would block until a writer comes, and a device such as /dev/zero never ends. Both are
refused before a byte is read. Gzip data is unpacked up to the same limit.
"""

from __future__ import annotations

import gzip
import os
import stat
import zlib
from collections.abc import Callable
from io import BufferedReader, BytesIO
from pathlib import Path

from kedge.errors import InvalidRequest, MalformedInput

GZIP_MAGIC = b"\x1f\x8b"
LIMIT_BYTES = 2 * 1024**3  # a million partitions are about 200 MB of JSON
GZIP_RATIO_MAX = 100  # snapshots pack to a tenth or a twentieth of their size
UNPACKED_BYTES_FREE = 32 << 20
CHUNK_BYTES = 1 << 20


def open_regular(path: Path) -> BufferedReader:
    """A file to read; refused if it is not a regular file. OSError as the system raises it."""
    # Without O_NONBLOCK the open itself waits for the writer of a named pipe.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        _check_regular(path, os.fstat(descriptor).st_mode)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def _check_regular(path: Path, mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError
    if not stat.S_ISREG(mode):
        raise InvalidRequest(
            f"{path}: this is a pipe, device or socket, not a regular file",
            hint="write the content to a file and name that",
        )


def read_at_most(path: Path, limit: int) -> bytes:
    """All bytes of a regular file; refused if there are more than the limit."""
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > limit:
            raise _too_long(limit)
        return _all_of(file.read, limit, at_once=size + 1)


def unpacked(data: bytes, limit: int) -> bytes:
    """Bytes with gzip undone where they are gzip.

    No more is unpacked than the limit, nor than text of that packed size can have.
    """
    if not data.startswith(GZIP_MAGIC):
        return data
    limit = min(limit, max(UNPACKED_BYTES_FREE, GZIP_RATIO_MAX * len(data)))
    try:
        return _all_of(gzip.GzipFile(fileobj=BytesIO(data)).read, limit, at_once=CHUNK_BYTES)
    except EOFError as error:
        raise MalformedInput("the gzip data ends too early; it may be half written") from error
    except (gzip.BadGzipFile, zlib.error) as error:
        raise MalformedInput(f"the gzip data is damaged: {error}") from error


def _all_of(read: Callable[[int], bytes], limit: int, *, at_once: int) -> bytes:
    """Read to the end in steps: a single large read would allocate its whole size first."""
    parts = [read(at_once)]
    size = len(parts[0])
    while parts[-1] and size <= limit:
        parts.append(read(CHUNK_BYTES))
        size += len(parts[-1])
    if size > limit:
        raise _too_long(limit)
    return parts[0] if len(parts) == 2 else b"".join(parts)


def _too_long(limit: int) -> MalformedInput:
    return MalformedInput(f"more than {limit} bytes", hint="is this the right file?")
