"""Log directories without data: which replica is where, and nothing more.

For clusters whose brokers keep no logs. A replica is put where the fewest are when it is first
seen, and is moved at once; a wish for a replica that is not there yet is kept until it comes.
"""

from __future__ import annotations

from collections.abc import Sequence

from kedge.endpoint.backend import LogDirState, ReplicaInDir
from kedge.endpoint.images import Images
from kedge.errors import LogDirNotFound, ReplicaNotAvailable
from kedge.model import BrokerId, TopicPartition


class KeptLogDirs:
    """The same directories on every broker."""

    def __init__(self, images: Images, paths: Sequence[str] = ("/data/d0", "/data/d1")) -> None:
        self._images = images
        self._paths = tuple(paths)
        self._places: dict[BrokerId, dict[TopicPartition, str]] = {}
        self._wishes: dict[BrokerId, dict[TopicPartition, str]] = {}

    def describe(self, broker: BrokerId) -> Sequence[LogDirState]:
        """All directories, be they empty."""
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
            self._wishes.setdefault(broker, {})[tp] = path
            raise ReplicaNotAvailable(f"broker {broker} has no replica of {tp} yet")
        places[tp] = path

    def _updated(self, broker: BrokerId) -> dict[TopicPartition, str]:
        hosted = {
            TopicPartition(name, number)
            for name, topic in self._images.image(broker).topics.items()
            for number, entry in topic.partitions.items()
            if broker in entry.replicas
        }
        before = self._places.get(broker, {})
        places = self._places[broker] = {tp: p for tp, p in before.items() if tp in hosted}
        wishes = self._wishes.setdefault(broker, {})
        for tp in sorted(hosted - places.keys()):
            places[tp] = wishes.pop(tp, None) or self._emptiest(places)
        return places

    def _emptiest(self, places: dict[TopicPartition, str]) -> str:
        used = list(places.values())
        return min(self._paths, key=used.count)
