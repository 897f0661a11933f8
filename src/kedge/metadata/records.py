"""The metadata records of KRaft, as values.

Each class is one record of Kafka's log, with the fields of its newest version in snake case.
`None` in a change means "not changed". `record_schemas` says which versions have which field.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from kedge.metadata.ids import Uuid
from kedge.metadata.value_type import value_type

NO_LEADER = -1
LEADER_UNCHANGED = -2

RECOVERED, RECOVERING, RECOVERY_UNCHANGED = 0, 1, -1

FENCE, UNFENCE = 1, -1


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A listener of a broker or controller."""

    name: str
    host: str
    port: int
    security_protocol: int = 0


@dataclass(frozen=True, slots=True)
class FeatureRange:
    """The levels of a feature that a node supports, inclusive."""

    name: str
    min_supported_version: int
    max_supported_version: int


@dataclass(frozen=True, slots=True)
class RegisterBrokerRecord:
    """A broker has registered; its epoch is the offset of this batch."""

    broker_id: int
    incarnation_id: Uuid
    broker_epoch: int
    end_points: tuple[Endpoint, ...] = ()
    features: tuple[FeatureRange, ...] = ()
    rack: str | None = None
    fenced: bool = True
    is_migrating_zk_broker: bool = False
    in_controlled_shutdown: bool = False
    log_dirs: tuple[Uuid, ...] = ()


@dataclass(frozen=True, slots=True)
class UnregisterBrokerRecord:
    """A broker is forgotten."""

    broker_id: int
    broker_epoch: int


@dataclass(frozen=True, slots=True)
class TopicRecord:
    """A topic exists from here on; its partitions follow."""

    name: str
    topic_id: Uuid


@value_type
class PartitionRecord:
    """A partition in full."""

    partition_id: int
    topic_id: Uuid
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    removing_replicas: tuple[int, ...] = ()
    adding_replicas: tuple[int, ...] = ()
    leader_recovery_state: int = RECOVERED
    leader_epoch: int = 0
    partition_epoch: int = 0
    directories: tuple[Uuid, ...] = ()
    eligible_leader_replicas: tuple[int, ...] | None = None
    last_known_elr: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class ConfigRecord:
    """One config of a topic, broker, group or client-metrics subscription; None deletes it."""

    resource_type: int
    resource_name: str
    name: str
    value: str | None


@value_type
class PartitionChangeRecord:
    """What changes in a partition."""

    partition_id: int
    topic_id: Uuid
    isr: tuple[int, ...] | None = None
    leader: int = LEADER_UNCHANGED
    replicas: tuple[int, ...] | None = None
    removing_replicas: tuple[int, ...] | None = None
    adding_replicas: tuple[int, ...] | None = None
    leader_recovery_state: int = RECOVERY_UNCHANGED
    eligible_leader_replicas: tuple[int, ...] | None = None
    last_known_elr: tuple[int, ...] | None = None
    directories: tuple[Uuid, ...] | None = None


@dataclass(frozen=True, slots=True)
class FenceBrokerRecord:
    """A broker is fenced (older form; read, not written)."""

    id: int
    epoch: int


@dataclass(frozen=True, slots=True)
class UnfenceBrokerRecord:
    """A broker is unfenced (older form; read, not written)."""

    id: int
    epoch: int


@dataclass(frozen=True, slots=True)
class RemoveTopicRecord:
    """A topic is deleted, with its partitions and configs."""

    topic_id: Uuid


@dataclass(frozen=True, slots=True)
class DelegationTokenRecord:
    """A delegation token."""

    owner: str
    requester: str
    renewers: tuple[str, ...]
    issue_timestamp: int
    max_timestamp: int
    expiration_timestamp: int
    token_id: str


@dataclass(frozen=True, slots=True)
class UserScramCredentialRecord:
    """A user's SCRAM credential for one mechanism."""

    name: str
    mechanism: int
    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int


