"""What the search gives back, and what it says on the way."""

from __future__ import annotations

from dataclasses import dataclass

from kedge.balance.problem import Bools, Floats, Int32s


@dataclass(frozen=True, slots=True, eq=False)
class CurvePoint:
    """How even the cluster can be for so many bytes: one stop of the search on its way down."""

    epsilon: float  # every broker was asked to be within (1 + epsilon) × the best possible
    bytes_moved: float
    replica_moves: int
    leader_changes: int
    reached: Floats  # float64[R]: largest load ÷ (best possible × capacity), 0 where not counted


@dataclass(frozen=True, slots=True)
class Progress:
    """Where the search is: `over` brokers are still outside the tolerance asked for."""

    phase: str  # "forced", "drain", "polish" or "home"
    epsilon: float
    bytes_moved: float
    bytes_lower_bound: float
    replica_moves: int
    over: int


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """A new assignment with what it costs and what it reaches.

    `replicas` is int32[P, K], broker indexes, column 0 leads, -1 pads. `unplaced` counts the
    replicas that are wanted and that no broker may take; hard goals are met when it is 0,
    `left_behind` (replicas on brokers that must end empty) is 0 and `over_room` is 0.
    """

    replicas: Int32s
    loads: Floats  # float64[B, R]
    reached: Floats  # float64[R]: largest load ÷ (best possible × capacity)
    within: Bools  # bool[R]: every broker is within its target
    bytes_moved: float
    replica_moves: int
    leader_changes: int
    unplaced: int
    left_behind: int
    over_room: int
    curve: tuple[CurvePoint, ...]

    @property
    def feasible(self) -> bool:
        """No hard goal is broken: what must move has moved, and everything has a place."""
        return self.unplaced == 0 and self.left_behind == 0 and self.over_room == 0

    @property
    def balanced(self) -> bool:
        """Every broker is within the tolerance on every resource that counts."""
        return bool(self.within.all())
