"""Combines many reads into one request: ZooKeeper's multiRead, which servers support from 3.6 on.

kazoo spends most of a read on its own bookkeeping, so two hundred reads in one request cost little
more than one. Only plain reads can be combined: multiRead can neither set a watch nor test for
existence. Each read has its own reply; an error belongs to that read alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, cast

from kazoo import exceptions as kazoo
from kazoo.protocol import serialization as wire
from kazoo.protocol.states import ZnodeStat

READS_PER_REQUEST = 200
_FIRST_RELEASE = (3, 6)
_VERSION = re.compile(r"[Vv]ersion: (\d+)\.(\d+)")
_END_HEADER = wire.multiheader_struct.pack(-1, True, -1)


def supports_multi_read(status: str) -> bool:
    """Return whether a server's answer to `srvr` names a release that has multiRead."""
    found = _VERSION.search(status)
    return found is not None and (int(found[1]), int(found[2])) >= _FIRST_RELEASE


class MultiRead:
    """Reads of data and of children, as one kazoo request."""

    type = 22
    __slots__ = ("reads",)

    def __init__(self, reads: list[Any]) -> None:
        self.reads = reads

    def serialize(self) -> bytes:
        parts: list[bytes] = []
        for read in self.reads:
            kind = wire.GetData.type if isinstance(read, wire.GetData) else wire.GetChildren.type
            parts.append(wire.multiheader_struct.pack(kind, False, -1))
            parts.append(cast("bytes", wire.write_string(read.path)))
            parts.append(b"\0")  # no watch
        parts.append(_END_HEADER)
        return b"".join(parts)

    def deserialize(self, content: bytes, offset: int) -> list[Any]:
        """Return the reply of each read: (data, stat), (names, None), or an error."""
        replies: list[Any] = []
        while True:
            kind, done, _ = wire.multiheader_struct.unpack_from(content, offset)
            offset += wire.multiheader_struct.size
            if done:
                return replies
            reply, offset = _read_reply(kind, content, offset)
            replies.append(reply)


def _read_reply(kind: int, content: bytes, offset: int) -> tuple[Any, int]:
    if kind == wire.GetData.type:
        data, offset = wire.read_buffer(content, offset)
        stat = ZnodeStat._make(wire.stat_struct.unpack_from(content, offset))
        return (data, stat), offset + wire.stat_struct.size
    (number,) = wire.int_struct.unpack_from(content, offset)
    offset += wire.int_struct.size
    if kind == -1:
        return kazoo.EXCEPTIONS[number](), offset
    names: list[Any] = []
    for _ in range(number):
        name, offset = wire.read_string(content, offset)
        names.append(name)
    return (names, None), offset


def group_reads(requests: Iterable[Any]) -> Iterator[Any]:
    """Yield the same requests, with adjacent plain reads combined."""
    group: list[Any] = []
    for request in requests:
        plain = isinstance(request, wire.GetData | wire.GetChildren2) and request.watcher is None
        if group and (not plain or len(group) == READS_PER_REQUEST):
            yield _combined(group)
            group = []
        if plain:
            group.append(request)
        else:
            yield request
    if group:
        yield _combined(group)


def _combined(reads: list[Any]) -> Any:
    return reads[0] if len(reads) == 1 else MultiRead(reads)


def split_replies(request: Any, reply: Any) -> list[Any]:
    """Return the replies to the reads of a request, one each."""
    if not isinstance(request, MultiRead):
        return [reply]
    if isinstance(reply, list):
        return reply  # pyright: ignore[reportUnknownVariableType]
    return [reply] * len(request.reads)
