"""The messages of a KRaft quorum, as no client library describes them: raft's own requests.

Names and versions are Kafka's. A field that a version lacks has its default when it is read.
"""

from __future__ import annotations

from kedge.protocol.schema import (
    BOOL,
    INT8,
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
    Struct,
    struct_of,
)

INT32_MAX, INT64_MAX = 2**31 - 1, 2**63 - 1

CLUSTER_ID = Field("cluster_id", NULLABLE_STRING)
THROTTLE = Field("throttle_ms", INT32, default=0)
ERROR = Field("error", INT16, default=0)


NAMED_ENDPOINT = struct_of(
    "NamedEndpoint", Field("name", STRING), Field("host", STRING), Field("port", UINT16)
)
NODE_ENDPOINT = struct_of(
    "NodeEndpoint", Field("node_id", INT32), Field("host", STRING), Field("port", UINT16)
)


def _node_endpoints(since: int) -> Field:
    return Field("endpoints", ArrayOf(NODE_ENDPOINT), since, tag=0, default=())


def _topics(partition: Struct) -> Field:
    topic = struct_of("Topic", Field("name", STRING), Field("partitions", ArrayOf(partition)))
    return Field("topics", ArrayOf(topic), default=())


# ---- Vote ----------------------------------------------------------------------------------------

VOTE_PARTITION = struct_of(
    "VotePartition",
    Field("index", INT32, default=0),
    Field("replica_epoch", INT32),
    Field("replica_id", INT32),
    Field("replica_directory", TOPIC_ID, 1),
    Field("voter_directory", TOPIC_ID, 1),
    Field("last_epoch", INT32),
    Field("last_offset", INT64),
    Field("pre_vote", BOOL, 2, default=False),
)
VOTE_REQUEST = struct_of(
    "VoteRequest", CLUSTER_ID, Field("voter_id", INT32, 1, default=-1), _topics(VOTE_PARTITION)
)
VOTE_OUTCOME = struct_of(
    "VoteOutcome",
    Field("index", INT32, default=0),
    ERROR,
    Field("leader_id", INT32),
    Field("leader_epoch", INT32),
    Field("granted", BOOL),
)
VOTE_RESPONSE = struct_of("VoteResponse", ERROR, _topics(VOTE_OUTCOME), _node_endpoints(1))

# ---- BeginQuorumEpoch, EndQuorumEpoch ------------------------------------------------------------

BEGIN_PARTITION = struct_of(
    "BeginPartition",
    Field("index", INT32, default=0),
    Field("voter_directory", TOPIC_ID, 1),
    Field("leader_id", INT32),
    Field("leader_epoch", INT32),
)
BEGIN_QUORUM_EPOCH_REQUEST = struct_of(
    "BeginQuorumEpochRequest",
    CLUSTER_ID,
    Field("voter_id", INT32, 1, default=-1),
    _topics(BEGIN_PARTITION),
    Field("endpoints", ArrayOf(NAMED_ENDPOINT), 1, default=()),
)
EPOCH_OUTCOME = struct_of(
    "EpochOutcome",
    Field("index", INT32, default=0),
    ERROR,
    Field("leader_id", INT32),
    Field("leader_epoch", INT32),
)
BEGIN_QUORUM_EPOCH_RESPONSE = struct_of(
    "BeginQuorumEpochResponse", ERROR, _topics(EPOCH_OUTCOME), _node_endpoints(1)
)
SUCCESSOR = struct_of("Successor", Field("id", INT32), Field("directory", TOPIC_ID))
END_PARTITION = struct_of(
    "EndPartition",
    Field("index", INT32, default=0),
    Field("leader_id", INT32),
    Field("leader_epoch", INT32),
    Field("successor_ids", ArrayOf(INT32), until=0, default=()),
    Field("successors", ArrayOf(SUCCESSOR), 1, default=()),
)
END_QUORUM_EPOCH_REQUEST = struct_of(
    "EndQuorumEpochRequest",
    CLUSTER_ID,
    _topics(END_PARTITION),
    Field("endpoints", ArrayOf(NAMED_ENDPOINT), 1, default=()),
)
END_QUORUM_EPOCH_RESPONSE = struct_of(
    "EndQuorumEpochResponse", ERROR, _topics(EPOCH_OUTCOME), _node_endpoints(1)
)

# ---- Fetch ---------------------------------------------------------------------------------------

