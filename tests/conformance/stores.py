"""Empty trees for scenarios: in memory, or in a real ZooKeeper, started when it is wanted."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from jvm.zookeeper import zookeeper
from kedge.store import MemoryEnsemble, MemoryStore, Store
from kedge.store.zookeeper import ZooKeeperStore

StoreFactory = Callable[[], Store]


class Trees:
    """Gives a new empty tree for each scenario, on one kind of store."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._stack = ExitStack()
        self._address: str | None = None
        self._count = itertools.count()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    def fresh(self) -> StoreFactory:
        """A factory of sessions that share one empty tree."""
        if self._kind == "memory":
            ensemble = MemoryEnsemble()
            return lambda: MemoryStore(ensemble)
        hosts = f"{self._server()}/scenario-{next(self._count)}"
        return lambda: ZooKeeperStore(hosts, session_timeout_ms=10_000, create_chroot=True)

    def _server(self) -> str:
        if self._address is None:
            folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory()))
            self._address = self._stack.enter_context(zookeeper(folder))
        return self._address
