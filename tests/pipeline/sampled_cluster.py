"""A small cluster in memory to sample, with offsets and a clock that tests set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kedge.cluster.memory import MemoryCluster
from kedge.cluster.port import TopicCreation
from kedge.pipeline.sources.offset_reader import GroupOffsets, Offsets


class FixedOffsets:
    """Offsets that a test sets."""

    def offsets(self, partitions: Mapping[str, Sequence[int]], *, end: bool) -> Offsets:
        return {t: {str(p): 100 + p if end else None for p in ids} for t, ids in partitions.items()}

    def committed(self) -> GroupOffsets:
        return {"g": {"orders": {"0": 42}}, "secret": {"error": "not authorised"}}


class Clock:
    """A clock that a wait moves on."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now

    def wait(self, pause_s: float) -> bool:
        self.now += pause_s
        return False


def cluster() -> MemoryCluster:
    made = MemoryCluster(3)
    made.create_topics([TopicCreation("orders", partitions=2, replication_factor=2)])
    return made
