"""Checks on requests that every adapter makes before it executes a batch.

The rules are ZooKeeper's: a path is absolute, has no empty, `.` or `..` part and no control
character; a request with all its data must fit in one packet (`jute.maxbuffer`). A server closes
the connection when it gets a larger packet, so the client must reject it, with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence

from kedge.errors import InvalidRequest
from kedge.store.port import (
    Create,
    Delete,
    Exists,
    GetChildren,
    GetData,
    Multi,
    Request,
    SetData,
    Write,
)

PACKET_BYTES_MAX = 1_048_575
# bytes of a write in a packet besides its path and data: headers, ACL, flags
_WRITE_OVERHEAD_BYTES = 64

# tuples are faster than unions in isinstance: a failover checks 200,000 requests
_READS = (GetData, GetChildren, Exists)
_WITH_DATA = (Create, SetData)

_PART = r"/(?!\.{1,2}(?:/|$))[^/\x00-\x1f\x7f-\x9f\ud800-\uf8ff\ufff0-\uffff]+"
_PATH = re.compile(rf"/|(?:{_PART})+")


def check_requests(
    requests: Iterable[Request], *, known: Container[str] = (), bytes_max: int = PACKET_BYTES_MAX
) -> None:
    """Raise InvalidRequest for the first request that no store can execute.

    `known` are paths of existing nodes, whose syntax is not checked again.
    """
    for request in requests:
        if isinstance(request, _READS):
            if request.path not in known:
                _check_path(request.path)
        else:
            writes = request.writes if isinstance(request, Multi) else (request,)
            _check_writes(writes, known, bytes_max)


def _check_writes(writes: Sequence[Write], known: Container[str], bytes_max: int) -> None:
    size = 0
    for write in writes:
        size += _write_bytes(write)
        if write.path not in known:
            # the name of a sequential node is its digits alone where the path ends with a slash
            numbered = isinstance(write, Create) and write.sequential
            _check_path(write.path + "0" if numbered else write.path)
        if write.path == "/" and isinstance(write, Delete):
            raise InvalidRequest("the root cannot be deleted")
    if size > bytes_max:
        raise InvalidRequest(
            f"{writes[0].path}: a write of {size:,} bytes, {bytes_max:,} fit in one request",
            hint="split it, or raise jute.maxbuffer on the servers and the limit here",
        )


def _check_path(path: str) -> None:
    if not _PATH.fullmatch(path):
        raise InvalidRequest(
            f"{path!r} is not a path", hint="paths are absolute, as /brokers/topics"
        )


def _write_bytes(write: Write) -> int:
    data = write.data if isinstance(write, _WITH_DATA) else None
    return _WRITE_OVERHEAD_BYTES + len(write.path) + len(data or b"")
