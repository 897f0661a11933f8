"""The requests of KRaft that this project encodes itself: keys, versions, codec.

With what kafka-python describes (`apis`) this is everything that a controller's listener serves.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from kedge.protocol import controller_messages as c
from kedge.protocol import quorum_messages as q
from kedge.protocol.broker_apis import ALLOCATE_PRODUCER_IDS, ALTER_PARTITION, BrokerApi

FETCH = BrokerApi(1, "Fetch", q.FETCH_REQUEST, q.FETCH_RESPONSE, 12, 18, 12)
VOTE = BrokerApi(52, "Vote", q.VOTE_REQUEST, q.VOTE_RESPONSE, 0, 2, 0)
BEGIN_QUORUM_EPOCH = BrokerApi(
    53, "BeginQuorumEpoch", q.BEGIN_QUORUM_EPOCH_REQUEST, q.BEGIN_QUORUM_EPOCH_RESPONSE, 0, 1, 1
)
END_QUORUM_EPOCH = BrokerApi(
    54, "EndQuorumEpoch", q.END_QUORUM_EPOCH_REQUEST, q.END_QUORUM_EPOCH_RESPONSE, 0, 1, 1
)
FETCH_SNAPSHOT = BrokerApi(
    59, "FetchSnapshot", q.FETCH_SNAPSHOT_REQUEST, q.FETCH_SNAPSHOT_RESPONSE, 0, 1, 0
)
ADD_VOTER = BrokerApi(80, "AddRaftVoter", q.ADD_VOTER_REQUEST, q.VOTER_CHANGE_RESPONSE, 0, 0, 0)
REMOVE_VOTER = BrokerApi(
    81, "RemoveRaftVoter", q.REMOVE_VOTER_REQUEST, q.VOTER_CHANGE_RESPONSE, 0, 0, 0
)
UPDATE_VOTER = BrokerApi(
    82, "UpdateRaftVoter", q.UPDATE_VOTER_REQUEST, q.UPDATE_VOTER_RESPONSE, 0, 0, 0
)
ENVELOPE = BrokerApi(58, "Envelope", c.ENVELOPE_REQUEST, c.ENVELOPE_RESPONSE, 0, 0, 0)
BROKER_REGISTRATION = BrokerApi(
    62, "BrokerRegistration", c.BROKER_REGISTRATION_REQUEST, c.BROKER_REGISTRATION_RESPONSE, 0, 4, 0
)
BROKER_HEARTBEAT = BrokerApi(
    63, "BrokerHeartbeat", c.BROKER_HEARTBEAT_REQUEST, c.BROKER_HEARTBEAT_RESPONSE, 0, 1, 0
)
UNREGISTER_BROKER = BrokerApi(
    64, "UnregisterBroker", c.UNREGISTER_BROKER_REQUEST, c.UNREGISTER_BROKER_RESPONSE, 0, 0, 0
)
CONTROLLER_REGISTRATION = BrokerApi(
    70,
    "ControllerRegistration",
    c.CONTROLLER_REGISTRATION_REQUEST,
    c.CONTROLLER_REGISTRATION_RESPONSE,
    0,
    0,
    0,
)
ASSIGN_DIRECTORIES = BrokerApi(
    73,
    "AssignReplicasToDirs",
    c.ASSIGN_DIRECTORIES_REQUEST,
    c.ASSIGN_DIRECTORIES_RESPONSE,
    0,
    0,
    0,
)

QUORUM_APIS: Mapping[int, BrokerApi] = MappingProxyType(
    {
        api.key: api
        for api in (
            FETCH,
            VOTE,
            BEGIN_QUORUM_EPOCH,
            END_QUORUM_EPOCH,
            FETCH_SNAPSHOT,
            ADD_VOTER,
            REMOVE_VOTER,
            UPDATE_VOTER,
        )
    }
)
KRAFT_APIS: Mapping[int, BrokerApi] = MappingProxyType(
    {
        **QUORUM_APIS,
        **{
            api.key: api
            for api in (
                ENVELOPE,
                BROKER_REGISTRATION,
                BROKER_HEARTBEAT,
                UNREGISTER_BROKER,
                CONTROLLER_REGISTRATION,
                ASSIGN_DIRECTORIES,
                ALTER_PARTITION,
                ALLOCATE_PRODUCER_IDS,
            )
        },
    }
)
