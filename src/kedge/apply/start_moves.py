"""Starts moves on a cluster; what the cluster refuses is returned, for the run to set aside."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kedge.cluster.port import Cluster, Replica
from kedge.errors import KedgeError, ReplicaNotAvailable, Unauthorised, Unavailable
from kedge.execution import Observation, Target, log_dir_requests
from kedge.model import TopicPartition
from kedge.plan import Change, PartitionReplica

Refusals = dict[TopicPartition, KedgeError]


def start_moves(
    cluster: Cluster,
    changes: Sequence[Change],
    seen: Observation,
    target: Target,
    on_note: Callable[[str], None],
) -> Refusals:
    """Start moves; brokers are given log directories first, so that replicas begin there."""
    refused: Refusals = {}
    try:
        refused = _send_log_dirs(cluster, log_dir_requests(changes, seen, target))
        moves = {c.tp: c.after for c in changes if _needs_reassignment(c, seen)}
        answers = cluster.alter_reassignments(moves) if moves else {}
    except Unauthorised as refusal:
        return dict.fromkeys((change.tp for change in changes), refusal)
    except Unavailable as fault:  # the next observation shows whether they have started
        on_note(f"no response from the cluster ({fault.what}); retrying")
        return refused
    for tp, refusal in answers.items():
        if refusal is not None and not refusal.retriable:
            refused[tp] = refusal
    return refused


def _needs_reassignment(change: Change, seen: Observation) -> bool:
    return change.tp in seen.moving or seen.replicas.get(change.tp) != change.after


def _send_log_dirs(cluster: Cluster, wanted: Mapping[PartitionReplica, str]) -> Refusals:
    if not wanted:
        return {}
    requests = {Replica(*replica): path for replica, path in wanted.items()}
    return {
        TopicPartition(replica.topic, replica.partition): refusal
        for replica, refusal in cluster.alter_log_dirs(requests).items()
        # A replica that does not exist yet is created in the directory that was just sent.
        if refusal is not None
        and not isinstance(refusal, ReplicaNotAvailable)
        and not refusal.retriable
    }