@dataclass(frozen=True, slots=True)
class FeatureLevelRecord:
    """The finalized level of a feature; 0 removes it."""

    name: str
    feature_level: int


@dataclass(frozen=True, slots=True)
class QuotaEntityPart:
    """One part of a quota's entity; no name means the default."""

    entity_type: str
    entity_name: str | None


@dataclass(frozen=True, slots=True)
class ClientQuotaRecord:
    """One quota of an entity."""

    entity: tuple[QuotaEntityPart, ...]
    key: str
    value: float
    remove: bool


@dataclass(frozen=True, slots=True)
class ProducerIdsRecord:
    """A block of producer ids was given out; the next one starts here."""

    broker_id: int
    broker_epoch: int
    next_producer_id: int


@dataclass(frozen=True, slots=True)
class BrokerRegistrationChangeRecord:
    """A broker is fenced (1), unfenced (-1), shuts down (1), or has lost directories."""

    broker_id: int
    broker_epoch: int
    fenced: int = 0
    in_controlled_shutdown: int = 0
    log_dirs: tuple[Uuid, ...] = ()


@dataclass(frozen=True, slots=True)
class AccessControlEntryRecord:
    """An ACL."""

    id: Uuid
    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission_type: int


@dataclass(frozen=True, slots=True)
class RemoveAccessControlEntryRecord:
    """An ACL is deleted."""

    id: Uuid


@dataclass(frozen=True, slots=True)
class NoOpRecord:
    """Nothing: keeps offsets and time moving."""


@dataclass(frozen=True, slots=True)
class ZkMigrationStateRecord:
    """The state of a migration from ZooKeeper (read, not written)."""

    zk_migration_state: int


@dataclass(frozen=True, slots=True)
class RemoveUserScramCredentialRecord:
    """A SCRAM credential is deleted."""

    name: str
    mechanism: int


@dataclass(frozen=True, slots=True)
class BeginTransactionRecord:
    """What follows is published only at the end of the transaction."""

    name: str | None = None


@dataclass(frozen=True, slots=True)
class EndTransactionRecord:
    """The transaction is complete."""


@dataclass(frozen=True, slots=True)
class AbortTransactionRecord:
    """The transaction is taken back."""

    reason: str | None = None


@dataclass(frozen=True, slots=True)
class RemoveDelegationTokenRecord:
    """A delegation token is deleted."""

    token_id: str


@dataclass(frozen=True, slots=True)
class RegisterControllerRecord:
    """A controller has registered."""

    controller_id: int
    incarnation_id: Uuid
    zk_migration_ready: bool
    end_points: tuple[Endpoint, ...] = ()
    features: tuple[FeatureRange, ...] = ()


@dataclass(frozen=True, slots=True)
class ClearElrRecord:
    """The eligible leader replicas of a topic are cleared; "" is every topic."""

    topic_name: str


MetadataRecord: TypeAlias = (
    RegisterBrokerRecord
    | UnregisterBrokerRecord
    | TopicRecord
    | PartitionRecord
    | ConfigRecord
    | PartitionChangeRecord
    | FenceBrokerRecord
    | UnfenceBrokerRecord
    | RemoveTopicRecord
    | DelegationTokenRecord
    | UserScramCredentialRecord
    | FeatureLevelRecord
    | ClientQuotaRecord
    | ProducerIdsRecord
    | BrokerRegistrationChangeRecord
    | AccessControlEntryRecord
    | RemoveAccessControlEntryRecord
    | NoOpRecord
    | ZkMigrationStateRecord
    | RemoveUserScramCredentialRecord
    | BeginTransactionRecord
    | EndTransactionRecord
    | AbortTransactionRecord
    | RemoveDelegationTokenRecord
    | RegisterControllerRecord
    | ClearElrRecord
)


class Versioned(NamedTuple):
    """A record and the version of its schema in which it is written."""

    record: MetadataRecord
    version: int = 0
