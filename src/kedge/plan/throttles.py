"""Throttles while replicas move: which replicas and brokers, at which rates (KIP-73).

A throttle has two halves: rates on brokers, and on topics the lists of replicas that the rates
apply to. The lists of a topic are overwritten as a whole, so they are computed over *all* moves:
those active in the cluster and those that are about to start, which replace active ones.

    man-0  [2,1] → [0,1,2]     sources 2,1    destinations 0
    man-1  [1,0] → [2,1]       sources 1,0    destinations 2

    man    leader.replication.throttled.replicas     0:1,0:2,1:0,1:1
           follower.replication.throttled.replicas   0:0,1:2
    rates on brokers 0, 1, 2

Every present replica is listed as leader, since any of them may come to lead. Followers that do
not move are not listed, so that ordinary replication stays as fast as it was. Items are sorted as
texts (`10:1` before `2:1`). A topic whose moves add nothing gets an empty list of followers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kedge.errors import UnknownTopicOrPartition
from kedge.model import BrokerId, ReplicaAssignment, TopicPartition
from kedge.plan.log_dirs import PartitionReplica

LEADER_RATE = "leader.replication.throttled.rate"
FOLLOWER_RATE = "follower.replication.throttled.rate"
LOG_DIR_RATE = "replica.alter.log.dirs.io.max.bytes.per.second"
LEADER_REPLICAS = "leader.replication.throttled.replicas"
FOLLOWER_REPLICAS = "follower.replication.throttled.replicas"

BROKER_THROTTLES = (LEADER_RATE, FOLLOWER_RATE, LOG_DIR_RATE)
TOPIC_THROTTLES = (LEADER_REPLICAS, FOLLOWER_REPLICAS)


@dataclass(frozen=True, slots=True)
class Move:
    """Where the copies of one partition come from and where they go."""

    sources: frozenset[BrokerId]
    destinations: frozenset[BrokerId]


MoveMap = dict[TopicPartition, Move]


@dataclass(frozen=True, slots=True)
class Throttles:
    """The replica lists per topic, and the brokers whose rates are set, ascending."""

    leader: dict[str, str]
    follower: dict[str, str]
    brokers: tuple[BrokerId, ...]


def active_moves(active: Mapping[TopicPartition, ReplicaAssignment]) -> MoveMap:
    """The moves that a cluster is carrying out."""
    return {
        tp: Move(frozenset(now.origin), frozenset(now.adding)) for tp, now in sorted(active.items())
    }


def move_map(
    active: Mapping[TopicPartition, ReplicaAssignment],
    proposed: Mapping[TopicPartition, Sequence[BrokerId]],
    current: Mapping[TopicPartition, Sequence[BrokerId]],
) -> MoveMap:
    """All moves once `proposed` has started; `current` has the replicas of what it names."""
    moves = active_moves(active)
    for tp, target in proposed.items():
        sources = moves[tp].sources if tp in moves else present_replicas(tp, current)
        moves[tp] = Move(sources, frozenset(target) - sources)
    return moves


def present_replicas(
    tp: TopicPartition, current: Mapping[TopicPartition, Sequence[BrokerId]]
) -> frozenset[BrokerId]:
    """The replicas that a partition has now; an unknown partition cannot move."""
    if tp not in current:
        raise UnknownTopicOrPartition(f"{tp} has no replicas to move from")
    return frozenset(current[tp])


def throttles_of(moves: Mapping[TopicPartition, Move]) -> Throttles:
    """The lists and brokers to throttle for these moves."""
    leader: dict[str, list[str]] = {}
    follower: dict[str, list[str]] = {}
    for (topic, partition), move in moves.items():
        coming = move.destinations - move.sources
        leader.setdefault(topic, []).extend(f"{partition}:{b}" for b in move.sources)
        follower.setdefault(topic, []).extend(f"{partition}:{b}" for b in coming)
    return Throttles(listed(leader), listed(follower), moving_brokers(moves.values()))


def moving_brokers(moves: Iterable[Move]) -> tuple[BrokerId, ...]:
    """Every broker that sends or receives, ascending."""
    brokers: set[BrokerId] = set()
    for move in moves:
        brokers |= move.sources | move.destinations
    return tuple(sorted(brokers))


def log_dir_brokers(moves: Iterable[PartitionReplica]) -> tuple[BrokerId, ...]:
    """The brokers that move replicas between their own directories, ascending."""
    return tuple(sorted({replica.broker for replica in moves}))


def listed(items: Mapping[str, Iterable[str]]) -> dict[str, str]:
    """Config values: the items of each topic, sorted as texts."""
    return {topic: ",".join(sorted(items[topic])) for topic in sorted(items)}


def broker_rates(rate_bytes_per_second: int) -> dict[str, str]:
    """What is set on each broker of `Throttles.brokers`."""
    return dict.fromkeys((LEADER_RATE, FOLLOWER_RATE), str(rate_bytes_per_second))


def log_dir_rates(rate_bytes_per_second: int) -> dict[str, str]:
    """What is set on each of the `log_dir_brokers`."""
    return {LOG_DIR_RATE: str(rate_bytes_per_second)}
