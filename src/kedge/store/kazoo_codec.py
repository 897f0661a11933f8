"""Translates the port's requests to kazoo's, and kazoo's replies and errors to the port's answers.

All knowledge of ZooKeeper's and kazoo's forms is in this module. Two details:

- The reply to a failed transaction is a list of errors, one for each operation: "rolled back" for
  those before the failed one, "runtime inconsistency" for those after it. Only the error of the
  failed operation has a meaning.
- kazoo does not support ZooKeeper's create2 (which returns the new node's metadata) within a
  transaction, though servers from 3.5 on do; `Transaction` here decodes its reply.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from kazoo import exceptions as kazoo
from kazoo.protocol import serialization as wire
from kazoo.protocol.states import ZnodeStat

from kedge.errors import (
    Conflict,
    InvalidRequest,
    KedgeError,
    NodeEphemeral,
    NodeExists,
    NodeMissing,
    NodeNotEmpty,
    SessionExpired,
    StaleVersion,
    StoreUnavailable,
)
from kedge.store.port import (
    Answer,
    Check,
    Children,
    Committed,
    Create,
    Created,
    Delete,
    Done,
    Exists,
    GetChildren,
    GetData,
    Multi,
    Node,
    Presence,
    Refused,
    Request,
    SetData,
    Stat,
    Write,
    Written,
)

_EPHEMERAL, _SEQUENTIAL = 1, 2
_ROLLED_BACK = (kazoo.RolledBackError, kazoo.RuntimeInconsistency)

_CONFLICTS: dict[type[BaseException], tuple[type[Conflict], str]] = {
    kazoo.NoNodeError: (NodeMissing, "no such node"),
    kazoo.NodeExistsError: (NodeExists, "the node exists"),
    kazoo.BadVersionError: (StaleVersion, "the node has another version than expected"),
    kazoo.NotEmptyError: (NodeNotEmpty, "the node has children"),
    kazoo.NoChildrenForEphemeralsError: (
        NodeEphemeral,
        "the node above is ephemeral and can have no children",
    ),
}


class Transaction(wire.Transaction):
    """A multi whose reply may contain the metadata of created nodes."""

    __slots__ = ()

    @classmethod
    def deserialize(cls, bytes: bytes, offset: int) -> list[Any]:
        """Return one reply for each operation: (path, stat), a stat, True, or an error."""
        replies: list[Any] = []
        while True:
            kind, done, _ = wire.multiheader_struct.unpack_from(bytes, offset)
            offset += wire.multiheader_struct.size
            if done:
                return replies
            reply, offset = _read_reply(kind, bytes, offset)
            replies.append(reply)


def _read_reply(kind: int, content: bytes, offset: int) -> tuple[Any, int]:
    if kind == wire.Create2.type:
        path, offset = wire.read_string(content, offset)
        return (path, _read_stat(content, offset)), offset + wire.stat_struct.size
    if kind == wire.SetData.type:
        return _read_stat(content, offset), offset + wire.stat_struct.size
    if kind == -1:
        (code,) = wire.int_struct.unpack_from(content, offset)
        return kazoo.EXCEPTIONS[code](), offset + wire.int_struct.size
    return True, offset


def _read_stat(content: bytes, offset: int) -> ZnodeStat:
    return ZnodeStat._make(wire.stat_struct.unpack_from(content, offset))


class KazooCodec:
    """Translates between the port's values and kazoo's, below a root path and with an ACL."""

    def __init__(self, root: str, acl: Sequence[Any]) -> None:
        self._root = root
        self._acl = tuple(acl)
        self._writes: dict[type, Callable[[Any], Any]] = {
            Create: self._create,
            SetData: lambda w: wire.SetData(self.server_path(w.path), w.data, w.version),
            Delete: lambda w: wire.Delete(self.server_path(w.path), w.version),
            Check: lambda w: wire.CheckVersion(self.server_path(w.path), w.version),
        }

    def server_path(self, path: str) -> str:
        """Return the server's path for a path of the port."""
        if not self._root:
            return path
        return self._root if path == "/" else self._root + path

    def client_path(self, path: str) -> str:
        """Return the port's path for a path of the server."""
        return path[len(self._root) :] or "/"

    def write(self, request: Write | Multi) -> Any:
        """Return a write as a kazoo request; all but a single set or delete are transactions."""
        if isinstance(request, Multi):
            return Transaction([self._writes[type(each)](each) for each in request.writes])
        encoded = self._writes[type(request)](request)
        # ZooKeeper has no check outside a transaction
        return Transaction([encoded]) if isinstance(request, Check) else encoded

    def _create(self, write: Create) -> Any:
        flags = _EPHEMERAL * write.ephemeral + _SEQUENTIAL * write.sequential
        return wire.Create2(self.server_path(write.path), write.data, self._acl, flags)

    # ---- replies ----

    def answer(self, request: Request, reply: Any) -> Answer:
        """Translate a reply; raise an error that leaves the outcome unknown."""
        if isinstance(reply, BaseException):
            assert not isinstance(request, Multi) or not isinstance(reply, Conflict)
            path = "a transaction" if isinstance(request, Multi) else request.path
            return _conflict_of(reply, path)
        match request:
            case GetData():
                data, stat = reply
                return Node(data, _stat(stat))
            case Exists():
                return Presence(None if reply is None else _stat(reply))
            case GetChildren():
                return Children(tuple(sorted(reply[0])))
            case Multi(writes):
                return self._multi_answer(writes, reply)
            case Check():
                refused = self._multi_answer((request,), reply)
                return refused.error if isinstance(refused, Refused) else Done()
            case _:
                return self._write_answer(reply)

    def _multi_answer(self, writes: Sequence[Write], replies: list[Any]) -> Committed | Refused:
        for index, reply in enumerate(replies):
            if isinstance(reply, Exception) and not isinstance(reply, _ROLLED_BACK):
                return Refused(index, _conflict_of(reply, writes[index].path))
        if len(replies) != len(writes) or any(isinstance(each, Exception) for each in replies):
            raise StoreUnavailable("the store rejected a transaction without a reason")
        return Committed(tuple(map(self._write_answer, replies)))

    def _write_answer(self, reply: Any) -> Created | Written | Done:
        if reply is True:
            return Done()
        if isinstance(reply, ZnodeStat):
            return Written(_stat(reply))
        path, stat = reply
        return Created(self.client_path(path), _stat(stat))


