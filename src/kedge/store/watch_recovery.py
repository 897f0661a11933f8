"""Restores watches after a broken connection.

A server drops the watches of a connection that breaks, and kazoo drops them too, with a "none"
event for each. `ZooKeeperStore` keeps them; once the same session is connected again, each is set
by a new read, and the result is compared with what the watch last saw. Where they differ, the watch
fires: a watch means "read again", and one read too many does no harm.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from kazoo.exceptions import NoNodeError
from kazoo.protocol import serialization as wire

from kedge.store.port import Change, WatchFired

ABSENT = 0  # `seen` of a watch on a missing node

_CHANGES = {
    "CREATED": Change.CREATED,
    "DELETED": Change.DELETED,
    "CHANGED": Change.DATA,
    "CHILD": Change.CHILDREN,
}


class Watcher:
    """The callback that kazoo calls when a watch fires; kazoo keeps one of several equal ones.

    `seen` is the transaction that last changed what was read.
    """

    __slots__ = ("_notify", "on_children", "path", "seen")

    def __init__(
        self, path: str, on_children: bool, notify: Callable[[Watcher, Any], None]
    ) -> None:
        self.path = path
        self.on_children = on_children
        self.seen = ABSENT
        self._notify = notify

    def __call__(self, event: Any) -> None:
        self._notify(self, event)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Watcher) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[str, bool]:
        return (self.path, self.on_children)


def change_of(event: Any) -> Change | None:
    """Return the change that a kazoo event reports; None for a broken connection."""
    return _CHANGES.get(event.type)


class WatchedExists(wire.Exists):
    """An exists request that stores in its watcher what it has seen, in wire sequence."""

    __slots__ = ()

    def deserialize(self, bytes: bytes, offset: int) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        stat = cast("Any", wire.Exists.deserialize(bytes, offset))
        if self.watcher is not None:
            self.watcher.seen = stat.mzxid
        return stat


class WatchedData(wire.GetData):
    """The same for a read of data."""

    __slots__ = ()

    def deserialize(self, bytes: bytes, offset: int) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        reply = cast("Any", wire.GetData.deserialize(bytes, offset))
        if self.watcher is not None:
            self.watcher.seen = reply[1].mzxid
        return reply


class WatchedChildren(wire.GetChildren2):
    """The same for a list of children."""

    __slots__ = ()

    def deserialize(self, bytes: bytes, offset: int) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        reply = cast("Any", wire.GetChildren2.deserialize(bytes, offset))
        if self.watcher is not None:
            self.watcher.seen = reply[1].pzxid
        return reply


class WatchRecovery:
    """One watch being set again; kazoo uses it as the async result of the read."""

    def __init__(
        self,
        watcher: Watcher,
        notify: Callable[[WatchFired], None],
        retry_later: Callable[[Watcher], None],
    ) -> None:
        self._watcher = watcher
        self._seen_before = watcher.seen
        self._notify = notify
        self._retry_later = retry_later
        watcher.seen = ABSENT  # until the read is answered

    def request(self, server_path: str) -> Any:
        """Return the read that sets the watch."""
        request_type = WatchedChildren if self._watcher.on_children else WatchedExists
        return request_type(server_path, self._watcher)

    def set(self, _reply: Any) -> None:
        now, path = self._watcher.seen, self._watcher.path
        if now == self._seen_before:
            return
        if self._watcher.on_children:
            self._notify(WatchFired(path, Change.CHILDREN))
        elif now == ABSENT:
            self._notify(WatchFired(path, Change.DELETED))
        else:
            created = self._seen_before == ABSENT
            self._notify(WatchFired(path, Change.CREATED if created else Change.DATA))

    def set_exception(self, error: BaseException) -> None:
        if isinstance(error, NoNodeError):
            self._notify(WatchFired(self._watcher.path, Change.DELETED))
        else:
            # the connection broke again: retry after the next reconnect
            self._watcher.seen = self._seen_before
            self._retry_later(self._watcher)
