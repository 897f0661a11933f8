"""The load of each replica and of each broker: disk, bytes in, bytes out, cpu.

A leader receives what producers write and sends it to consumers and to its n-1 followers; a
follower receives the same bytes and sends nothing. For a partition with n replicas:

              disk   in    out               cpu
    leader    size   in    out + (n-1)·in    leader_in·in + leader_out·(out + (n-1)·in)
    follower  size   in    0                 follower_in·in

Unknown loads count as 0; without a cpu model cpu is 0. For a partition without a leader, the
preferred replica counts as the leader, since a plan has to reserve capacity for it.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from kedge.model.columns import Floats
from kedge.model.snapshot import CpuModel, Snapshot

NO_CPU = CpuModel(0.0, 0.0, 0.0)


class Resource(IntEnum):
    """The columns of a load, in order."""

    DISK = 0
    BYTES_IN = 1
    BYTES_OUT = 2
    CPU = 3


def replica_loads(snapshot: Snapshot) -> Floats:
    """float64[P, K, 4]: the load of each replica; zeros where there is none."""
    replicas = snapshot.assignment.replicas
    there = replicas >= 0
    leads = there & (replicas == snapshot.acting_leader[:, None])
    loads = np.zeros((*replicas.shape, len(Resource)))
    leader, follower = _leader_and_follower(snapshot)
    loads[leads] = leader[np.nonzero(leads)[0]]
    loads[there & ~leads] = follower[np.nonzero(there & ~leads)[0]]
    return loads


def _leader_and_follower(snapshot: Snapshot) -> tuple[Floats, Floats]:
    """float64[P, 4] each: the load of a partition's leader, and of each follower."""
    cpu = snapshot.cpu_model or NO_CPU
    size = np.maximum(snapshot.size, 0).astype(np.float64)
    taken, consumed = np.nan_to_num(snapshot.bytes_in), np.nan_to_num(snapshot.bytes_out)
    sent = consumed + (snapshot.assignment.rf - 1) * taken
    leader_cpu = cpu.leader_in * taken + cpu.leader_out * sent
    leader = np.stack([size, taken, sent, leader_cpu], axis=1)
    follower = np.stack([size, taken, np.zeros_like(taken), cpu.follower_in * taken], axis=1)
    return leader, follower


def broker_loads(snapshot: Snapshot) -> Floats:
    """float64[B, 4]: the load of each broker, in the order of `brokers`."""
    replicas = snapshot.assignment.replicas
    there = replicas >= 0
    broker = snapshot.broker_index(replicas)[there]
    loads = replica_loads(snapshot)[there]
    count = len(snapshot.brokers)
    sums = [np.bincount(broker, loads[:, resource], count) for resource in Resource]
    return np.stack(sums, axis=1).astype(np.float64)
