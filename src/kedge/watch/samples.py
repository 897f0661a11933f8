"""Samples: what the loop remembers of a cluster, one small record per moment.

A record has a row per broker and a few counts of partitions, so that weeks of them fit beside each
other. The newest moment is also there as a whole (`Observed`), for plans and checks.

    broker  alive  replicas  leaders  disk    capacity  round trip
    1       yes    400       133      1.2 TB  4 TB      2 ms
    2       no     400       0        1.2 TB  -         -          down: no capacity, no round trip
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kedge.balance.goals.apply_goals import rack_index, rack_limits
from kedge.balance.goals.task import most_in_one_rack
from kedge.execution.health import OfflineLogDir
from kedge.model import BrokerId, Snapshot
from kedge.model.columns import PAD, Bools
from kedge.model.load import Resource, broker_loads


@dataclass(frozen=True, slots=True)
class Observed:
    """A cluster at one moment; round trips in milliseconds, `min_isr` by topic where known."""

    at: float
    snapshot: Snapshot
    round_trips: Mapping[BrokerId, float] = field(default_factory=dict[BrokerId, float])
    min_isr: Mapping[str, int] = field(default_factory=dict[str, int])
    offline_log_dirs: tuple[OfflineLogDir, ...] = ()

    @property
    def alive(self) -> frozenset[BrokerId]:
        """The brokers that are alive."""
        return frozenset(each.id for each in self.snapshot.brokers if each.state.stays)


@dataclass(frozen=True, slots=True)
class BrokerSample:
    """One broker at one moment; bytes, bytes per second, milliseconds."""

    broker: int
    alive: bool
    rack: str | None
    replicas: int
    leaders: int
    disk: float
    capacity: float | None = None
    bytes_in: float = 0.0
    bytes_out: float = 0.0
    round_trip_ms: float | None = None

    @property
    def disk_share(self) -> float | None:
        """Of its capacity; None where that is unknown."""
        return self.disk / self.capacity if self.capacity else None


@dataclass(frozen=True, slots=True)
class Sample:
    """A cluster at one moment: its brokers, and how many partitions something is wrong with.

    `out_of_sync` misses replicas on live brokers, `leaderless` has no leader, `moving` is being
    reassigned, `leaders_away` has a preferred replica in sync that does not lead, `rack_crowded`
    has more replicas in one rack than it must.
    """

    at: float
    brokers: tuple[BrokerSample, ...]
    partitions: int = 0
    under_replicated: int = 0
    out_of_sync: int = 0
    leaderless: int = 0
    moving: int = 0
    leaders_away: int = 0
    rack_crowded: int = 0

    @property
    def down(self) -> tuple[int, ...]:
        """The brokers that hold replicas and are not alive."""
        return tuple(each.broker for each in self.brokers if not each.alive)

    def broker(self, broker: int) -> BrokerSample | None:
        """One broker, if it was there."""
        return next((each for each in self.brokers if each.broker == broker), None)


def sample_of(observed: Observed) -> Sample:
    """The record of a moment."""
    snapshot = observed.snapshot
    short, on_live = out_of_sync(snapshot)
    return Sample(
        observed.at,
        _brokers(observed),
        partitions=len(snapshot),
        under_replicated=int(short.sum()),
        out_of_sync=int(on_live.sum()),
        leaderless=int((snapshot.leader == PAD).sum()),
        moving=int(moving(snapshot).sum()),
        leaders_away=int(led_elsewhere(snapshot).sum()),
        rack_crowded=int(rack_crowded(snapshot).sum()),
    )


def _brokers(observed: Observed) -> tuple[BrokerSample, ...]:
    snapshot = observed.snapshot
    loads = broker_loads(snapshot)
    ids = snapshot.broker_ids
    replicas = snapshot.assignment.replicas
    held = np.bincount(snapshot.broker_index(replicas[replicas >= 0]), minlength=len(ids))
    led = snapshot.leader[np.isin(snapshot.leader, ids)]
    leads = np.bincount(snapshot.broker_index(led), minlength=len(ids))
    return tuple(
        BrokerSample(
            int(broker.id),
            broker.state.stays,
            broker.rack,
            int(held[place]),
            int(leads[place]),
            float(loads[place, Resource.DISK]),
            broker.capacity.disk,
            float(loads[place, Resource.BYTES_IN]),
            float(loads[place, Resource.BYTES_OUT]),
            observed.round_trips.get(broker.id),
        )
        for place, broker in enumerate(snapshot.brokers)
    )


# ---- partitions with something wrong ------------------------------------------------------------


def out_of_sync(snapshot: Snapshot) -> tuple[Bools, Bools]:
    """bool[P] each: a replica that should be in sync is not; one on a live broker is not."""
    replicas = snapshot.assignment.replicas
    wanted = (replicas >= 0) & ~_any_equal(replicas, snapshot.adding)
    missing = wanted & ~_any_equal(replicas, snapshot.isr) & snapshot.isr_known[:, None]
    alive = np.array([b.id for b in snapshot.brokers if b.state.stays], np.int32)
    on_live = missing & np.isin(replicas, alive)
    return _any(missing), _any(on_live)


def without_source(snapshot: Snapshot) -> Bools:
    """bool[P]: no replica in sync is on a live broker, so that nothing can be copied from."""
    alive = np.array([b.id for b in snapshot.brokers if b.state.stays], np.int32)
    return snapshot.isr_known & ~_any(np.isin(snapshot.isr, alive))


def moving(snapshot: Snapshot) -> Bools:
    """bool[P]: a reassignment is under way."""
    return _any(snapshot.adding >= 0) | _any(snapshot.removing >= 0)


def led_elsewhere(snapshot: Snapshot) -> Bools:
    """bool[P]: the preferred replica is alive and in sync, and another one leads."""
    preferred = snapshot.assignment.replicas[:, 0]
    alive = np.array([b.id for b in snapshot.brokers if b.state.stays], np.int32)
    in_sync = (snapshot.isr == preferred[:, None]).any(axis=1) & np.isin(preferred, alive)
    return in_sync & (snapshot.leader >= 0) & (snapshot.leader != preferred) & ~moving(snapshot)


def rack_crowded(snapshot: Snapshot) -> Bools:
    """bool[P]: more replicas in one rack than the racks of live brokers require."""
    index, counts = rack_index(snapshot.brokers)
    if not counts or not len(snapshot):
        return np.zeros(len(snapshot), np.bool_)
    stays = np.array([broker.state.stays for broker in snapshot.brokers])
    sizes = np.bincount(index[stays], minlength=int(index.max(initial=-1)) + 1).astype(np.int32)
    replicas = snapshot.assignment.replicas
    place = snapshot.broker_index(replicas)
    settled = (replicas >= 0) & ~_any_equal(replicas, snapshot.adding)
    racks = np.where(settled & stays[place], index[place], PAD).astype(np.int32)
    return most_in_one_rack(racks) > rack_limits(sizes, snapshot.wanted_rf)


def _any_equal(matrix: np.ndarray[Any, Any], others: np.ndarray[Any, Any]) -> Bools:
    """bool[P, K]: whether an entry is among the row's others."""
    return (matrix[:, :, None] == others[:, None, :]).any(axis=2)


def _any(matrix: Any) -> Bools:
    """bool[P]: whether any entry of a row is set."""
    return matrix.any(axis=1)
