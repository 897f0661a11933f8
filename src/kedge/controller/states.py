"""The states of partitions and replicas, and which state may follow which.

Each table answers for a wanted state: from which states may it be reached? A move that the table
does not allow is logged and left undone; it never stops the moves of others in the same batch.

    partition:  NonExistent → New → Online ⇄ Offline → NonExistent
    replica:    NonExistent → New → Online ⇄ Offline → DeletionStarted → DeletionSuccessful
                (→ NonExistent), with DeletionIneligible for those that could not be deleted yet
"""

from __future__ import annotations

from enum import Enum


class PartitionState(Enum):
    """What the controller has done for a partition so far. Kafka's names, as logs print them."""

    NON_EXISTENT = "NonExistentPartition"
    NEW = "NewPartition"  # assigned, never had a leader
    ONLINE = "OnlinePartition"  # has had a leader and was not seen to lose it
    OFFLINE = "OfflinePartition"  # its leader is gone


class ReplicaState(Enum):
    """What the controller has told the broker of a replica so far."""

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
