"""Who waits for which change: ZooKeeper's two tables of one-shot watches.

| change               | data watch on the node | child watch on the node | child watch above |
|----------------------|------------------------|-------------------------|-------------------|
| created              | CREATED                |                         | CHILDREN          |
| data written         | DATA                   |                         |                   |
| deleted              | DELETED                | DELETED                 | CHILDREN          |

A session that left both kinds on a deleted node hears of it once. Reads of data and of existence
leave the same kind of watch; leaving it twice is leaving it once.
"""

from __future__ import annotations

from collections.abc import Iterator

from kedge.store.port import Change, WatchFired
from kedge.store.tree import Applied, Kind, parent_of

Told = tuple[int, WatchFired]  # the session to be told, and what


class WatchTable:
    """The watches of all sessions. Sessions are told in the order in which they asked."""

    def __init__(self) -> None:
        # a dict without values is a set that remembers its order
        self._data: dict[str, dict[int, None]] = {}
        self._child: dict[str, dict[int, None]] = {}
        self._of_session: dict[int, set[tuple[str, bool]]] = {}

    def leave(self, session: int, path: str, *, on_children: bool) -> None:
        """Remember that a session wants to hear of the next change."""
        table = self._child if on_children else self._data
        table.setdefault(path, {})[session] = None
        self._of_session.setdefault(session, set()).add((path, on_children))

    def fire(self, applied: Applied) -> Iterator[Told]:
        """Spend the watches that see this change."""
        if applied.kind is Kind.WRITTEN:
            yield from self._spend(applied.path, Change.DATA, data=True)
            return
        if applied.kind is Kind.CREATED:
            yield from self._spend(applied.path, Change.CREATED, data=True)
        else:
            yield from self._spend(applied.path, Change.DELETED, data=True, child=True)
        yield from self._spend(parent_of(applied.path), Change.CHILDREN, child=True)

    def _spend(
        self, path: str, change: Change, *, data: bool = False, child: bool = False
    ) -> Iterator[Told]:
        told: dict[int, None] = {}
        for wanted, table, on_children in ((data, self._data, False), (child, self._child, True)):
            sessions = table.pop(path, None) if wanted else None
            for session in sessions or ():
                self._of_session[session].discard((path, on_children))
                told[session] = None
        for session in told:
            yield session, WatchFired(path, change)

    def drop(self, session: int) -> None:
        """Forget a session that ended."""
        for path, on_children in self._of_session.pop(session, ()):
            table = self._child if on_children else self._data
            sessions = table[path]
            del sessions[session]
            if not sessions:
                del table[path]
