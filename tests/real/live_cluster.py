"""What operators and readers of stored configs need to know of a running cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol


class LiveCluster(Protocol):
    """A running cluster with brokers that can be killed."""

    @property
    def release(self) -> str: ...

    @property
    def bootstrap(self) -> str:
        """The addresses of all brokers."""
        ...

    @property
    def broker_ids(self) -> tuple[int, ...]: ...

    @property
    def down(self) -> tuple[int, ...]:
        """The brokers whose process has ended."""
        ...

    @property
    def zookeeper(self) -> str:
        """The address of ZooKeeper; empty with KRaft."""
        ...

    @property
    def metadata_dir(self) -> Path:
        """A directory with a present copy of the metadata log of KRaft."""
        ...

    def log_dirs(self, broker: int) -> tuple[str, str]:
        """The two directories that a broker keeps logs in."""
        ...

    def kill(self, broker: int) -> None:
        """kill -9; returns when the process is gone, before the cluster has noticed."""
        ...

    def start(self, broker: int) -> None:
        """Start a killed broker; returns when every broker has it in its metadata."""
        ...

    def await_gone(self, broker: int) -> None:
        """Wait until no running broker lists a killed one as alive."""
        ...
