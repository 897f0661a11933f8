"""A live cluster as the loop observes it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import numpy as np

from kedge.apply.observe import min_isr_of, offline_log_dirs
from kedge.cluster.port import Cluster
from kedge.cluster.snapshot_taker import take_snapshot
from kedge.errors import KedgeError, Unauthorised, Unavailable, UnsupportedByCluster
from kedge.execution.health import OfflineLogDir
from kedge.model import BrokerId, Snapshot
from kedge.watch.effects import Unreachable
from kedge.watch.samples import Observed, out_of_sync

ROUND_TRIP_MS_MAX = 5_000
WithLoads = Callable[[Snapshot], Snapshot]  # puts the rates of partitions on it


def observed(cluster: Cluster, now: float, with_loads: WithLoads) -> Observed:
    """The cluster as it is now, with round trips; minima of the ISR where replicas are missing."""
    moment = datetime.fromtimestamp(now, UTC).replace(microsecond=0)
    snapshot = with_loads(take_snapshot(cluster, taken_at=moment))
    alive = [each.id for each in snapshot.brokers if each.state.stays]
    return Observed(
        now,
        snapshot,
        _round_trips(cluster, alive),
        _min_isr(cluster, snapshot),
        _offline_log_dirs(cluster, alive),
    )


def observed_or_why(cluster: Cluster, now: float, with_loads: WithLoads) -> Observed | Unreachable:
    """The same, or why the cluster cannot be read."""
    try:
        return observed(cluster, now, with_loads)
    except (Unavailable, Unauthorised) as fault:
        return Unreachable(now, f"The cluster cannot be read: {fault.what}")


def _round_trips(cluster: Cluster, brokers: list[BrokerId]) -> dict[BrokerId, float]:
    found = cluster.round_trips(brokers, ROUND_TRIP_MS_MAX)
    return {b: 1000 * each for b, each in found.items() if not isinstance(each, KedgeError)}


def _offline_log_dirs(cluster: Cluster, brokers: list[BrokerId]) -> tuple[OfflineLogDir, ...]:
    try:
        return tuple(offline_log_dirs(cluster, brokers))
    except UnsupportedByCluster:
        return ()


def _min_isr(cluster: Cluster, snapshot: Snapshot) -> dict[str, int]:
    short, _ = out_of_sync(snapshot)
    assignment = snapshot.assignment
    topics = {assignment.key(row).topic for row in np.flatnonzero(short).tolist()}
    return dict(min_isr_of(cluster, sorted(topics))) if topics else {}
