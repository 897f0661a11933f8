"""What the endpoint needs of a cluster: an interface of its own, with values only.

The handlers know this and nothing behind it. `controller_backend` has it on a metadata store and
a running controller; a test may have it on anything.

In a batch a refusal stands beside the successes, as a KedgeError. What fails as a whole (the store
is away, this node is not the controller) is raised.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

from kedge.controller.events import ElectionType
from kedge.endpoint.images import Image
from kedge.errors import KedgeError
from kedge.model import BrokerId, ReplicaAssignment, TopicPartition
from kedge.model.error_codes import ErrorCode
from kedge.topics import Alteration, CreateRequest, DeleteRequest, ExpandRequest, Source

Charging = Callable[[int], None]  # takes tokens for so many partitions, or raises QuotaExceeded
Outcomes = Mapping[TopicPartition, ErrorCode]
Reassignments = Mapping[TopicPartition, ReplicaAssignment]
Targets = Mapping[TopicPartition, tuple[BrokerId, ...] | None]


class ResourceType(IntEnum):
    """What can have configs; the numbers are those on the wire."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


@dataclass(frozen=True, slots=True)
class Resource:
    """Something that has configs. The type is a number, for a client may send any."""

    type: int
    name: str

    def __str__(self) -> str:
        known = {kind.value: kind.name.lower() for kind in ResourceType}
        return f"{known.get(self.type, f'resource type {self.type}')} {self.name!r}"


class ConfigKind(IntEnum):
    """Types of configs, as DescribeConfigs numbers them."""

    UNKNOWN = 0
    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


@dataclass(frozen=True, slots=True)
class ConfigSetting:
    """A value of a config in one of the places where it can be set."""

    source: Source
    name: str
    value: str | None


@dataclass(frozen=True, slots=True)
class ConfigEntry:
    """One config of a resource, with everything that was in the running, strongest first."""

    name: str
    value: str | None
    source: Source
    kind: ConfigKind = ConfigKind.STRING
    read_only: bool = False
    sensitive: bool = False
    synonyms: tuple[ConfigSetting, ...] = ()


@dataclass(frozen=True, slots=True)
class CreatedTopic:
    """A topic that was made, or would have been."""

    name: str
    topic_id: str | None
    partitions: int
    replication_factor: int
    configs: tuple[ConfigEntry, ...]


@dataclass(frozen=True, slots=True)
class DeletedTopic:
    """A topic that is gone, or on its way."""

    name: str
    topic_id: str | None


@dataclass(frozen=True, slots=True)
class ReplicaInDir:
    """A replica in a log directory; a future one is on its way into it."""

    tp: TopicPartition
    size_bytes: int = 0
    offset_lag: int = 0
    is_future: bool = False


@dataclass(frozen=True, slots=True)
class LogDirState:
    """A log directory of a broker; sizes are -1 where nobody knows."""

    path: str
    replicas: tuple[ReplicaInDir, ...] = ()
    error: ErrorCode = ErrorCode.NONE
    total_bytes: int = -1
    usable_bytes: int = -1


class LogDirs(Protocol):
    """The log directories of brokers. Called from one thread that is not the caller's own."""

    def describe(self, broker: BrokerId) -> Sequence[LogDirState]:
        """All directories of a broker, with all that is in them."""
        ...

    def move(self, broker: BrokerId, tp: TopicPartition, path: str) -> None:
        """Move a replica to a directory, or where it is to be once it comes to this broker.

        Raises LogDirNotFound, ReplicaNotAvailable (and then remembers the wish), BrokerFailed.
        """
        ...


class Backend(Protocol):
    """A cluster that can be asked and ordered."""

    @property
    def cluster_id(self) -> str:
        """The cluster's own id."""
        ...

    def image(self, node: BrokerId) -> Image:
        """What a node believes of the cluster."""
        ...

    def storage_fault(self) -> str:
        """Why nothing can be stored now; empty while all is well."""
        ...

    def is_controller(self, node: BrokerId) -> bool:
        """Whether a node is the controller now."""
        ...

    async def create_topics(
        self,
        node: BrokerId,
        requests: Sequence[CreateRequest],
        *,
        timeout_ms: int,
        validate_only: bool,
        charge: Charging,
    ) -> list[CreatedTopic | KedgeError]:
        """Create topics, and wait until all their partitions are led."""
        ...

    async def auto_create(
        self,
        node: BrokerId,
        topics: Collection[str],
        *,
        client_allows: bool,
        for_coordinator: bool,
        charge: Charging,
    ) -> Mapping[str, KedgeError]:
        """Have unknown topics made because somebody asked for them, if they may be; what to tell
        the client of each."""
        ...

    async def create_partitions(
        self,
        node: BrokerId,
        requests: Sequence[ExpandRequest],
        *,
        timeout_ms: int,
        validate_only: bool,
        charge: Charging,
    ) -> list[str | KedgeError]:
        """Add partitions, and wait until they are led; the topic's name where all went well."""
        ...

    async def delete_topics(
        self,
        node: BrokerId,
        requests: Sequence[DeleteRequest],
        *,
        timeout_ms: int,
        charge: Charging,
    ) -> list[DeletedTopic | KedgeError]:
        """Delete topics, and wait until the node does not know them any more."""
        ...

    async def describe_configs(
        self, node: BrokerId, resources: Sequence[Resource]
    ) -> list[Sequence[ConfigEntry] | KedgeError]:
        """All configs of each resource."""
        ...

    async def alter_configs(
        self,
        node: BrokerId,
        changes: Mapping[Resource, Sequence[Alteration]],
        *,
        replace: bool,
        validate_only: bool,
    ) -> Mapping[Resource, KedgeError | None]:
        """Change configs step by step; with `replace` the steps (all SET) are all that remains."""
        ...

    async def alter_reassignments(
        self,
        node: BrokerId,
        targets: Targets,
        *,
        timeout_ms: int,
        may_change_replication_factor: bool,
    ) -> Outcomes:
        """Start or (None) cancel moves."""
        ...

    async def list_reassignments(
        self, node: BrokerId, partitions: Collection[TopicPartition] | None, *, timeout_ms: int
    ) -> Reassignments:
        """The moves in progress, among these partitions or among all."""
        ...

    async def elect_leaders(
        self,
        node: BrokerId,
        partitions: Collection[TopicPartition],
        kind: ElectionType,
        *,
        timeout_ms: int,
    ) -> Outcomes:
        """Elect, and wait until the node knows the new leaders."""
        ...

    async def describe_log_dirs(self, node: BrokerId) -> Sequence[LogDirState]:
        """The node's log directories."""
        ...

    async def move_log_dirs(
        self, node: BrokerId, moves: Mapping[TopicPartition, str]
    ) -> Mapping[TopicPartition, KedgeError | None]:
        """Move the node's replicas to other directories."""
        ...
