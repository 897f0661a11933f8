"""The bytes of moves under way, as observed: how much has arrived, and through which brokers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from kedge.apply.observe import Found
from kedge.execution import MoveStatus, Statuses, Target
from kedge.execution.stuck_moves import GrowingMove, MoveBytes
from kedge.model import BrokerId, TopicPartition
from kedge.plan import Change, PartitionReplica

Ends = Counter[tuple[str, BrokerId]]


def under_way(changes: Sequence[Change], statuses: Statuses) -> list[Change]:
    """The changes that are being carried out."""
    return [change for change in changes if statuses[change.tp] is MoveStatus.MOVING]


def bytes_of(changes: Sequence[Change], found: Found) -> dict[TopicPartition, MoveBytes]:
    """What has arrived of each change, on new brokers and in new log directories."""
    moves: dict[TopicPartition, MoveBytes] = {}
    for change in changes:
        replicas = [PartitionReplica(*change.tp, broker) for broker in change.after]
        copied = [r for r in replicas if r.broker in change.added]
        within = [r for r in replicas if r in found.sizes.future]
        arrived = sum(found.sizes.replicas.get(r, 0) for r in copied)
        arrived += sum(found.sizes.future[r] for r in within)
        size = found.sizes.of_partition(change) * (len(copied) + len(within))
        moves[change.tp] = MoveBytes(arrived, size)
    return moves


def arrived_bytes(
    changes: Sequence[Change], found: Found, target: Target
) -> dict[PartitionReplica, int]:
    """What has arrived of copies that go on: of replicas that are being added, and of those in
    the log directory that they are wanted in. What is on its way back counts for nothing."""
    arrived: dict[PartitionReplica, int] = {}
    for change in changes:
        moving = found.seen.moving.get(change.tp)
        for broker in () if moving is None else moving.adding:
            replica = PartitionReplica(*change.tp, broker)
            arrived[replica] = found.sizes.replicas.get(replica, 0)
        for replica, path in target.log_dirs_of(change).items():
            shown = found.seen.directories.get(replica)
            if shown is not None and shown.future == path:
                arrived[replica] = found.sizes.future.get(replica, 0)
    return arrived


def sizes_of(changes: Sequence[Change], found: Found) -> dict[TopicPartition, int]:
    """The size of each partition."""
    return {change.tp: found.sizes.of_partition(change) for change in changes}


def growing(
    changes: Sequence[Change], found: Found, growth: Mapping[TopicPartition, float]
) -> list[GrowingMove]:
    """The moves with what producers write to their partitions."""
    return [
        GrowingMove(found.seen.leaders.get(c.tp), tuple(c.added), growth.get(c.tp, 0.0))
        for c in changes
        if c.added
    ]


def through_brokers(changes: Sequence[Change], found: Found) -> Ends:
    """The bytes of all copies that have arrived so far, into and out of each broker."""
    through: Ends = Counter()
    for change in changes:
        leader = found.seen.leaders.get(change.tp)
        for broker in change.added:
            arrived = found.sizes.replicas.get(PartitionReplica(*change.tp, broker), 0)
            through["in", broker] += arrived
            if leader is not None:
                through["out", leader] += arrived
    return through
