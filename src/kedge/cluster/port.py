"""The port to a live cluster: the calls of a Kafka admin client, in plain values.

A call takes a batch and returns a mapping with one entry for each item. A refusal (`KedgeError`) is
a value there, beside the successes (`DONE`). A fault of the whole call is raised: no broker was
reached (`ClusterUnavailable`), the password is wrong (`AuthenticationFailed`), the cluster is too
old for the request (`UnsupportedByCluster`).

A raised `Unavailable` on a change means that its outcome is unknown: read before sending again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, IntEnum, StrEnum
from typing import Final, NamedTuple, Protocol, TypeVar

from kedge.errors import KedgeError
from kedge.model import Broker, BrokerId, ReplicaAssignment, TopicPartition

DONE: Final = None
Outcome = KedgeError | None
Replicas = tuple[BrokerId, ...]

T = TypeVar("T")
Answers = dict[T, Outcome]

BY_DEFAULT = -1
TIMEOUT_MS = 30_000


# ---- descriptions -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ClusterDescription:
    """The brokers that are alive, and the controller (None while it changes)."""

    cluster_id: str
    controller: BrokerId | None
    brokers: tuple[Broker, ...]

    @property
    def alive(self) -> frozenset[BrokerId]:
        """The ids of the brokers."""
        return frozenset(broker.id for broker in self.brokers)


@dataclass(frozen=True, slots=True)
class PartitionDescription:
    """One partition as clients see it; `leader` is None where it has none.

    The eligible leader replicas (KIP-966) are None where the cluster does not report them.
    """

    partition: int
    leader: BrokerId | None
    replicas: Replicas
    isr: Replicas
    offline: Replicas = ()
    eligible: Replicas | None = None
    last_known_eligible: Replicas | None = None


@dataclass(frozen=True, slots=True)
class TopicDescription:
    """A topic and its partitions, ascending; the id is empty where topics have none."""

    name: str
    topic_id: str
    internal: bool
    partitions: tuple[PartitionDescription, ...]

    def replicas(self) -> dict[int, Replicas]:
        """The replicas by partition."""
        return {each.partition: each.replicas for each in self.partitions}


# ---- configs ------------------------------------------------------------------------------------


class ResourceKind(IntEnum):
    """What a config belongs to; the numbers are those on the wire."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class ConfigResource(NamedTuple):
    """A resource with configs. A broker with the empty name is the default of all brokers."""

    kind: ResourceKind
    name: str

    def __str__(self) -> str:
        if self == BROKER_DEFAULTS:
            return "the brokers' defaults"
        return f"{self.kind.name.lower().replace('_', ' ')} {self.name}"


BROKER_DEFAULTS = ConfigResource(ResourceKind.BROKER, "")


def topic_resource(name: str) -> ConfigResource:
    """The configs of a topic."""
    return ConfigResource(ResourceKind.TOPIC, name)


def broker_resource(broker: BrokerId) -> ConfigResource:
    """The configs of one broker."""
    return ConfigResource(ResourceKind.BROKER, str(broker))


class ConfigSource(StrEnum):
    """Where a value comes from, as Kafka names it."""

    UNKNOWN = "UNKNOWN"
    TOPIC = "DYNAMIC_TOPIC_CONFIG"
    BROKER = "DYNAMIC_BROKER_CONFIG"
    ALL_BROKERS = "DYNAMIC_DEFAULT_BROKER_CONFIG"
    STATIC = "STATIC_BROKER_CONFIG"
    BUILT_IN = "DEFAULT_CONFIG"
    BROKER_LOGGER = "DYNAMIC_BROKER_LOGGER_CONFIG"
    CLIENT_METRICS = "DYNAMIC_CLIENT_METRICS_CONFIG"
    GROUP = "DYNAMIC_GROUP_CONFIG"


@dataclass(frozen=True, slots=True)
class ConfigSynonym:
    """One name and value of a level of configs; no value where it is secret."""

    name: str
    value: str | None
    source: ConfigSource


@dataclass(frozen=True, slots=True)
class ConfigEntry:
    """One config as the cluster reports it; no value where it is secret or not set."""

    name: str
    value: str | None
    source: ConfigSource
    sensitive: bool = False
    read_only: bool = False
    synonyms: tuple[ConfigSynonym, ...] = ()


