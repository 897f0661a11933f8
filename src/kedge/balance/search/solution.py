"""What the search returns, and what it reports while it runs."""

from __future__ import annotations

from dataclasses import dataclass

from kedge.balance.goals.problem import Bools, Floats, Int32s


@dataclass(frozen=True, slots=True, eq=False)
class CurvePoint:
    """How even the cluster is for so many bytes: the search after one step of the tolerance."""

    epsilon: float  # the tolerance of this step: (1 + epsilon) × the best possible
    bytes_moved: float
    replica_moves: int
    leader_changes: int
    reached: Floats  # float64[R]: largest load ÷ (best possible × capacity), 0 where not counted


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the search is: `over` brokers are still outside the tolerance of this step.

    `curve` has the steps of the tolerance so far; `columns` names the loads of its points.
    """

    phase: str  # "mandatory", "drain", "undo" or "anneal"
    epsilon: float
    bytes_moved: float
    bytes_lower_bound: float
    replica_moves: int
    over: int
    curve: tuple[CurvePoint, ...] = ()
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """A new assignment, what it costs and what it reaches.

    `replicas` is int32[P, K], broker indexes, column 0 leads, -1 pads. `unplaced` counts the wanted
    replicas that no broker may take; hard goals are met when it is 0, `left_behind` (replicas on
    brokers that must end empty) is 0 and `over_max_replicas` is 0.
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
    over_max_replicas: int
    curve: tuple[CurvePoint, ...]
    interrupted: bool = False  # the time was over before the search was

    @property
    def feasible(self) -> bool:
        """Whether no hard goal is broken: mandatory moves are made, and every replica is placed."""
        return self.unplaced == 0 and self.left_behind == 0 and self.over_max_replicas == 0

    @property
    def balanced(self) -> bool:
        """Whether every broker is within the tolerance on every resource that counts."""
        return bool(self.within.all())
