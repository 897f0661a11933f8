"""One partition as values: its name, its replicas and its leadership.

`ReplicaAssignment.replicas` lists everything that may hold data now, wanted order first; `adding`
and `removing` are the parts of it that a reassignment in progress adds and removes (KIP-455).

    at rest         replicas [1,2,3]      adding []   removing []
    [1,2,3]→[3,4,2] replicas [3,4,2,1]    adding [4]  removing [1]
                    origin = [3,2,1]      target = [3,4,2]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple, NewType, TypeVar

BrokerId = NewType("BrokerId", int)
NO_LEADER = BrokerId(-1)

V = TypeVar("V")


class TopicPartition(NamedTuple):
    """One partition of one topic; sorts by topic, then by number."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


def by_topic(values: Mapping[TopicPartition, V]) -> dict[str, dict[int, V]]:
    """Return values by topic and partition number, in the order in which they come."""
    found: dict[str, dict[int, V]] = {}
    for (topic, partition), value in values.items():
        found.setdefault(topic, {})[partition] = value
    return found


def without(ids: tuple[BrokerId, ...], dropped: tuple[BrokerId, ...]) -> tuple[BrokerId, ...]:
    """Return `ids` in their order, without those in `dropped`."""
    return tuple(b for b in ids if b not in dropped) if dropped else ids


@dataclass(frozen=True, slots=True)
class ReplicaAssignment:
    """The replicas of one partition. `replicas[0]` is the preferred leader."""

    replicas: tuple[BrokerId, ...]
    adding: tuple[BrokerId, ...] = ()
    removing: tuple[BrokerId, ...] = ()

    @property
    def origin(self) -> tuple[BrokerId, ...]:
        """The replicas from before the move, in the order of `replicas`."""
        return without(self.replicas, self.adding)

    @property
    def target(self) -> tuple[BrokerId, ...]:
        """The replicas at the end of the move."""
        return without(self.replicas, self.removing)

    @property
    def in_progress(self) -> bool:
        """Whether replicas are being added or removed; a change of order alone is not a move."""
        return bool(self.adding or self.removing)

    def remove_replica(self, broker: BrokerId) -> ReplicaAssignment:
        """Return the same assignment without one broker in any of its lists."""
        gone = (broker,)
        return ReplicaAssignment(
            without(self.replicas, gone), without(self.adding, gone), without(self.removing, gone)
        )


class Recovery(IntEnum):
    """Whether a leader elected uncleanly has yet to recover its log (KIP-704)."""

    RECOVERED = 0
    RECOVERING = 1


class Leadership(NamedTuple):
    """A partition's leader and in-sync replicas: the content of `…/partitions/P/state`.

    The leader epoch counts elections. The partition epoch counts writes of the record (it is the
    version of the state znode, and the expected version of its next conditional write). The
    controller epoch is that of the controller that wrote the record. It is a tuple because a
    controller holds one for each partition.
    """

    leader: BrokerId
    isr: tuple[BrokerId, ...]
    leader_epoch: int = 0
    partition_epoch: int = 0
    controller_epoch: int = 0
    recovery: Recovery = Recovery.RECOVERED
