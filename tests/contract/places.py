"""Stores to try the contract on, and ears to hear their notices with."""

from __future__ import annotations

import itertools
import queue
import uuid
from pathlib import Path
from typing import Protocol

from kazoo.client import KazooClient

from kedge.store.journal import Journal
from kedge.store.memory import MemoryEnsemble, MemoryStore
from kedge.store.port import Change, Create, Exists, Store, StoreEvent, WatchFired
from kedge.store.zookeeper import ZooKeeperStore

PATIENCE_S = 30.0


class StorePlace(Protocol):
    """Somewhere with one tree that sessions can be opened to."""

    def open(self) -> Store: ...

    def expire(self, store: Store) -> None:
        """Let the store end this session."""
        ...

    def close(self) -> None: ...


class MemoryPlace:
    def __init__(self, journal: Journal | None = None) -> None:
        self.ensemble = MemoryEnsemble(journal=journal)

    def open(self) -> MemoryStore:
        return MemoryStore(self.ensemble)

    def expire(self, store: Store) -> None:
        assert isinstance(store, MemoryStore)
        store.expire()

    def close(self) -> None:
        self.ensemble.close()


class JournalPlace(MemoryPlace):
    def __init__(self, path: Path) -> None:
        super().__init__(Journal(path, fsync="never"))


class ZooKeeperPlace:
    def __init__(self, address: str) -> None:
        self.address = address
        self.hosts = f"{address}/{uuid.uuid4().hex}"
        self._stores: list[ZooKeeperStore] = []

    def open(self) -> ZooKeeperStore:
        store = ZooKeeperStore(self.hosts, session_timeout_ms=5_000, create_chroot=True)
        self._stores.append(store)
        return store

    def expire(self, store: Store) -> None:
        """Whoever has a session's id and password can end it: a second client does."""
        assert isinstance(store, ZooKeeperStore)
        thief = KazooClient(self.address, client_id=store._client.client_id)
        thief.start()
        thief.stop()
        thief.close()

    def close(self) -> None:
        for store in self._stores:
            store.close()


class Ears:
    """Listens to a store. What it heard so far is known once a marker of its own has arrived."""

    _markers = itertools.count()

    def __init__(self, store: Store) -> None:
        self._store = store
        self._notices: queue.Queue[StoreEvent] = queue.Queue()
        store.listen(self._notices.put)

    def next(self) -> StoreEvent:
        return self._notices.get(timeout=PATIENCE_S)

    def heard(self) -> list[StoreEvent]:
        marker = f"/marker-{next(self._markers)}"
        self._store.batch([Exists(marker, watch=True), Create(marker)])
        return list(iter(self.next, WatchFired(marker, Change.CREATED)))