FETCH_PARTITION = struct_of(
    "FetchPartition",
    Field("index", INT32, default=0),
    Field("leader_epoch", INT32, default=-1),
    Field("offset", INT64),
    Field("last_epoch", INT32, default=-1),
    Field("log_start", INT64, default=-1),
    Field("max_bytes", INT32, default=0),
    Field("replica_directory", TOPIC_ID, 17, tag=0),
    Field("high_watermark", INT64, 18, tag=1, default=INT64_MAX),
)
FETCH_TOPIC = struct_of(
    "FetchTopic",
    Field("name", STRING, until=12, default=""),
    Field("topic_id", TOPIC_ID, 13),
    Field("partitions", ArrayOf(FETCH_PARTITION)),
)
FORGOTTEN_TOPIC = struct_of(
    "ForgottenTopic",
    Field("name", STRING, until=12, default=""),
    Field("topic_id", TOPIC_ID, 13),
    Field("partitions", ArrayOf(INT32)),
)
REPLICA_STATE = struct_of(
    "ReplicaState", Field("id", INT32, default=-1), Field("epoch", INT64, default=-1)
)
FETCH_REQUEST = struct_of(
    "FetchRequest",
    Field("cluster_id", NULLABLE_STRING, tag=0),
    Field("replica_id", INT32, until=14, default=-1),
    Field("replica_state", REPLICA_STATE, 15, tag=1, default=REPLICA_STATE()),
    Field("max_wait_ms", INT32, default=0),
    Field("min_bytes", INT32, default=0),
    Field("max_bytes", INT32, default=INT32_MAX),
    Field("isolation", INT8, default=0),
    Field("session_id", INT32, default=0),
    Field("session_epoch", INT32, default=-1),
    Field("topics", ArrayOf(FETCH_TOPIC), default=()),
    Field("forgotten", ArrayOf(FORGOTTEN_TOPIC), default=()),
    Field("rack", STRING, default=""),
)
EPOCH_END = struct_of(
    "EpochEnd", Field("epoch", INT32, default=-1), Field("end_offset", INT64, default=-1)
)
LEADER = struct_of("Leader", Field("id", INT32, default=-1), Field("epoch", INT32, default=-1))
SNAPSHOT_ID = struct_of(
    "SnapshotId", Field("end_offset", INT64, default=-1), Field("epoch", INT32, default=-1)
)
ABORTED = struct_of("Aborted", Field("producer_id", INT64), Field("first_offset", INT64))
FETCHED_PARTITION = struct_of(
    "FetchedPartition",
    Field("index", INT32, default=0),
    ERROR,
    Field("high_watermark", INT64, default=-1),
    Field("last_stable", INT64, default=-1),
    Field("log_start", INT64, default=-1),
    Field("aborted", ArrayOf(ABORTED, nullable=True)),
    Field("preferred_replica", INT32, default=-1),
    Field("records", NULLABLE_BYTES, default=b""),
    Field("diverging", EPOCH_END, tag=0, default=EPOCH_END()),
    Field("leader", LEADER, tag=1, default=LEADER()),
    Field("snapshot", SNAPSHOT_ID, tag=2, default=SNAPSHOT_ID()),
)
FETCHED_TOPIC = struct_of(
    "FetchedTopic",
    Field("name", STRING, until=12, default=""),
    Field("topic_id", TOPIC_ID, 13),
    Field("partitions", ArrayOf(FETCHED_PARTITION)),
)
FETCH_ENDPOINT = struct_of(
    "FetchEndpoint",
    Field("node_id", INT32),
    Field("host", STRING),
    Field("port", INT32),
    Field("rack", NULLABLE_STRING),
)
FETCH_RESPONSE = struct_of(
    "FetchResponse",
    THROTTLE,
    ERROR,
    Field("session_id", INT32, default=0),
    Field("topics", ArrayOf(FETCHED_TOPIC), default=()),
    Field("endpoints", ArrayOf(FETCH_ENDPOINT), 16, tag=0, default=()),
)

# ---- FetchSnapshot -------------------------------------------------------------------------------

SNAPSHOT_POSITION = struct_of(
    "SnapshotPosition",
    Field("index", INT32, default=0),
    Field("leader_epoch", INT32),
    Field("snapshot", SNAPSHOT_ID),
    Field("position", INT64),
    Field("replica_directory", TOPIC_ID, 1, tag=0),
)
FETCH_SNAPSHOT_REQUEST = struct_of(
    "FetchSnapshotRequest",
    Field("cluster_id", NULLABLE_STRING, tag=0),
    Field("replica_id", INT32, default=-1),
    Field("max_bytes", INT32, default=INT32_MAX),
    _topics(SNAPSHOT_POSITION),
)
SNAPSHOT_PART = struct_of(
    "SnapshotPart",
    Field("index", INT32, default=0),
    ERROR,
    Field("snapshot", SNAPSHOT_ID, default=SNAPSHOT_ID(end_offset=0, epoch=0)),
    Field("size", INT64, default=0),
    Field("position", INT64, default=0),
    Field("data", NULLABLE_BYTES, default=b""),
    Field("leader", LEADER, tag=0, default=LEADER(id=0, epoch=0)),
)
FETCH_SNAPSHOT_RESPONSE = struct_of(
    "FetchSnapshotResponse", THROTTLE, ERROR, _topics(SNAPSHOT_PART), _node_endpoints(1)
)

# ---- voters that change --------------------------------------------------------------------------

VERSION_RANGE = struct_of(
    "VersionRange", Field("lowest", INT16, default=0), Field("highest", INT16, default=0)
)
ADD_VOTER_REQUEST = struct_of(
    "AddRaftVoterRequest",
    CLUSTER_ID,
    Field("timeout_ms", INT32, default=0),
    Field("voter_id", INT32),
    Field("voter_directory", TOPIC_ID),
    Field("listeners", ArrayOf(NAMED_ENDPOINT)),
)
VOTER_CHANGE_RESPONSE = struct_of(
    "VoterChangeResponse", THROTTLE, ERROR, Field("message", NULLABLE_STRING)
)
REMOVE_VOTER_REQUEST = struct_of(
    "RemoveRaftVoterRequest",
    CLUSTER_ID,
    Field("voter_id", INT32),
    Field("voter_directory", TOPIC_ID),
)
UPDATE_VOTER_REQUEST = struct_of(
    "UpdateRaftVoterRequest",
    CLUSTER_ID,
    Field("leader_epoch", INT32),
    Field("voter_id", INT32),
    Field("voter_directory", TOPIC_ID),
    Field("listeners", ArrayOf(NAMED_ENDPOINT)),
    Field("kraft_version", VERSION_RANGE),
)
CURRENT_LEADER = struct_of(
    "CurrentLeader",
    Field("id", INT32, default=-1),
    Field("epoch", INT32, default=-1),
    Field("host", STRING, default=""),
    Field("port", INT32, default=0),
)
UPDATE_VOTER_RESPONSE = struct_of(
    "UpdateRaftVoterResponse",
    THROTTLE,
    ERROR,
    Field("leader", CURRENT_LEADER, tag=0, default=CURRENT_LEADER()),
)
