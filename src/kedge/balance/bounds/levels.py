"""The best possible level of each resource: how full the fullest broker must be at least.

The best possible level u of a resource is a lower bound of the largest load ÷ capacity in any
assignment. It is the larger of two bounds:

**Water filling with racks.** If no broker is filled beyond u × its capacity, a rack holds at most
the sum of that over its brokers, and at most what the rack limits let it hold of each partition.
All racks together must hold everything; the least u for which they can is a bound.

**Pigeonhole.** Of n·k + 1 replicas on n brokers some broker has k + 1, which weigh at least k + 1
times the lightest of them; and no broker has more capacity than the largest.

Replicas that may not move are a floor: a broker cannot fall below it, whatever the others do. Such
a broker is allowed its floor and the level is computed for the rest, so that one excluded broker
does not raise the level of all others.
"""

from __future__ import annotations

import numpy as np

from kedge.balance.goals.problem import Bools, Floats, Int32s, Problem

STEPS = 100  # halvings of the interval that holds the level: as many as a double can tell apart


def total_load(problem: Problem) -> Floats:
    """float64[R]: the load of all wanted replicas together."""
    followers = (problem.wanted - 1)[:, None] * problem.follower_load
    return np.asarray((problem.leader_load + followers).sum(axis=0))


def mean_level(problem: Problem) -> Floats:
    """float64[R]: total load ÷ total capacity of the brokers that may hold replicas."""
    capacity = problem.capacity[~problem.must_empty].sum(axis=0)
    return np.divide(total_load(problem), capacity, out=np.zeros(4), where=capacity > 0)


def fixed_replicas(problem: Problem) -> Bools:
    """bool[P, K]: initial replicas that no plan may move."""
    initial = problem.initial
    there = initial >= 0
    stays = ~problem.movable[:, None] | ~problem.may_give[initial]
    shrinks = there.sum(axis=1) > problem.wanted
    return there & stays & ~problem.must_empty[initial] & ~shrinks[:, None]


def floors(problem: Problem) -> Floats:
    """float64[B, R]: load that cannot leave a broker, leadership counted only where it is fixed."""
    fixed = fixed_replicas(problem)
    least = np.minimum(problem.leader_load, problem.follower_load)
    floor = _sum_at(problem, fixed, least)
    leads = np.zeros_like(fixed)
    leads[:, 0] = fixed[:, 0] & ~problem.leader_movable
    return floor + _sum_at(problem, leads, problem.leader_load - least)


def ceilings(problem: Problem) -> Floats:
    """float64[B, R]: the most load a broker can end with: what it holds if it may not receive."""
    most = np.maximum(problem.leader_load, problem.follower_load)
    ceiling = np.full(problem.capacity.shape, np.inf)
    closed = ~problem.may_receive
    if closed.any():
        ceiling[closed] = _sum_at(problem, problem.initial >= 0, most)[closed]
    ceiling[problem.must_empty] = 0.0
    return ceiling


def _sum_at(problem: Problem, chosen: Bools, load: Floats) -> Floats:
    """Sum a load per partition at the brokers of the chosen replicas."""
    row, column = np.nonzero(chosen)
    broker = problem.initial[row, column]
    sums = [np.bincount(broker, load[row, r], problem.brokers) for r in range(load.shape[1])]
    return np.stack(sums, axis=1).astype(np.float64)


def most_in_a_rack(problem: Problem) -> Floats:
    """float64[R]: the most load that one rack may hold; a partition has one leader only."""
    limit = np.minimum(_limits(problem), problem.wanted)
    followers = (limit - 1)[:, None] * problem.follower_load
    return np.asarray((problem.leader_load + followers).sum(axis=0))


def _limits(problem: Problem) -> Int32s:
    """Rack limits; where fixed replicas already exceed them, the number that is there."""
    stuck = np.nonzero(fixed_replicas(problem).any(axis=1))[0]
    limit = problem.rack_limit.copy()
    initial = problem.initial[stuck]
    padding = -1 - np.arange(initial.shape[1], dtype=np.int32)
    racks = np.where(initial >= 0, problem.rack[initial], padding)
    same = (racks[:, :, None] == racks[:, None, :]).sum(axis=2).max(axis=1, initial=0)
    limit[stuck] = np.maximum(limit[stuck], same)
    return limit


def water_level(
    problem: Problem,
    capacity: Floats,
    low_b: Floats,
    high_b: Floats,
    total: float,
    rack_most: float,
) -> float:
    """The least level at which brokers filled to it, or to their floor, can hold everything."""
    racks = int(problem.rack.max()) + 1

    def holds(level: float) -> bool:
        filled = np.minimum(np.maximum(level * capacity, low_b), high_b)
        return bool(np.minimum(np.bincount(problem.rack, filled, racks), rack_most).sum() >= total)

    low, high = 0.0, total / max(float(capacity[~problem.must_empty].min(initial=1.0)), 1e-300)
    if not holds(high):
        held = float(capacity[~problem.must_empty].sum())
        return total / held if held > 0 else 0.0
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return low


def pigeonhole_level(problem: Problem, resource: int) -> float:
    """What k + 1 of the heaviest replicas on the largest broker come to, for the worst k."""
    leader = problem.leader_load[problem.movable, resource]
    follower = problem.follower_load[problem.movable, resource]
    others = np.maximum(problem.wanted[problem.movable] - 1, 0)
    brokers = int((~problem.must_empty).sum())
    largest = float(problem.capacity[~problem.must_empty, resource].max(initial=0.0))
    if not len(leader) or largest <= 0:
        return 0.0
    weights = np.sort(np.concatenate([leader, np.repeat(follower, others)]))[::-1]
    lightest = weights[::brokers]  # the (k·n + 1)-th heaviest, for k = 0, 1, …
    return float((np.arange(1, len(lightest) + 1) * lightest).max() / largest)


def best_levels(problem: Problem, floor: Floats) -> Floats:
    """float64[R]: the best possible maximum of load ÷ capacity; 0 where a resource is left out."""
    each = zip(
        problem.capacity.T,
        floor.T,
        ceilings(problem).T,
        total_load(problem).tolist(),
        most_in_a_rack(problem).tolist(),
        strict=True,
    )
    levels = [
        max(water_level(problem, *one), pigeonhole_level(problem, r)) for r, one in enumerate(each)
    ]
    return np.where(problem.weight > 0, levels, 0.0)
