"""The one-shot watches of all sessions, in ZooKeeper's two tables: data watches and child watches.

| change               | data watch on the node | child watch on the node | child watch on parent |
|----------------------|------------------------|-------------------------|-----------------------|
| created              | CREATED                |                         | CHILDREN              |
| data written         | DATA                   |                         |                       |
| deleted              | DELETED                | DELETED                 | CHILDREN              |

A session with both kinds on a deleted node gets one event. Reads of data and of existence set the
same kind of watch; setting it twice has the effect of setting it once.
"""

from __future__ import annotations

from collections.abc import Iterator

from kedge.store.port import Change, WatchFired
from kedge.store.tree import Applied, Kind, parent_of

Firing = tuple[int, WatchFired]  # the session to notify, and its event


class WatchTable:
    """The watches of all sessions. Sessions are notified in the sequence of their reads."""

    def __init__(self) -> None:
        # dicts serve as sets that keep the sequence of insertion
        self._data: dict[str, dict[int, None]] = {}
        self._child: dict[str, dict[int, None]] = {}
        self._of_session: dict[int, set[tuple[str, bool]]] = {}

    def add(self, session: int, path: str, *, on_children: bool) -> None:
        """Set a watch of a session on the next change."""
        table = self._child if on_children else self._data
        table.setdefault(path, {})[session] = None
        self._of_session.setdefault(session, set()).add((path, on_children))

    def fire(self, applied: Applied) -> Iterator[Firing]:
        """Remove the watches that match this change, and return an event for each session."""
        if applied.kind is Kind.WRITTEN:
            yield from self._take(applied.path, Change.DATA, data=True)
            return
        if applied.kind is Kind.CREATED:
            yield from self._take(applied.path, Change.CREATED, data=True)
        else:
            yield from self._take(applied.path, Change.DELETED, data=True, child=True)
        yield from self._take(parent_of(applied.path), Change.CHILDREN, child=True)

    def _take(
        self, path: str, change: Change, *, data: bool = False, child: bool = False
    ) -> Iterator[Firing]:
        sessions_to_notify: dict[int, None] = {}
        for wanted, table, on_children in ((data, self._data, False), (child, self._child, True)):
            sessions = table.pop(path, None) if wanted else None
            for session in sessions or ():
                self._of_session[session].discard((path, on_children))
                sessions_to_notify[session] = None
        for session in sessions_to_notify:
            yield session, WatchFired(path, change)

    def drop(self, session: int) -> None:
        """Remove the watches of a session that ended."""
        for path, on_children in self._of_session.pop(session, ()):
            table = self._child if on_children else self._data
            sessions = table[path]
            del sessions[session]
            if not sessions:
                del table[path]
