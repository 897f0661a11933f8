"""All bounds of a problem together: best levels, joint level, targets and fewest bytes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kedge.balance.bounds.joint import Joint, joint_bound, joint_by_placements
from kedge.balance.bounds.levels import best_levels, floors, mean_level
from kedge.balance.goals.problem import Floats, Int32s, Problem, is_small

CONFLICT = 1.002  # a joint level below this is within any tolerance
DOUBTFUL = 1.15  # times the bound by single brokers: the targets may be impossible

BROKERS, PLACEMENTS = "brokers", "placements"


@dataclass(frozen=True, slots=True, eq=False)
class BytesProof:
    """The fewest bytes and the prices that prove them, by single brokers or by all placements."""

    by: str  # BROKERS (see `bytes_per_broker`) or PLACEMENTS (see `cheapest_placement`)
    prices: Floats  # float64[B, R], bytes per unit of load
    bytes: float


@dataclass(frozen=True, slots=True, eq=False)
class Bounds:
    """Bounds with their proofs; see `levels`, `joint` and `bytes_per_broker`."""

    best: Floats  # float64[R]: best possible maximum of load ÷ capacity, each resource alone
    mean: Floats  # float64[R]: total load ÷ total capacity
    floor: Floats  # float64[B, R]: what cannot leave a broker
    joint: float  # t*: all resources at once cannot stay below t* × best
    kind: Int32s  # int32[B]: the kind of each broker in `prices`, -1 where it must end empty
    prices: Floats  # float64[kinds, R]: what proves t*
    joint_by: str  # how, see `Joint`
    target: Floats  # float64[B, R]: load within which each broker is to end
    multipliers: Floats  # float64[B, R]: of single brokers, bytes per unit of load
    by_brokers: float  # bytes that they prove, mandatory moves included
    proof: BytesProof  # of the bytes bound, mandatory moves included
    mandatory_bytes: float
    mandatory_moves: int

    @property
    def bytes_lower_bound(self) -> float:
        """No plan within `target` moves less; mandatory moves included."""
        return self.proof.bytes

    @property
    def level(self) -> Floats:
        """float64[R]: load ÷ capacity that tolerances are relative to."""
        return self.best * (self.joint if self.joint > CONFLICT else 1.0)


def target_for(problem: Problem, level: Floats, floor: Floats, tolerance: Floats) -> Floats:
    """float64[B, R]: (1 + tolerance) × the best level, or the floor; inf where nothing counts.

    No target is beyond a hard limit: a broker filled to 101 % is not in balance.
    """
    even = np.minimum((1 + tolerance) * level * problem.capacity, problem.hard_limit)
    target = np.maximum(even, floor)
    target[:, level <= 0] = np.inf
    target[problem.must_empty] = 0.0
    return target


def bounds_of(problem: Problem) -> Bounds:
    """All bounds of a problem at its own tolerances."""
    floor = floors(problem)
    best = best_levels(problem, floor)
    bounds = _with_joint(problem, best, floor, joint_bound(problem, best, floor))
    if bounds.bytes_lower_bound <= DOUBTFUL * bounds.by_brokers:
        return bounds
    # so many bytes may mean that no such placement exists: then the joint level is higher
    before = Joint(bounds.joint, bounds.kind, bounds.prices, bounds.joint_by)
    joint = joint_by_placements(problem, best, floor, before)
    return bounds if joint is before else _with_joint(problem, best, floor, joint)


def _with_joint(problem: Problem, best: Floats, floor: Floats, joint: Joint) -> Bounds:
    """The bounds that follow from the level of all resources together."""
    from kedge.balance.bounds.bytes_per_broker import mandatory_copies

    level = best * (joint.level if joint.level > CONFLICT else 1.0)
    target = target_for(problem, level, floor, problem.tolerance)
    copies, _ = mandatory_copies(problem)
    mandatory = float((copies * problem.size).sum())
    multipliers, least = bytes_bound(problem, target, level)
    return Bounds(
        best=best,
        mean=mean_level(problem),
        floor=floor,
        joint=joint.level,
        kind=joint.kind,
        prices=joint.prices,
        joint_by=joint.by,
        target=target,
        multipliers=multipliers,
        by_brokers=mandatory + least,
        proof=_best_proof(
            problem, target, level, BytesProof(BROKERS, multipliers, mandatory + least)
        ),
        mandatory_bytes=mandatory,
        mandatory_moves=int(copies.sum()),
    )


def bytes_proof(problem: Problem, target: Floats, level: Floats, mandatory: float) -> BytesProof:
    """The fewest bytes for a target, `mandatory` ones included."""
    multipliers, least = bytes_bound(problem, target, level)
    return _best_proof(problem, target, level, BytesProof(BROKERS, multipliers, mandatory + least))


def _best_proof(
    problem: Problem, target: Floats, level: Floats, by_brokers: BytesProof
) -> BytesProof:
    """The proof by placements, where it proves more and the cluster is small; else by brokers."""
    if not is_small(problem):
        return by_brokers
    from kedge.balance.bounds.price_ascent import bytes_prices

    unit = load_units(problem, level)
    prices, least = bytes_prices(problem, target, unit, by_brokers.prices)
    by_placements = BytesProof(PLACEMENTS, prices, least)
    return by_placements if least > by_brokers.bytes else by_brokers


def bytes_bound(problem: Problem, target: Floats, level: Floats) -> tuple[Floats, float]:
    """Multipliers float64[B, R] for a target, and the bytes beyond mandatory ones they prove."""
    from kedge.balance.bounds.bytes_per_broker import best_multipliers

    multipliers, value = best_multipliers(problem, target, load_units(problem, level))
    return multipliers, float(value.sum())


def load_units(problem: Problem, level: Floats) -> Floats:
    """float64[R]: the load of an average broker at the best level, by which loads are scaled."""
    usable = ~problem.must_empty
    unit = level * problem.capacity[usable].mean(axis=0)
    size = problem.size.sum() * 3 / max(int(usable.sum()), 1)
    fallback = np.where(np.arange(4) == 0, max(float(size), 1.0), 1.0)
    return np.where(unit > 0, unit, fallback)
