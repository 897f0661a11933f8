"""What if: scenarios as values, from a grid or from JSON, and what each means for the planner.

A scenario changes the snapshot (traffic and sizes by a factor) and the goals (brokers that go and
come, factors, tolerances). Everything else of the goals stays as the caller has it.

    axis of a grid       values                    means
    traffic              1.5                       bytes in and out of every partition, times this
    size                 1.5                       bytes on disk of every partition, times this
    lose-rack            r0, r0+r1                 the brokers of these racks are to end empty
    add-brokers          4                         so many more, in the racks that have fewest
    replication-factor   3, orders.*:3             of all topics, or of those that fit
    tolerance            0.05                      as in `kedge plan --tolerance`
    seed                 7                         as in `kedge plan --seed`

`none` leaves an axis as it is. In JSON the same names have `_` for `-`, `lose_racks` is a list,
`replication_factor` a number or an object, and `goals` may hold whatever a plan's goals may.
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
LARGEST_FACTOR = 1e6
MOST_BROKERS = 10_000


@dataclass(frozen=True, slots=True)
class Scenario:
    """One question; the defaults change nothing."""

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
            if not 0 < getattr(self, name) <= LARGEST_FACTOR:
                raise InvalidRequest(f"{name} times {getattr(self, name)}", hint="write 1.5")
        if not 0 <= self.add_brokers <= MOST_BROKERS:
            raise InvalidRequest(f"{self.add_brokers} brokers to add")

    @property
    def label(self) -> str:
        """What people call it: its own name, or what it changes."""
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

    def of(self, snapshot: Snapshot, goals: Goals) -> tuple[Snapshot, Goals]:
        """The snapshot and the goals to hand to the planner."""
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
        """The brokers of the racks that are lost."""
        there = sorted({broker.rack for broker in snapshot.brokers if broker.rack is not None})
        for rack in self.lose_racks:
            if rack not in there:
                hint = f"there are {', '.join(there[:10])}" if there else "brokers have no racks"
                raise InvalidRequest(f"{self.label}: there is no rack {rack}", hint=hint)
        return frozenset(int(b.id) for b in snapshot.brokers if b.rack in self.lose_racks)

    def _new_brokers(
        self, snapshot: Snapshot, goals: Goals, lost: frozenset[int]
    ) -> list[NewBroker]:
        taken = [int(broker.id) for broker in snapshot.brokers]
        taken += [broker.id for broker in goals.add_brokers]
        first = max(taken, default=-1) + 1
        stay = [b for b in snapshot.brokers if b.state.stays and b.id not in lost]
        racks = _emptiest_racks(stay or list(snapshot.brokers), self.add_brokers)
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


def without_copy(snapshot: Snapshot, lost: Iterable[int]) -> int:
    """How many partitions have no replica anywhere else: a plan can move them, a fire cannot."""
    replicas = snapshot.assignment.replicas
    kept = (replicas >= 0) & ~np.isin(replicas, sorted(lost))
    return int((~kept.any(axis=1)).sum())


def _emptiest_racks(brokers: list[Broker], count: int) -> list[str | None]:
    """A rack for each new broker; none where the others have none."""
    if any(broker.rack is None for broker in brokers) or not brokers:
        return [None] * count
    held = Counter(broker.rack for broker in brokers)
    racks: list[str | None] = []
    for _ in range(count):
        rack = min(held, key=lambda one: (held[one], one or ""))
        held[rack] += 1
        racks.append(rack)
    return racks
