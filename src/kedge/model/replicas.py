"""Which brokers hold a partition, and which are coming or going.

`replicas` is everything that may hold data now, wanted order first; `adding` and `removing` are
the parts of it that a reassignment in progress brings and takes away (KIP-455).

    at rest         replicas [1,2,3]      adding []   removing []
    [1,2,3]→[3,4,2] replicas [3,4,2,1]    adding [4]  removing [1]
                    origin = [3,2,1]      target = [3,4,2]
"""

from __future__ import annotations

from dataclasses import dataclass

from kedge.model.partition import BrokerId


def without(ids: tuple[BrokerId, ...], dropped: tuple[BrokerId, ...]) -> tuple[BrokerId, ...]:
    """`ids` in their order, less those dropped."""
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
        """The replicas that the move ends with."""
        return without(self.replicas, self.removing)

    @property
    def in_progress(self) -> bool:
        """Whether replicas are coming or going; a change of order alone is not."""
        return bool(self.adding or self.removing)

    def remove_replica(self, broker: BrokerId) -> ReplicaAssignment:
        """The same without one broker, wherever it is listed."""
        gone = (broker,)
        return ReplicaAssignment(
            without(self.replicas, gone), without(self.adding, gone), without(self.removing, gone)
        )
