"""The messages that brokers and standby controllers send to the active KRaft controller."""

from __future__ import annotations

from kedge.protocol.quorum_messages import ERROR, THROTTLE
from kedge.protocol.schema import (
    BOOL,
    INT16,
    INT32,
    INT64,
    NULLABLE_BYTES,
    NULLABLE_STRING,
    STRING,
    TOPIC_ID,
    UINT16,
    ArrayOf,
    Field,
    struct_of,
)

LISTENER = struct_of(
    "Listener",
    Field("name", STRING),
    Field("host", STRING),
    Field("port", UINT16),
    Field("security_protocol", INT16, default=0),
)
FEATURE = struct_of(
    "Feature", Field("name", STRING), Field("lowest", INT16), Field("highest", INT16)
)

BROKER_REGISTRATION_REQUEST = struct_of(
    "BrokerRegistrationRequest",
    Field("broker_id", INT32),
    Field("cluster_id", STRING),
    Field("incarnation", TOPIC_ID),
    Field("listeners", ArrayOf(LISTENER), default=()),
    Field("features", ArrayOf(FEATURE), default=()),
    Field("rack", NULLABLE_STRING),
    Field("is_migrating", BOOL, 1, default=False),
    Field("directories", ArrayOf(TOPIC_ID), 2, default=()),
    Field("previous_epoch", INT64, 3, default=-1),
)
BROKER_REGISTRATION_RESPONSE = struct_of(
    "BrokerRegistrationResponse", THROTTLE, ERROR, Field("broker_epoch", INT64, default=-1)
)

BROKER_HEARTBEAT_REQUEST = struct_of(
    "BrokerHeartbeatRequest",
    Field("broker_id", INT32),
    Field("broker_epoch", INT64, default=-1),
    Field("metadata_offset", INT64),
    Field("want_fence", BOOL, default=False),
    Field("want_shutdown", BOOL, default=False),
    Field("offline_directories", ArrayOf(TOPIC_ID), 1, tag=0, default=()),
)
BROKER_HEARTBEAT_RESPONSE = struct_of(
    "BrokerHeartbeatResponse",
    THROTTLE,
    ERROR,
    Field("is_caught_up", BOOL, default=False),
    Field("is_fenced", BOOL, default=True),
    Field("should_shut_down", BOOL, default=False),
)

_PARTITION = struct_of("Partition", Field("index", INT32))
_TOPIC = struct_of("Topic", Field("topic_id", TOPIC_ID), Field("partitions", ArrayOf(_PARTITION)))
_DIRECTORY = struct_of("Directory", Field("id", TOPIC_ID), Field("topics", ArrayOf(_TOPIC)))
ASSIGN_DIRECTORIES_REQUEST = struct_of(
    "AssignReplicasToDirsRequest",
    Field("broker_id", INT32),
    Field("broker_epoch", INT64, default=-1),
    Field("directories", ArrayOf(_DIRECTORY), default=()),
)
ASSIGNED_PARTITION = struct_of("AssignedPartition", Field("index", INT32), ERROR)
ASSIGNED_TOPIC = struct_of(
    "AssignedTopic", Field("topic_id", TOPIC_ID), Field("partitions", ArrayOf(ASSIGNED_PARTITION))
)
ASSIGNED_DIRECTORY = struct_of(
    "AssignedDirectory", Field("id", TOPIC_ID), Field("topics", ArrayOf(ASSIGNED_TOPIC))
)
ASSIGN_DIRECTORIES_RESPONSE = struct_of(
    "AssignReplicasToDirsResponse",
    THROTTLE,
    ERROR,
    Field("directories", ArrayOf(ASSIGNED_DIRECTORY), default=()),
)

ENVELOPE_REQUEST = struct_of(
    "EnvelopeRequest",
    Field("request", NULLABLE_BYTES, default=b""),
    Field("principal", NULLABLE_BYTES),
    Field("client_address", NULLABLE_BYTES, default=b""),
)
ENVELOPE_RESPONSE = struct_of("EnvelopeResponse", Field("response", NULLABLE_BYTES), ERROR)
PRINCIPAL = struct_of(
    "Principal",
    Field("type", STRING),
    Field("name", STRING),
    Field("token_authenticated", BOOL, default=False),
)

CONTROLLER_REGISTRATION_REQUEST = struct_of(
    "ControllerRegistrationRequest",
    Field("controller_id", INT32),
    Field("incarnation", TOPIC_ID),
    Field("migration_ready", BOOL, default=False),
    Field("listeners", ArrayOf(LISTENER), default=()),
    Field("features", ArrayOf(FEATURE), default=()),
)
CONTROLLER_REGISTRATION_RESPONSE = struct_of(
    "ControllerRegistrationResponse", THROTTLE, ERROR, Field("message", NULLABLE_STRING)
)

UNREGISTER_BROKER_REQUEST = struct_of("UnregisterBrokerRequest", Field("broker_id", INT32))
UNREGISTER_BROKER_RESPONSE = struct_of(
    "UnregisterBrokerResponse", THROTTLE, ERROR, Field("message", NULLABLE_STRING)
)
