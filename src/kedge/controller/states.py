"""The states of partitions and replicas, and the legal transitions between them.

Each table lists, for a target state, the states from which it may be reached. A transition that the
table does not allow is logged and skipped; the others in the same batch proceed.

    partition:  NonExistent → New → Online ⇄ Offline → NonExistent
    replica:    NonExistent → New → Online ⇄ Offline → DeletionStarted → DeletionSuccessful
                (→ NonExistent), with DeletionIneligible for those that could not be deleted yet
"""

from __future__ import annotations

from enum import Enum


class PartitionState(Enum):
    """The state of a partition. Kafka's names, as its logs print them."""

    NON_EXISTENT = "NonExistentPartition"
    NEW = "NewPartition"  # assigned, never had a leader
    ONLINE = "OnlinePartition"  # has a leader, as far as is known
    OFFLINE = "OfflinePartition"  # its leader is not available


class ReplicaState(Enum):
    """The state of a replica, by the requests that its broker was sent."""

    NON_EXISTENT = "NonExistentReplica"
    NEW = "NewReplica"
    ONLINE = "OnlineReplica"
    OFFLINE = "OfflineReplica"
    DELETION_STARTED = "ReplicaDeletionStarted"
    DELETION_SUCCESSFUL = "ReplicaDeletionSuccessful"
    DELETION_INELIGIBLE = "ReplicaDeletionIneligible"


_P = PartitionState
PARTITION_MAY_COME_FROM: dict[PartitionState, frozenset[PartitionState]] = {
    _P.NON_EXISTENT: frozenset({_P.OFFLINE}),
    _P.NEW: frozenset({_P.NON_EXISTENT}),
    _P.ONLINE: frozenset({_P.NEW, _P.ONLINE, _P.OFFLINE}),
    _P.OFFLINE: frozenset({_P.NEW, _P.ONLINE, _P.OFFLINE}),
}

_R = ReplicaState
_ANY_HELD = frozenset({_R.NEW, _R.ONLINE, _R.OFFLINE, _R.DELETION_INELIGIBLE})
REPLICA_MAY_COME_FROM: dict[ReplicaState, frozenset[ReplicaState]] = {
    _R.NON_EXISTENT: frozenset({_R.DELETION_SUCCESSFUL}),
    _R.NEW: frozenset({_R.NON_EXISTENT}),
    _R.ONLINE: _ANY_HELD,
    _R.OFFLINE: _ANY_HELD,
    _R.DELETION_STARTED: frozenset({_R.OFFLINE}),
    _R.DELETION_SUCCESSFUL: frozenset({_R.DELETION_STARTED}),
    _R.DELETION_INELIGIBLE: frozenset({_R.OFFLINE, _R.DELETION_STARTED}),
}