class ConfigOp(IntEnum):
    """What to do with a config; the numbers are those on the wire."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


@dataclass(frozen=True, slots=True)
class ConfigChange:
    """One step of a change; a DELETE needs no value. The value is no part of its repr."""

    name: str
    op: ConfigOp = ConfigOp.SET
    value: str | None = field(default=None, repr=False)


Changes = Mapping[ConfigResource, Sequence[ConfigChange]]
Configs = tuple[ConfigEntry, ...]


class QuotaEntity(NamedTuple):
    """The clients of a quota: pairs of kind (user, client-id, ip) and name (None: default)."""

    parts: tuple[tuple[str, str | None], ...]


def quota_entity(parts: Iterable[tuple[str, str | None]]) -> QuotaEntity:
    """An entity in its one form: users before clients."""
    return QuotaEntity(tuple(sorted(parts, key=lambda part: part[0], reverse=True)))


# ---- changes ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TopicCreation:
    """A topic to be created: counts (-1 for the cluster's default), or replica lists."""

    name: str
    partitions: int = BY_DEFAULT
    replication_factor: int = BY_DEFAULT
    assignment: Mapping[int, Sequence[BrokerId]] = field(
        default_factory=dict[int, Sequence[BrokerId]]
    )
    configs: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class TopicExpansion:
    """More partitions for a topic: the new total, and optionally the replicas of the new ones."""

    topic: str
    total: int
    added: Sequence[Sequence[BrokerId]] | None = None


class Replica(NamedTuple):
    """The replica of a partition on one broker."""

    topic: str
    partition: int
    broker: BrokerId


@dataclass(frozen=True, slots=True)
class StoredReplica:
    """A replica in a log directory; `future` while it is still being copied there."""

    tp: TopicPartition
    size_bytes: int
    offset_lag: int
    future: bool = False


@dataclass(frozen=True, slots=True)
class LogDirDescription:
    """One directory of a broker; its sizes are None where the broker does not report them."""

    path: str
    replicas: tuple[StoredReplica, ...] = ()
    error: KedgeError | None = None
    total_bytes: int | None = None
    usable_bytes: int | None = None


class Election(Enum):
    """Which leader to elect: the preferred one, or any live replica, which may lose data."""

    PREFERRED = 0
    UNCLEAN = 1


class Cluster(Protocol):
    """A live cluster. One call at a time; every call ends within its deadline."""

    def describe(self) -> ClusterDescription:
        """The brokers and the controller."""
        ...

    def topic_names(self) -> dict[str, bool]:
        """Every topic, sorted, and whether it is internal."""
        ...

    def describe_topics(self, names: Sequence[str]) -> dict[str, TopicDescription | KedgeError]:
        """Partitions, leaders and replicas of topics."""
        ...

    def create_topics(
        self, topics: Sequence[TopicCreation], *, validate_only: bool = False
    ) -> Answers[str]:
        """Create topics; with `validate_only` the cluster validates and changes nothing."""
        ...

    def expand_topics(
        self, topics: Sequence[TopicExpansion], *, validate_only: bool = False
    ) -> Answers[str]:
        """Give topics more partitions."""
        ...

    def delete_topics(self, names: Sequence[str]) -> Answers[str]:
        """Delete topics and their data."""
        ...

    def describe_configs(
        self, resources: Sequence[ConfigResource], *, synonyms: bool = False
    ) -> dict[ConfigResource, Configs | KedgeError]:
        """Every config of these resources, sorted by name."""
        ...

    def config_names(self, kind: ResourceKind) -> frozenset[str]:
        """The names of all groups, or of all client metrics subscriptions."""
        ...

    def alter_configs(
        self, changes: Changes, *, validate_only: bool = False
    ) -> Answers[ConfigResource]:
        """Change configs step by step; what is not named stays."""
        ...

    def describe_quotas(
        self, entity: QuotaEntity, *, strict: bool = False
    ) -> dict[QuotaEntity, dict[str, float]]:
        """The client quotas of all entities that match.

        A part with a name matches that name, None the default; kinds with the name `*` match any.
        A strict match has no other kinds besides.
        """
        ...

    def alter_quotas(
        self, entity: QuotaEntity, changes: Mapping[str, float | None]
    ) -> Answers[QuotaEntity]:
        """Set client quotas, or remove them (None)."""
        ...

    def reassignments(self) -> dict[TopicPartition, ReplicaAssignment]:
        """Every partition that is being moved."""
        ...

    def alter_reassignments(
        self, targets: Mapping[TopicPartition, Sequence[BrokerId] | None]
    ) -> Answers[TopicPartition]:
        """Start moves, change their targets, or cancel them (None)."""
        ...

    def authorize_reassignments(self) -> Outcome:
        """The refusal of moves for lack of permission, or None; nothing is changed."""
        ...

    def log_dirs(
        self, brokers: Sequence[BrokerId], topics: Sequence[str] | None = None
    ) -> dict[BrokerId, tuple[LogDirDescription, ...] | KedgeError]:
        """The log directories of brokers with their replicas, of all topics or of some."""
        ...

    def alter_log_dirs(self, moves: Mapping[Replica, str]) -> Answers[Replica]:
        """Move replicas between the directories of their brokers."""
        ...

    def elect_leaders(
        self, election: Election, partitions: Sequence[TopicPartition] | None = None
    ) -> Answers[TopicPartition]:
        """Elect leaders; of all partitions (None), those without an election are left out."""
        ...

    def keeps_registrations(self) -> bool:
        """Whether a broker that has stopped stays registered until it is unregistered (KRaft)."""
        ...

    def unregister_broker(self, broker: BrokerId) -> Outcome:
        """Remove the registration of a broker. The cluster does not refuse one that is alive."""
        ...

    def close(self) -> None:
        """Close all connections. Closing twice is fine."""
        ...
