"""A live cluster as the loop observes it."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np

from kedge.apply.observe import min_isr_of
from kedge.cluster.port import Cluster
from kedge.cluster.snapshot_taker import take_snapshot
from kedge.errors import KedgeError, Unauthorised, Unavailable
from kedge.model import BrokerId, Snapshot
from kedge.watch.effects import Unreachable
from kedge.watch.samples import Observed, out_of_sync

ROUND_TRIP_MS_MAX = 5_000


def observed(cluster: Cluster, now: float) -> Observed:
    """The cluster as it is now, with round trips; minima of the ISR where replicas are missing."""
    moment = datetime.fromtimestamp(now, UTC).replace(microsecond=0)
    snapshot = take_snapshot(cluster, taken_at=moment)
    alive = [each.id for each in snapshot.brokers if each.state.stays]
    return Observed(now, snapshot, _round_trips(cluster, alive), _min_isr(cluster, snapshot))


def observed_or_why(cluster: Cluster, now: float) -> Observed | Unreachable:
    """The same, or why the cluster cannot be read."""
    try:
        return observed(cluster, now)
    except (Unavailable, Unauthorised) as fault:
        return Unreachable(now, f"The cluster cannot be read: {fault.what}")


def _round_trips(cluster: Cluster, brokers: list[BrokerId]) -> dict[BrokerId, float]:
    found = cluster.round_trips(brokers, ROUND_TRIP_MS_MAX)
    return {b: 1000 * each for b, each in found.items() if not isinstance(each, KedgeError)}


def _min_isr(cluster: Cluster, snapshot: Snapshot) -> dict[str, int]:
    short, _ = out_of_sync(snapshot)
    assignment = snapshot.assignment
    topics = {assignment.key(row).topic for row in np.flatnonzero(short).tolist()}
    return dict(min_isr_of(cluster, sorted(topics))) if topics else {}
