"""The schema of every metadata record, as data: fields in wire order, with versions and tags.

The facts are those of Kafka's message definitions. All versions are flexible (KIP-482): a tagged
field is written only when it differs from its default. `protocol` compiles writers from this
table, and `record_json` shows records as Kafka's tools do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Any

from kedge.metadata import records as r


class Kind(Enum):
    """The type of a field."""

    INT8 = "int8"
    INT16 = "int16"
    UINT16 = "uint16"
    INT32 = "int32"
    INT64 = "int64"
    FLOAT64 = "float64"
    BOOL = "bool"
    STRING = "string"
    BYTES = "bytes"
    UUID = "uuid"
    STRUCT = "struct"


@dataclass(frozen=True, slots=True)
class Field:
    """One field: its name in the record, type, first version, and tag if it has one."""

    name: str
    kind: Kind
    since: int = 0
    tag: int | None = None
    default: Any = None
    nullable: bool = False
    many: bool = False
    of: type | None = None  # the class of a struct

    @property
    def json_name(self) -> str:
        """The name in Kafka's JSON: `leaderEpoch` for `leader_epoch`."""
        head, *tail = self.name.split("_")
        return head + "".join(word.capitalize() for word in tail)


@dataclass(frozen=True, slots=True)
class Schema:
    """A record's type number, newest version and fields."""

    record: type
    type_id: int
    newest: int
    fields: tuple[Field, ...]

    @property
    def name(self) -> str:
        """The name of the type, as tools show it."""
        return self.record.__name__.removesuffix("Record")

    def fields_of(self, version: int) -> tuple[Field, ...]:
        """The fields that a version has."""
        return tuple(field for field in self.fields if field.since <= version)


_I8, _I16, _I32, _I64 = Kind.INT8, Kind.INT16, Kind.INT32, Kind.INT64
_TEXT, _UUID = Kind.STRING, Kind.UUID

_ENDPOINT_FIELDS = (
    Field("name", _TEXT),
    Field("host", _TEXT),
    Field("port", Kind.UINT16),
    Field("security_protocol", _I16),
)
_FEATURE_FIELDS = (
    Field("name", _TEXT),
    Field("min_supported_version", _I16),
    Field("max_supported_version", _I16),
)

STRUCTS: Mapping[type, tuple[Field, ...]] = MappingProxyType(
    {
        r.Endpoint: _ENDPOINT_FIELDS,
        r.FeatureRange: _FEATURE_FIELDS,
        r.QuotaEntityPart: (
            Field("entity_type", _TEXT),
            Field("entity_name", _TEXT, nullable=True),
        ),
    }
)


def _ids(name: str, *, since: int = 0, tag: int | None = None, nullable: bool = False) -> Field:
    return Field(name, _I32, since, tag, None, nullable, many=True)


def _structs(name: str, of: type) -> Field:
    return Field(name, Kind.STRUCT, many=True, of=of)


_ENDPOINTS = _structs("end_points", r.Endpoint)
_FEATURES = _structs("features", r.FeatureRange)

