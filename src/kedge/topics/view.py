"""The cluster as requests about topics are validated against it: a plain value."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from kedge.model import Broker, BrokerId, ReplicaAssignment
from kedge.topics.config_keys import Release
from kedge.topics.config_table import V3_9
from kedge.topics.effective import NO_BROKER, BrokerConfigs, broker_defaults
from kedge.topics.ids import TopicId
from kedge.topics.tiered import TieredRules

Replicas: TypeAlias = tuple[BrokerId, ...]
Partitions: TypeAlias = Mapping[int, ReplicaAssignment]

BY_DEFAULT = -1


@dataclass(frozen=True, slots=True)
class Defaults:
    """Counts of topics that give none (`num.partitions`, `default.replication.factor`)."""

    partitions: int = 1
    replication_factor: int = 1


@dataclass(frozen=True, slots=True)
class ClusterView:
    """The cluster as it is now.

    `topics` are those in the store, including those being deleted. `marked` are those marked for
    deletion. `unseen` are those that clients do not see: they never had a leader, or brokers have
    removed them from their caches.
    """

    brokers: tuple[Broker, ...] = ()
    topics: Mapping[str, Partitions] = field(default_factory=dict[str, Partitions])
    marked: frozenset[str] = frozenset()
    unseen: frozenset[str] = frozenset()
    fenced: frozenset[BrokerId] = frozenset()
    topic_ids: Mapping[TopicId, str] = field(default_factory=dict[TopicId, str])
    configs: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])
    defaults: Defaults = Defaults()
    broker_configs: BrokerConfigs = NO_BROKER
    tiered: TieredRules | None = None
    deletion_enabled: bool = True
    release: Release = V3_9

    def knows(self, topic: str) -> bool:
        """Whether clients see the topic."""
        return topic in self.topics and topic not in self.unseen

    def overrides(self, topic: str) -> Mapping[str, str]:
        """The configs set on a topic."""
        return self.configs.get(topic, {})

    def config_defaults(self) -> dict[str, str]:
        """The defaults beneath a topic's own configs."""
        return broker_defaults(self.broker_configs, self.release)


def at_rest(assignment: Mapping[int, Iterable[BrokerId]]) -> dict[int, ReplicaAssignment]:
    """Replica lists as assignments without a reassignment."""
    return {pid: ReplicaAssignment(tuple(replicas)) for pid, replicas in assignment.items()}
