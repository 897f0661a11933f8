"""The image: everything that the records say, as one immutable value.

The image of a log is the same on every node that computes it: brokers and standby controllers
replay the records that the active one wrote. Beside what the records say it holds indexes that
decisions need, each derived from the partitions. `replay` makes images, `snapshot` writes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeAlias

from kedge.metadata.ids import LOST, MIGRATING, UNASSIGNED, Uuid, reserved
from kedge.metadata.persistent_map import PersistentMap
from kedge.metadata.records import (
    NO_LEADER,
    RECOVERED,
    AccessControlEntryRecord,
    DelegationTokenRecord,
    Endpoint,
    FeatureRange,
    RegisterControllerRecord,
    UserScramCredentialRecord,
)
from kedge.metadata.value_type import value_type

PartitionKey: TypeAlias = tuple[Uuid, int]
PartitionSet: TypeAlias = PersistentMap[PartitionKey, None]
ConfigResource: TypeAlias = tuple[int, str]  # type and name
QuotaEntity: TypeAlias = tuple[tuple[str, str | None], ...]  # parts, sorted by type

NONE_OF_THEM: PartitionSet = PersistentMap()


@dataclass(frozen=True, slots=True)
class BrokerRegistration:
    """A registered broker. `offset` is where its newest registration record is in the log."""

    id: int
    epoch: int
    incarnation: Uuid
    endpoints: tuple[Endpoint, ...] = ()
    features: tuple[FeatureRange, ...] = ()
    rack: str | None = None
    fenced: bool = True
    in_controlled_shutdown: bool = False
    directories: tuple[Uuid, ...] = ()
    is_migrating: bool = False
    offset: int = -1

    @property
    def active(self) -> bool:
        """Whether it may lead and be in ISRs."""
        return not self.fenced and not self.in_controlled_shutdown

    def has_online(self, directory: Uuid) -> bool:
        """Whether a replica in this directory can be used.

        A reserved id says that the directory is not known: LOST is offline, others count as online.
        """
        return is_online(directory, self.directories)

    @property
    def default_directory(self) -> Uuid:
        """Where a new replica goes as far as the controller knows."""
        if not self.directories:
            return MIGRATING
        return self.directories[0] if len(self.directories) == 1 else UNASSIGNED


def is_online(directory: Uuid, online: tuple[Uuid, ...]) -> bool:
    """Whether a directory is among those online, or not known.

    No directory at all means that the broker registered before directories were reported.
    """
    if directory in (MIGRATING, UNASSIGNED):
        return True
    return directory != LOST and (not online or directory in online)


@value_type
class Partition:
    """The state of one partition."""

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    directories: tuple[Uuid, ...] = ()
    removing: tuple[int, ...] = ()
    adding: tuple[int, ...] = ()
    elr: tuple[int, ...] = ()
    last_known_elr: tuple[int, ...] = ()
    recovery: int = RECOVERED
    leader_epoch: int = 0
    epoch: int = 0

    @property
    def has_leader(self) -> bool:
        return self.leader != NO_LEADER

    @property
    def reassigning(self) -> bool:
        return bool(self.removing or self.adding)

    @property
    def has_preferred_leader(self) -> bool:
        return self.leader == (self.replicas[0] if self.replicas else NO_LEADER)

    def directory_of(self, replica: int) -> Uuid | None:
        """The directory of a replica; None for a broker that has none."""
        try:
            return self.directories[self.replicas.index(replica)]
        except ValueError:
            return None

    @property
    def known_directories(self) -> frozenset[Uuid]:
        """The directories that have a real id."""
        return _known(self.directories)


@lru_cache(maxsize=4096)  # many partitions have the same
def _known(directories: tuple[Uuid, ...]) -> frozenset[Uuid]:
    return frozenset(d for d in directories if not reserved(d))


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic and its partitions by number."""

    id: Uuid
    name: str
    partitions: Mapping[int, Partition] = field(default_factory=dict[int, Partition])


@dataclass(frozen=True, slots=True)
class Indexes:
    """Which partitions a change of a broker concerns; derived from the partitions."""

    in_isr: Mapping[int, PartitionSet] = field(default_factory=dict[int, PartitionSet])
    in_elr: Mapping[int, PartitionSet] = field(default_factory=dict[int, PartitionSet])
    in_directory: Mapping[Uuid, PartitionSet] = field(default_factory=dict[Uuid, PartitionSet])
    leaderless: PartitionSet = field(default_factory=lambda: NONE_OF_THEM)
    reassigning: PartitionSet = field(default_factory=lambda: NONE_OF_THEM)
    imbalanced: PartitionSet = field(default_factory=lambda: NONE_OF_THEM)


@dataclass(frozen=True, slots=True)
class Image:
    """The metadata of a cluster at one offset."""

    features: Mapping[str, int] = field(default_factory=dict[str, int])
    brokers: Mapping[int, BrokerRegistration] = field(default_factory=dict[int, BrokerRegistration])
    controllers: Mapping[int, RegisterControllerRecord] = field(
        default_factory=dict[int, RegisterControllerRecord]
    )
    topics: PersistentMap[Uuid, Topic] = field(default_factory=PersistentMap[Uuid, Topic])
    topic_ids: PersistentMap[str, Uuid] = field(default_factory=PersistentMap[str, Uuid])
    alike: PersistentMap[str, tuple[str, ...]] = field(
        default_factory=PersistentMap[str, tuple[str, ...]]
    )
    """The topics with '.' or '_' by the name that both would have in metrics."""
    configs: PersistentMap[ConfigResource, Mapping[str, str]] = field(
        default_factory=PersistentMap[ConfigResource, Mapping[str, str]]
    )
    quotas: Mapping[QuotaEntity, Mapping[str, float]] = field(default_factory=dict[Any, Any])
    next_producer_id: int | None = None
    acls: Mapping[Uuid, AccessControlEntryRecord] = field(
        default_factory=dict[Uuid, AccessControlEntryRecord]
    )
    scram: Mapping[tuple[str, int], UserScramCredentialRecord] = field(
        default_factory=dict[Any, Any]
    )
    tokens: Mapping[str, DelegationTokenRecord] = field(
        default_factory=dict[str, DelegationTokenRecord]
    )
    indexes: Indexes = field(default_factory=Indexes)
    before_transaction: Image | None = None
    """The image that an abort of the open transaction goes back to."""

    def topic_named(self, name: str) -> Topic | None:
        """The topic of that name."""
        topic_id = self.topic_ids.get(name)
        return None if topic_id is None else self.topics[topic_id]

    def is_active(self, broker: int) -> bool:
        """Whether a broker is registered, unfenced and not shutting down."""
        found = self.brokers.get(broker)
        return found is not None and found.active

    def config(self, resource: ConfigResource) -> Mapping[str, str]:
        """The configs set on a resource."""
        return self.configs.get(resource) or {}

    def leads_something(self, broker: int) -> bool:
        """Whether the broker leads a partition."""
        keys = self.indexes.in_isr.get(broker, NONE_OF_THEM)
        return any(self.topics[t].partitions[p].leader == broker for t, p in keys)


EMPTY = Image()
