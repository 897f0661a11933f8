"""What-if scenarios: each changes the snapshot and the goals of a plan.

A scenario scales traffic and sizes of the snapshot, and changes brokers, replication factors and
tolerance of the goals. All other goals are those of the caller.

    axis of a grid       values                    meaning
    traffic              1.5                       factor for bytes in and out of every partition
    size                 1.5                       factor for bytes on disk of every partition
    lose-rack            r0, r0+r1                 all replicas leave the brokers of these racks
    add-brokers          4                         new brokers, in the racks with the fewest brokers
    replication-factor   3, orders.*:3             for all topics, or for those that match
    tolerance            0.05                      as in `kedge plan --tolerance`
    seed                 7                         as in `kedge plan --seed`

`none` leaves an axis unchanged. In JSON the names have `_` for `-`, `lose_racks` is a list,
`replication_factor` a number or an object, and `goals` accepts all goals of a plan.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from kedge.balance import Goals, NewBroker, goals_from_json
from kedge.errors import InvalidRequest
from kedge.model import Broker, Snapshot

ALL_TOPICS = ".*"
FACTOR_MAX = 1e6
BROKERS_MAX = 10_000


@dataclass(frozen=True, slots=True)
class Scenario:
    """One scenario; the defaults change nothing."""

    name: str = ""
    traffic: float = 1.0
    size: float = 1.0
    lose_racks: tuple[str, ...] = ()
    add_brokers: int = 0
    replication_factor: Mapping[str, int] = field(default_factory=dict[str, int])
    tolerance: float | None = None
    seed: int = 0
    goals: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        for name in ("traffic", "size"):
            if not 0 < getattr(self, name) <= FACTOR_MAX:
                raise InvalidRequest(f"factor of {name} {getattr(self, name)}", hint="use 1.5")
        if not 0 <= self.add_brokers <= BROKERS_MAX:
            raise InvalidRequest(f"{self.add_brokers} brokers to add")

    @property
    def label(self) -> str:
        """Its name, or a description of its changes."""
        return self.name or ", ".join(self._changes()) or "as it is"

    def _changes(self) -> Iterable[str]:
        if self.traffic != 1:
            yield f"traffic ×{self.traffic:g}"
        if self.size != 1:
            yield f"size ×{self.size:g}"
        if self.lose_racks:
            yield f"lose {'+'.join(self.lose_racks)}"
        if self.add_brokers:
            yield f"+{self.add_brokers} brokers"
        for pattern, factor in self.replication_factor.items():
            yield f"rf {factor}" if pattern == ALL_TOPICS else f"rf of {pattern} {factor}"
        if self.tolerance is not None:
            yield f"tolerance {self.tolerance:g}"
        if self.seed:
            yield f"seed {self.seed}"

    def apply(self, snapshot: Snapshot, goals: Goals) -> tuple[Snapshot, Goals]:
        """The changed snapshot and goals."""
        given = goals_from_json({**goals.to_json(), **self.goals})
        lost = self.lost_brokers(snapshot)
        wanted = replace(
            given,
            tolerance=given.tolerance if self.tolerance is None else self.tolerance,
            remove_brokers=given.remove_brokers | lost,
            add_brokers=(*given.add_brokers, *self._new_brokers(snapshot, given, lost)),
            replication_factor={**given.replication_factor, **self.replication_factor},
        )
        return self._scaled(snapshot), wanted

    def lost_brokers(self, snapshot: Snapshot) -> frozenset[int]:
        """The brokers of the lost racks."""
        racks = sorted({broker.rack for broker in snapshot.brokers if broker.rack is not None})
        for rack in self.lose_racks:
            if rack not in racks:
                hint = f"racks: {', '.join(racks[:10])}" if racks else "the brokers have no racks"
                raise InvalidRequest(f"{self.label}: unknown rack {rack}", hint=hint)
        return frozenset(int(b.id) for b in snapshot.brokers if b.rack in self.lose_racks)

    def _new_brokers(
        self, snapshot: Snapshot, goals: Goals, lost: frozenset[int]
    ) -> list[NewBroker]:
        taken = [int(broker.id) for broker in snapshot.brokers]
        taken += [broker.id for broker in goals.add_brokers]
        first = max(taken, default=-1) + 1
        stay = [b for b in snapshot.brokers if b.state.stays and b.id not in lost]
        racks = _racks_with_fewest_brokers(stay or list(snapshot.brokers), self.add_brokers)
        return [NewBroker(first + place, rack) for place, rack in enumerate(racks)]

    def _scaled(self, snapshot: Snapshot) -> Snapshot:
        if self.traffic == self.size == 1:
            return snapshot
        size = snapshot.size
        if self.size != 1:
            larger = np.minimum(np.rint(size * self.size), 2.0**62)
            size = np.where(size < 0, size, larger).astype(np.int64)
        return replace(
            snapshot,
            size=size,
            bytes_in=snapshot.bytes_in * self.traffic,
            bytes_out=snapshot.bytes_out * self.traffic,
        )


def partitions_without_copy(snapshot: Snapshot, lost: Iterable[int]) -> int:
    """The number of partitions whose replicas are all on the lost brokers."""
    replicas = snapshot.assignment.replicas
    kept = (replicas >= 0) & ~np.isin(replicas, sorted(lost))
    return int((~kept.any(axis=1)).sum())


def _racks_with_fewest_brokers(brokers: list[Broker], count: int) -> list[str | None]:
    """The rack of each new broker; None if the other brokers have no racks."""
    if any(broker.rack is None for broker in brokers) or not brokers:
        return [None] * count
    held = Counter(broker.rack for broker in brokers)
    racks: list[str | None] = []
    for _ in range(count):
        rack = min(held, key=lambda one: (held[one], one or ""))
        held[rack] += 1
        racks.append(rack)
    return racks