_ALL = (
    Schema(
        r.RegisterBrokerRecord,
        0,
        3,
        (
            Field("broker_id", _I32),
            Field("is_migrating_zk_broker", Kind.BOOL, since=2),
            Field("incarnation_id", _UUID),
            Field("broker_epoch", _I64),
            _ENDPOINTS,
            _FEATURES,
            Field("rack", _TEXT, nullable=True),
            Field("fenced", Kind.BOOL),
            Field("in_controlled_shutdown", Kind.BOOL, since=1),
            Field("log_dirs", _UUID, since=3, tag=0, default=(), many=True),
        ),
    ),
    Schema(r.UnregisterBrokerRecord, 1, 0, (Field("broker_id", _I32), Field("broker_epoch", _I64))),
    Schema(r.TopicRecord, 2, 0, (Field("name", _TEXT), Field("topic_id", _UUID))),
    Schema(
        r.PartitionRecord,
        3,
        2,
        (
            Field("partition_id", _I32),
            Field("topic_id", _UUID),
            _ids("replicas"),
            _ids("isr"),
            _ids("removing_replicas"),
            _ids("adding_replicas"),
            Field("leader", _I32),
            Field("leader_recovery_state", _I8, tag=0, default=0),
            Field("leader_epoch", _I32),
            Field("partition_epoch", _I32),
            Field("directories", _UUID, since=1, many=True),
            _ids("eligible_leader_replicas", since=2, tag=1, nullable=True),
            _ids("last_known_elr", since=2, tag=2, nullable=True),
        ),
    ),
    Schema(
        r.ConfigRecord,
        4,
        0,
        (
            Field("resource_type", _I8),
            Field("resource_name", _TEXT),
            Field("name", _TEXT),
            Field("value", _TEXT, nullable=True),
        ),
    ),
    Schema(
        r.PartitionChangeRecord,
        5,
        2,
        (
            Field("partition_id", _I32),
            Field("topic_id", _UUID),
            _ids("isr", tag=0, nullable=True),
            Field("leader", _I32, tag=1, default=r.LEADER_UNCHANGED),
            _ids("replicas", tag=2, nullable=True),
            _ids("removing_replicas", tag=3, nullable=True),
            _ids("adding_replicas", tag=4, nullable=True),
            Field("leader_recovery_state", _I8, tag=5, default=r.RECOVERY_UNCHANGED),
            _ids("eligible_leader_replicas", since=2, tag=6, nullable=True),
            _ids("last_known_elr", since=2, tag=7, nullable=True),
            Field("directories", _UUID, since=1, tag=8, nullable=True, many=True),
        ),
    ),
    Schema(r.FenceBrokerRecord, 7, 0, (Field("id", _I32), Field("epoch", _I64))),
    Schema(r.UnfenceBrokerRecord, 8, 0, (Field("id", _I32), Field("epoch", _I64))),
    Schema(r.RemoveTopicRecord, 9, 0, (Field("topic_id", _UUID),)),
    Schema(
        r.DelegationTokenRecord,
        10,
        0,
        (
            Field("owner", _TEXT),
            Field("requester", _TEXT),
            Field("renewers", _TEXT, many=True),
            Field("issue_timestamp", _I64),
            Field("max_timestamp", _I64),
            Field("expiration_timestamp", _I64),
            Field("token_id", _TEXT),
        ),
    ),
    Schema(
        r.UserScramCredentialRecord,
        11,
        0,
        (
            Field("name", _TEXT),
            Field("mechanism", _I8),
            Field("salt", Kind.BYTES),
            Field("stored_key", Kind.BYTES),
            Field("server_key", Kind.BYTES),
            Field("iterations", _I32),
        ),
    ),
    Schema(r.FeatureLevelRecord, 12, 0, (Field("name", _TEXT), Field("feature_level", _I16))),
    Schema(
        r.ClientQuotaRecord,
        14,
        0,
        (
            _structs("entity", r.QuotaEntityPart),
            Field("key", _TEXT),
            Field("value", Kind.FLOAT64),
            Field("remove", Kind.BOOL),
        ),
    ),
    Schema(
        r.ProducerIdsRecord,
        15,
        0,
        (
            Field("broker_id", _I32),
            Field("broker_epoch", _I64),
            Field("next_producer_id", _I64),
        ),
    ),
    Schema(
        r.BrokerRegistrationChangeRecord,
        17,
        2,
        (
            Field("broker_id", _I32),
            Field("broker_epoch", _I64),
            Field("fenced", _I8, tag=0, default=0),
            Field("in_controlled_shutdown", _I8, since=1, tag=1, default=0),
            Field("log_dirs", _UUID, since=2, tag=2, default=(), many=True),
        ),
    ),
    Schema(
        r.AccessControlEntryRecord,
        18,
        0,
        (
            Field("id", _UUID),
            Field("resource_type", _I8),
            Field("resource_name", _TEXT),
            Field("pattern_type", _I8),
            Field("principal", _TEXT),
            Field("host", _TEXT),
            Field("operation", _I8),
            Field("permission_type", _I8),
        ),
    ),
    Schema(r.RemoveAccessControlEntryRecord, 19, 0, (Field("id", _UUID),)),
    Schema(r.NoOpRecord, 20, 0, ()),
    Schema(r.ZkMigrationStateRecord, 21, 0, (Field("zk_migration_state", _I8),)),
    Schema(
        r.RemoveUserScramCredentialRecord, 22, 0, (Field("name", _TEXT), Field("mechanism", _I8))
    ),
    Schema(r.BeginTransactionRecord, 23, 0, (Field("name", _TEXT, tag=0, nullable=True),)),
    Schema(r.EndTransactionRecord, 24, 0, ()),
    Schema(r.AbortTransactionRecord, 25, 0, (Field("reason", _TEXT, tag=0, nullable=True),)),
    Schema(r.RemoveDelegationTokenRecord, 26, 0, (Field("token_id", _TEXT),)),
    Schema(
        r.RegisterControllerRecord,
        27,
        0,
        (
            Field("controller_id", _I32),
            Field("incarnation_id", _UUID),
            Field("zk_migration_ready", Kind.BOOL),
            _ENDPOINTS,
            _FEATURES,
        ),
    ),
    Schema(r.ClearElrRecord, 28, 0, (Field("topic_name", _TEXT),)),
)

SCHEMAS: Mapping[type, Schema] = MappingProxyType({schema.record: schema for schema in _ALL})
BY_TYPE_ID: Mapping[int, Schema] = MappingProxyType({schema.type_id: schema for schema in _ALL})
BY_NAME: Mapping[str, Schema] = MappingProxyType({schema.name: schema for schema in _ALL})
