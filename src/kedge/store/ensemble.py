"""An ensemble of ZooKeeper servers in memory: one tree, its sessions and its watches.

Requests are executed in sequence under one lock. Changes are written to the journal, if there is
one, before any session can see them; then events are delivered, in commit sequence.
"""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from kedge.errors import StoreUnavailable
from kedge.store.journal import Journal
from kedge.store.port import (
    Answer,
    Check,
    Children,
    Committed,
    Create,
    Delete,
    Exists,
    GetChildren,
    GetData,
    Multi,
    Presence,
    Refused,
    Request,
    SetData,
    StoreEvent,
    Write,
)
from kedge.store.request_checks import PACKET_BYTES_MAX, check_requests
from kedge.store.tree import Transaction, Tree, node_missing
from kedge.store.watch_table import WatchTable


class AttachedStore(Protocol):
    """A store that has a session with the ensemble."""

    def receive(self, delivery: Delivery) -> None: ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Delivery:
    """An event on its way to a store; call it to deliver the event."""

    store: AttachedStore
    session: int
    event: StoreEvent

    def __call__(self) -> None:
        self.store.receive(self)


Deliver = Callable[[Delivery], None]


def deliver_immediately(delivery: Delivery) -> None:
    """Deliver an event without delay."""
    delivery()


class MemoryEnsemble:
    """The shared tree with its sessions and watches; thread-safe."""

    def __init__(
        self,
        *,
        journal: Journal | None = None,
        deliver: Deliver = deliver_immediately,
        bytes_max: int = PACKET_BYTES_MAX,
    ) -> None:
        self.tree = Tree() if journal is None else journal.tree
        self.bytes_max = bytes_max
        self._journal = journal
        self._deliver = deliver
        self._watches = WatchTable()
        self._stores: dict[int, AttachedStore] = {}
        self._sessions_begun = 0
        self._unwritten: list[Transaction] = []
        self._undelivered: deque[Delivery] = deque()
        self._journal_failure = ""
        # re-entrant: a listener or a delivery may call the ensemble
        self._lock = threading.RLock()
        self._handlers: dict[type, Callable[[Any, int], Answer]] = {
            **dict.fromkeys((Create, SetData, Delete, Check), self._write),
            Multi: self._multi,
            GetData: self._get_data,
            GetChildren: self._get_children,
            Exists: self._exists,
        }
        self._end_recovered_sessions()

    def close(self) -> None:
        """End every session and close the journal."""
        for store in list(self._stores.values()):
            store.close()
        if self._journal is not None:
            self._journal.close()

    def journal_failure(self) -> str:
        """Retry a failed journal write and return why it still fails; empty if it does not."""
        if self._journal_failure and self._lock.acquire(blocking=False):
            try:
                self._retry_journal()
            except StoreUnavailable:
                pass
            finally:
                self._lock.release()
        return self._journal_failure

    # ---- for the sessions ----

    def begin_session(self, store: AttachedStore) -> int:
        """Return the number of a new session."""
        with self._lock:
            self._sessions_begun += 1
            self._stores[self._sessions_begun] = store
            return self._sessions_begun

    def end_session(self, session: int) -> None:
        """Remove a session's watches and delete its ephemeral nodes; other watches fire."""
        with self._lock:
            if self._stores.pop(session, None) is None:
                return
            self._watches.drop(session)
            if session in self.tree.ephemerals:
                self._commit(self.tree.end_session(session))
            # a failed journal write is retried before the next request is executed
            with contextlib.suppress(StoreUnavailable):
                self._flush()

    def batch(self, session: int, requests: Sequence[Request]) -> list[Answer]:
        """Execute requests of a session, write them to the journal, then deliver events."""
        with self._lock:
            self._retry_journal()
            check_requests(requests, known=self.tree.nodes, bytes_max=self.bytes_max)
            handlers = self._handlers
            answers = [handlers[type(request)](request, session) for request in requests]
            self._flush()
            return answers

    def notify(self, store: AttachedStore, session: int, event: StoreEvent) -> None:
        """Queue an event behind the undelivered ones, and deliver them."""
        with self._lock:
            self._undelivered.append(Delivery(store, session, event))
            self._deliver_due()

    # ---- one request each ----

    def _write(self, write: Write, session: int) -> Answer:
        result = self.tree.transact((write,), session)
        if isinstance(result, Refused):
            return result.error
        answers, transaction = result
        self._commit(transaction)
        return answers[0]

    def _multi(self, multi: Multi, session: int) -> Answer:
        result = self.tree.transact(multi.writes, session)
        if isinstance(result, Refused):
            return result
        answers, transaction = result
        self._commit(transaction)
        return Committed(tuple(answers))

    def _get_data(self, request: GetData, session: int) -> Answer:
        node = self.tree.nodes.get(request.path)
        if node is None:
            return node_missing(request.path)
        if request.watch:
            self._watches.add(session, request.path, on_children=False)
        return node.cached_read or node.read()

    def _get_children(self, request: GetChildren, session: int) -> Answer:
        node = self.tree.nodes.get(request.path)
        if node is None:
            return node_missing(request.path)
        if request.watch:
            self._watches.add(session, request.path, on_children=True)
        return Children(tuple(sorted(node.children or ())))

    def _exists(self, request: Exists, session: int) -> Answer:
        node = self.tree.nodes.get(request.path)
        if request.watch:
            self._watches.add(session, request.path, on_children=False)
        return Presence(None if node is None else node.read().stat)

    # ---- commit ----

    def _commit(self, transaction: Transaction) -> None:
        if not transaction.applied:
            return
        if self._journal is not None:
            self._unwritten.append(transaction)
        for applied in transaction.applied:
            for session, fired in self._watches.fire(applied):
                self._undelivered.append(Delivery(self._stores[session], session, fired))

    def _flush(self) -> None:
        """Write committed transactions to the journal, and only then deliver their events."""
        if self._journal is not None and self._unwritten:
            try:
                self._journal.append(self._unwritten)
            except OSError as error:
                self._journal_failure = f"the journal cannot be written: {error.strerror or error}"
                raise self._unavailable() from error
            self._journal_failure = ""
            self._unwritten.clear()
            self._journal.maybe_compact(self.tree)
        self._deliver_due()

    def _retry_journal(self) -> None:
        """Write what an earlier, failed journal write has left out.

        The tree is ahead of the journal then, and no session may see changes that are not in the
        journal.
        """
        if self._journal_failure:
            self._flush()

    def _unavailable(self) -> StoreUnavailable:
        return StoreUnavailable(
            self._journal_failure, hint="free space on its disk; writes then resume"
        )

    def _deliver_due(self) -> None:
        while self._undelivered:
            self._deliver(self._undelivered.popleft())

    def _end_recovered_sessions(self) -> None:
        """Delete ephemeral nodes of sessions from before a restart, in ordinary transactions."""
        for owner in sorted(self.tree.ephemerals):
            self._sessions_begun = max(self._sessions_begun, owner)
            self._commit(self.tree.end_session(owner))
        self._flush()
