"""Watches that outlive a broken connection.

A server forgets the watches of a connection that breaks, and kazoo lets go of them too, telling
each with a "none" event. They are kept here; once the same session is connected again, each is
left anew by a read, and what that read finds is compared with what the watch last saw. Where they
differ, the change is told as if the watch had fired: a watch says "look again", and a look too
many does no harm.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from kazoo.exceptions import NoNodeError
from kazoo.protocol import serialization as wire

from kedge.store.port import Change, WatchFired

GONE = 0  # what a watch on a missing node saw

_CHANGES = {
    "CREATED": Change.CREATED,
    "DELETED": Change.DELETED,
    "CHANGED": Change.DATA,
    "CHILD": Change.CHILDREN,
}


class Watcher:
    """What kazoo calls when a watch fires. Equal ones are one watch, so kazoo keeps one of them.

    `seen` is the transaction that last changed what was read.
    """

    __slots__ = ("_tell", "on_children", "path", "seen")

    def __init__(self, path: str, on_children: bool, tell: Callable[[Watcher, Any], None]) -> None:
        self.path = path
        self.on_children = on_children
        self.seen = GONE
        self._tell = tell

    def __call__(self, event: Any) -> None:
        self._tell(self, event)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Watcher) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[str, bool]:
        return (self.path, self.on_children)


def change_of(event: Any) -> Change | None:
    """What a kazoo event means; None for one that only says the connection broke."""
    return _CHANGES.get(event.type)


class WatchedExists(wire.Exists):
    """An exists whose watcher remembers what was seen, in the order of the wire."""

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


class Rewatch:
    """One watch being left anew; takes the place of an async result."""

    def __init__(
        self,
        watcher: Watcher,
        tell: Callable[[WatchFired], None],
        put_back: Callable[[Watcher], None],
    ) -> None:
        self._watcher = watcher
        self._seen = watcher.seen
        self._tell = tell
        self._put_back = put_back
        watcher.seen = GONE  # until the read says otherwise

    def request(self, server_path: str) -> Any:
        """The read that leaves the watch."""
        form = WatchedChildren if self._watcher.on_children else WatchedExists
        return form(server_path, self._watcher)

    def set(self, _reply: Any) -> None:
        now, path = self._watcher.seen, self._watcher.path
        if now == self._seen:
            return
        if self._watcher.on_children:
            self._tell(WatchFired(path, Change.CHILDREN))
        elif now == GONE:
            self._tell(WatchFired(path, Change.DELETED))
        else:
            created = self._seen == GONE
            self._tell(WatchFired(path, Change.CREATED if created else Change.DATA))

    def set_exception(self, error: BaseException) -> None:
        if isinstance(error, NoNodeError):
            self._tell(WatchFired(self._watcher.path, Change.DELETED))
        else:
            # the connection broke again: the next one will try
            self._watcher.seen = self._seen
            self._put_back(self._watcher)
