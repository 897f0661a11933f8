"""Many reads in one request: ZooKeeper's multiRead, which servers have from 3.6 on.

kazoo spends most of a read on its own bookkeeping, so two hundred reads that travel together cost
little more than one. Only plain reads can: a watch cannot be left in this way, and existence
cannot be asked. Each read is answered for itself; a refusal is that read's alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, cast

from kazoo import exceptions as kazoo
from kazoo.protocol import serialization as wire
from kazoo.protocol.states import ZnodeStat

READS_TOGETHER = 200
_SINCE = (3, 6)
_VERSION = re.compile(r"[Vv]ersion: (\d+)\.(\d+)")
_END = wire.multiheader_struct.pack(-1, True, -1)


def knows_bulk_reads(status: str) -> bool:
    """Whether a server's answer to `srvr` tells a release that has multiRead."""
    found = _VERSION.search(status)
    return found is not None and (int(found[1]), int(found[2])) >= _SINCE


class ReadMany:
    """Reads of data and of children, as one of kazoo's requests."""

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
        parts.append(_END)
        return b"".join(parts)

    def deserialize(self, content: bytes, offset: int) -> list[Any]:
        """For each read what its own reply would be: (data, stat), (names, None), or an error."""
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


def in_bulk(forms: Iterable[Any]) -> Iterator[Any]:
    """The same requests, with neighbouring plain reads taken together."""
    together: list[Any] = []
    for form in forms:
        plain = isinstance(form, wire.GetData | wire.GetChildren2) and form.watcher is None
        if together and (not plain or len(together) == READS_TOGETHER):
            yield _joined(together)
            together = []
        if plain:
            together.append(form)
        else:
            yield form
    if together:
        yield _joined(together)


def _joined(reads: list[Any]) -> Any:
    return reads[0] if len(reads) == 1 else ReadMany(reads)


def spread(form: Any, reply: Any) -> list[Any]:
    """The replies to a form's requests, one each."""
    if not isinstance(form, ReadMany):
        return [reply]
    if isinstance(reply, list):
        return reply  # pyright: ignore[reportUnknownVariableType]
    return [reply] * len(form.reads)