def _stat(stat: ZnodeStat) -> Stat:
    found = cast("Any", stat)
    return Stat(
        found.version, found.czxid, found.mzxid, found.numChildren, found.ephemeralOwner != 0
    )


def _conflict_of(error: BaseException, path: str) -> Conflict:
    """Return the conflict that a kazoo error stands for, or raise it."""
    conflict = _CONFLICTS.get(type(error))
    if conflict is None:
        raise unknown_outcome(error, path) from error
    leaf, why = conflict
    return leaf(f"{path}: {why}")


def unknown_outcome(error: BaseException, path: str) -> KedgeError:
    """Return the error to raise for a kazoo error that is not about a node's state."""
    match error:
        case kazoo.ConnectionClosedError():  # kazoo derives it from SessionExpiredError
            return StoreUnavailable("this session with the store is closed")
        case kazoo.SessionExpiredError():
            return SessionExpired("the session has expired", hint="begin a new one")
        case kazoo.ConnectionLoss() | kazoo.SessionMovedError() | kazoo.OperationTimeoutError():
            return StoreUnavailable("the connection to the store broke; the outcome is unknown")
        case kazoo.NoAuthError() | kazoo.AuthFailedError() | kazoo.InvalidACLError():
            return StoreUnavailable(
                f"{path}: not authorized by ZooKeeper", hint="check the user given for ZooKeeper"
            )
        case kazoo.BadArgumentsError() | kazoo.MarshallingError():
            return InvalidRequest(f"{path}: ZooKeeper rejected the request as invalid")
        case _:
            return StoreUnavailable(f"{path}: the store answered {type(error).__name__}")
