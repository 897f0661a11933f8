"""The border to kazoo: our requests in its form, its replies and errors in ours.

Everything that is ZooKeeper's or kazoo's own ends here. Two things are worth knowing:

- A refused transaction comes back as a list of errors, one for each operation: "rolled back" for
  those before the culprit, "runtime inconsistency" for those after it. Only the culprit speaks.
- kazoo does not know ZooKeeper's create2 (which tells the new node's figures) within a
  transaction, though servers from 3.5 on do; `Transaction` here reads its reply.
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
_BYSTANDERS = (kazoo.RolledBackError, kazoo.RuntimeInconsistency)

_REFUSALS: dict[type[BaseException], tuple[type[Conflict], str]] = {
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
    """A multi whose reply may hold the figures of created nodes."""

    __slots__ = ()

    @classmethod
    def deserialize(cls, bytes: bytes, offset: int) -> list[Any]:
        """One reply for each operation: (path, stat), a stat, True, or an error."""
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


class Border:
    """Translates between the port's values and kazoo's, below a root path and with an ACL."""

    def __init__(self, root: str, acl: Sequence[Any]) -> None:
        self._root = root
        self._acl = tuple(acl)
        self._writes: dict[type, Callable[[Any], Any]] = {
            Create: self._create,
            SetData: lambda w: wire.SetData(self.inside(w.path), w.data, w.version),
            Delete: lambda w: wire.Delete(self.inside(w.path), w.version),
            Check: lambda w: wire.CheckVersion(self.inside(w.path), w.version),
        }

    def inside(self, path: str) -> str:
        """A path of ours as the server knows it."""
        if not self._root:
            return path
        return self._root if path == "/" else self._root + path

    def outside(self, path: str) -> str:
        """A path of the server's as we know it."""
        return path[len(self._root) :] or "/"

    def write(self, request: Write | Multi) -> Any:
        """A write in kazoo's form; all but a lone set and delete travel as transactions."""
        if isinstance(request, Multi):
            return Transaction([self._writes[type(each)](each) for each in request.writes])
        made = self._writes[type(request)](request)
        # ZooKeeper has no lone check
        return Transaction([made]) if isinstance(request, Check) else made

    def _create(self, write: Create) -> Any:
        flags = _EPHEMERAL * write.ephemeral + _SEQUENTIAL * write.sequential
        return wire.Create2(self.inside(write.path), write.data, self._acl, flags)

    # ---- the way back ----

    def answer(self, request: Request, reply: Any) -> Answer:
        """A reply as an answer of ours; raises for errors that leave the outcome unknown."""
        if isinstance(reply, BaseException):
            assert not isinstance(request, Multi) or not isinstance(reply, Conflict)
            path = "a transaction" if isinstance(request, Multi) else request.path
            return _refusal(reply, path)
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
            if isinstance(reply, Exception) and not isinstance(reply, _BYSTANDERS):
                return Refused(index, _refusal(reply, writes[index].path))
        if len(replies) != len(writes) or any(isinstance(each, Exception) for each in replies):
            raise StoreUnavailable("the store refused a transaction and did not say why")
        return Committed(tuple(map(self._write_answer, replies)))

    def _write_answer(self, reply: Any) -> Created | Written | Done:
        if reply is True:
            return Done()
        if isinstance(reply, ZnodeStat):
            return Written(_stat(reply))
        path, stat = reply
        return Created(self.outside(path), _stat(stat))


def _stat(stat: ZnodeStat) -> Stat:
    found = cast("Any", stat)
    return Stat(
        found.version, found.czxid, found.mzxid, found.numChildren, found.ephemeralOwner != 0
    )


def _refusal(error: BaseException, path: str) -> Conflict:
    """The answer that an error is, unless it is one that must be raised."""
    found = _REFUSALS.get(type(error))
    if found is None:
        raise unknown_outcome(error, path) from error
    leaf, why = found
    return leaf(f"{path}: {why}")


def unknown_outcome(error: BaseException, path: str) -> KedgeError:
    """The error to raise for one that is not about the state of a node."""
    match error:
        case kazoo.ConnectionClosedError():  # by kazoo's reckoning an expiry, but it is not
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
