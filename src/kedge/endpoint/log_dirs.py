"""Log directories of brokers: the interface that the backend needs, and one without any data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from kedge.endpoint.metadata_caches import MetadataCaches
from kedge.errors import LogDirNotFound, ReplicaNotAvailable
from kedge.model import BrokerId, TopicPartition
from kedge.model.error_codes import ErrorCode


@dataclass(frozen=True, slots=True)
class ReplicaInDir:
    """A replica in a log directory; a future one is being copied into it."""

    tp: TopicPartition
    size_bytes: int = 0
    offset_lag: int = 0
    is_future: bool = False


@dataclass(frozen=True, slots=True)
class LogDirState:
    """A log directory of a broker; sizes are -1 where they are unknown."""

    path: str
    replicas: tuple[ReplicaInDir, ...] = ()
    error: ErrorCode = ErrorCode.NONE
    total_bytes: int = -1
    usable_bytes: int = -1


class LogDirs(Protocol):
    """The log directories of brokers. Called from the store's thread."""

    def describe(self, broker: BrokerId) -> Sequence[LogDirState]:
        """All directories of a broker, with the replicas in them."""
        ...

    def move(self, broker: BrokerId, tp: TopicPartition, path: str) -> None:
        """Move a replica to a directory, or choose the directory of a replica that is to come.

        Raises LogDirNotFound, ReplicaNotAvailable (the choice is kept then), BrokerFailed.
        """
        ...


class FakeLogDirs:
    """Directories without data, the same on every broker.

    A replica is put into the directory with the fewest replicas when it is first seen, and moves
    at once; the choice of a directory for a replica that is not there yet is kept until it comes.
    """

    def __init__(
        self, caches: MetadataCaches, paths: Sequence[str] = ("/data/d0", "/data/d1")
    ) -> None:
        self._caches = caches
        self._paths = tuple(paths)
        self._places: dict[BrokerId, dict[TopicPartition, str]] = {}
        self._chosen: dict[BrokerId, dict[TopicPartition, str]] = {}

    def describe(self, broker: BrokerId) -> Sequence[LogDirState]:
        """All directories, empty ones too."""
        places = self._updated(broker)
        return [
            LogDirState(
                path, tuple(ReplicaInDir(tp) for tp in sorted(places) if places[tp] == path)
            )
            for path in self._paths
        ]

    def move(self, broker: BrokerId, tp: TopicPartition, path: str) -> None:
        """Move a replica."""
        if path not in self._paths:
            raise LogDirNotFound(f"broker {broker} has no directory {path!r}")
        places = self._updated(broker)
        if tp not in places:
            self._chosen.setdefault(broker, {})[tp] = path
            raise ReplicaNotAvailable(f"broker {broker} has no replica of {tp} yet")
        places[tp] = path

    def _updated(self, broker: BrokerId) -> dict[TopicPartition, str]:
        hosted = {
            TopicPartition(name, number)
            for name, topic in self._caches.cache(broker).topics.items()
            for number, entry in topic.partitions.items()
            if broker in entry.replicas
        }
        before = self._places.get(broker, {})
        places = self._places[broker] = {tp: p for tp, p in before.items() if tp in hosted}
        chosen = self._chosen.setdefault(broker, {})
        for tp in sorted(hosted - places.keys()):
            places[tp] = chosen.pop(tp, None) or self._emptiest(places)
        return places

    def _emptiest(self, places: dict[TopicPartition, str]) -> str:
        used = list(places.values())
        return min(self._paths, key=used.count)
