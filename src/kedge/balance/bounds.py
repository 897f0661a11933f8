"""What no plan can beat: the best balance, and the fewest bytes that reach a given one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kedge.balance.joint import joint_bound
from kedge.balance.levels import best_levels, floors, mean_level
from kedge.balance.problem import Floats, Int32s, Problem

CONFLICT = 1.002  # a joint level below this is met by the tolerance and not worth asking for


@dataclass(frozen=True, slots=True, eq=False)
class Bounds:
    """Bounds with all that proves them; see `levels`, `joint` and `bytes_bound` for the proofs."""

    best: Floats  # float64[R]: best possible maximum of load ÷ capacity, each resource alone
    mean: Floats  # float64[R]: total load ÷ total capacity
    floor: Floats  # float64[B, R]: what cannot leave a broker
    joint: float  # t*: all resources at once cannot stay below t* × best
    kind: Int32s  # int32[B]: the kind of each broker in `prices`, -1 where it must end empty
    prices: Floats  # float64[kinds, R]: what proves t*
    target: Floats  # float64[B, R]: load within which each broker is to end
    lam: Floats  # float64[B, R]: multipliers of the bytes bound, bytes per unit of load
    bytes_lower_bound: float  # forced work included
    forced_bytes: float
    forced_moves: int

    @property
    def level(self) -> Floats:
        """float64[R]: load ÷ capacity that tolerances are counted from."""
        return self.best * (self.joint if self.joint > CONFLICT else 1.0)


def target_for(problem: Problem, level: Floats, floor: Floats, tolerance: Floats) -> Floats:
    """float64[B, R]: (1 + tolerance) × the best level, or the floor; inf where nothing counts."""
    target = np.maximum((1 + tolerance) * level * problem.capacity, floor)
    target[:, level <= 0] = np.inf
    target[problem.must_empty] = 0.0
    return target


def bounds_of(problem: Problem) -> Bounds:
    """All bounds of a problem at its own tolerances."""
    from kedge.balance.bytes_bound import forced_work

    floor = floors(problem)
    best = best_levels(problem, floor)
    joint = joint_bound(problem, best, floor)
    level = best * (joint.level if joint.level > CONFLICT else 1.0)
    target = target_for(problem, level, floor, problem.tolerance)
    copies, _ = forced_work(problem)
    forced = float((copies * problem.size).sum())
    lam, least = bytes_bound(problem, target, level)
    return Bounds(
        best=best,
        mean=mean_level(problem),
        floor=floor,
        joint=joint.level,
        kind=joint.kind,
        prices=joint.prices,
        target=target,
        lam=lam,
        bytes_lower_bound=forced + least,
        forced_bytes=forced,
        forced_moves=int(copies.sum()),
    )


def bytes_bound(problem: Problem, target: Floats, level: Floats) -> tuple[Floats, float]:
    """λ float64[B, R] for a target, and the bytes beyond forced ones that it proves must move."""
    from kedge.balance.bytes_bound import multipliers

    lam, value = multipliers(problem, target, load_units(problem, level))
    return lam, float(value.sum())


def load_units(problem: Problem, level: Floats) -> Floats:
    """float64[R]: the load of a middling broker at the best level, by which loads are scaled."""
    usable = ~problem.must_empty
    unit = level * problem.capacity[usable].mean(axis=0)
    size = problem.size.sum() * 3 / max(int(usable.sum()), 1)
    fallback = np.where(np.arange(4) == 0, max(float(size), 1.0), 1.0)
    return np.where(unit > 0, unit, fallback)
