"""What an ensemble of ZooKeeper servers is, in memory: one tree, its sessions and its watches.

Requests are carried out in order under one lock. What they changed is written to the journal, if
there is one, before anybody hears of it; then the notices go out, in the order of the commits.
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
    Notice,
    Presence,
    Refused,
    Request,
    SetData,
    Write,
)
from kedge.store.requests import PACKET_BYTES_MAX, check_requests
from kedge.store.tree import Transaction, Tree, missing
from kedge.store.watches import WatchTable


class Attached(Protocol):
    """A store with a session here."""

    def hear(self, delivery: Delivery) -> None: ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Delivery:
    """A notice on its way to a store; call it to hand the notice over."""

    store: Attached
    session: int
    notice: Notice

    def __call__(self) -> None:
        self.store.hear(self)


Deliver = Callable[[Delivery], None]


def at_once(delivery: Delivery) -> None:
    """Deliver without delay."""
    delivery()


class MemoryEnsemble:
    """The shared tree with its sessions and watches. Safe to use from several threads."""

    def __init__(
        self,
        *,
        journal: Journal | None = None,
        deliver: Deliver = at_once,
        bytes_max: int = PACKET_BYTES_MAX,
    ) -> None:
        self.tree = Tree() if journal is None else journal.tree
        self.bytes_max = bytes_max
        self._journal = journal
        self._deliver = deliver
        self._watches = WatchTable()
        self._stores: dict[int, Attached] = {}
        self._sessions_begun = 0
        self._unwritten: list[Transaction] = []
        self._due: deque[Delivery] = deque()
        self._failure = ""
        # re-entrant: a listener or a delivery may ask the ensemble something
        self._lock = threading.RLock()
        self._carry_out: dict[type, Callable[[Any, int], Answer]] = {
            **dict.fromkeys((Create, SetData, Delete, Check), self._write),
            Multi: self._multi,
            GetData: self._get_data,
            GetChildren: self._get_children,
            Exists: self._exists,
        }
        self._bury_old_sessions()

    def close(self) -> None:
        """End every session and close the journal."""
        for store in list(self._stores.values()):
            store.close()
        if self._journal is not None:
            self._journal.close()

    def failure(self) -> str:
        """Why nothing can be written now, after another attempt; empty while all is well."""
        if self._failure and self._lock.acquire(blocking=False):
            try:
                self._mend()
            except StoreUnavailable:
                pass
            finally:
                self._lock.release()
        return self._failure

    # ---- for the sessions ----

    def begin_session(self, store: Attached) -> int:
        """A new session's number."""
        with self._lock:
            self._sessions_begun += 1
            self._stores[self._sessions_begun] = store
            return self._sessions_begun

    def end_session(self, session: int) -> None:
        """Drop a session's watches and delete its ephemeral nodes; others are told."""
        with self._lock:
            if self._stores.pop(session, None) is None:
                return
            self._watches.drop(session)
            if session in self.tree.ephemerals:
                self._commit(self.tree.end_session(session))
            # what cannot be written down now is, before the next request is carried out
            with contextlib.suppress(StoreUnavailable):
                self._finish()

    def batch(self, session: int, requests: Sequence[Request]) -> list[Answer]:
        """Carry requests out for a session, write them down, then tell who watches."""
        with self._lock:
            self._mend()
            check_requests(requests, known=self.tree.nodes, bytes_max=self.bytes_max)
            carry_out = self._carry_out
            answers = [carry_out[type(request)](request, session) for request in requests]
            self._finish()
            return answers

    def tell(self, store: Attached, session: int, notice: Notice) -> None:
        """Put a notice on its way, behind those that are due."""
        with self._lock:
            self._due.append(Delivery(store, session, notice))
            self._hand_over()

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
            return missing(request.path)
        if request.watch:
            self._watches.leave(session, request.path, on_children=False)
        return node.answer or node.read()

    def _get_children(self, request: GetChildren, session: int) -> Answer:
        node = self.tree.nodes.get(request.path)
        if node is None:
            return missing(request.path)
        if request.watch:
            self._watches.leave(session, request.path, on_children=True)
        return Children(tuple(sorted(node.children or ())))

    def _exists(self, request: Exists, session: int) -> Answer:
        node = self.tree.nodes.get(request.path)
        if request.watch:
            self._watches.leave(session, request.path, on_children=False)
        return Presence(None if node is None else node.read().stat)

    # ---- after the fact ----

    def _commit(self, transaction: Transaction) -> None:
        if not transaction.applied:
            return
        if self._journal is not None:
            self._unwritten.append(transaction)
        for applied in transaction.applied:
            for session, fired in self._watches.fire(applied):
                self._due.append(Delivery(self._stores[session], session, fired))

    def _finish(self) -> None:
        """Make what was committed last, then let it be known: never the other way round."""
        if self._journal is not None and self._unwritten:
            try:
                self._journal.append(self._unwritten)
            except OSError as error:
                self._failure = f"the journal cannot be written: {error.strerror or error}"
                raise self._unavailable() from error
            self._failure = ""
            self._unwritten.clear()
            self._journal.maybe_compact(self.tree)
        self._hand_over()

    def _mend(self) -> None:
        """After a journal that could not be written: the tree is ahead of it, and nobody may see
        what the tree holds before the journal holds it too."""
        if self._failure:
            self._finish()

    def _unavailable(self) -> StoreUnavailable:
        return StoreUnavailable(self._failure, hint="make room on its disk; it goes on by itself")

    def _hand_over(self) -> None:
        while self._due:
            self._deliver(self._due.popleft())

    def _bury_old_sessions(self) -> None:
        """Sessions do not outlive the process: what they owned goes in ordinary transactions."""
        for owner in sorted(self.tree.ephemerals):
            self._sessions_begun = max(self._sessions_begun, owner)
            self._commit(self.tree.end_session(owner))
        self._finish()
