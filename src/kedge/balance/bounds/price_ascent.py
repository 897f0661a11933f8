"""Prices that prove most: subgradient ascent of the bound of `cheapest_placement`.

The proved value is a concave function of the prices, not smooth. Steps are scaled for each price by
its recent slopes (Adam: Kingma and Ba, 2015) and become shorter; the best prices on the way are
kept. Any prices are a proof, so stopping early only proves less.
"""

from __future__ import annotations

import numpy as np

from kedge.balance.bounds.cheapest_placement import (
    Market,
    cheapest_placements,
    market_of,
    rack_limits,
)
from kedge.balance.goals.problem import Floats, Int32s, Problem
from kedge.jit import compiled

STEPS = 600
JOINT_STEPS = 1_000
JOINT_FIRST = 3.0  # of a price: the first step of the joint bound
FIRST, LAST = 0.3, 3e-4  # the first and the last step, in bytes per byte
NEAR_FIRST, NEAR_STEPS, EVERY = 0.02, 200, 2  # steps around the best prices


def bytes_prices(
    problem: Problem, target: Floats, unit: Floats, start: Floats
) -> tuple[Floats, float]:
    """float64[B, R] in bytes per unit of load, and the bytes they prove, mandatory included."""
    market = market_of(problem, target, unit)
    best = np.ascontiguousarray(start * unit / unit[0])
    value = ascend(market, best, STEPS, FIRST, LAST, False, _keep_none(problem))
    return best * unit[0] / unit, float(value * unit[0])


def joint_prices(problem: Problem, best: Floats, start: Floats) -> tuple[Floats, float]:
    """float64[B, R] such that brokers at their best levels pay 1, and what all replicas pay."""
    usable = ~problem.must_empty
    level = np.where(best > 0, best, 1.0)
    unit = level * problem.capacity[usable].mean(axis=0)
    full = np.where(best > 0, best * problem.capacity, np.inf)
    market = market_of(problem, full, unit, copy=0.0)
    prices = np.ascontiguousarray(np.where(market.target > 0, start * unit, 0.0))
    prices /= (prices * market.target).sum()
    step = JOINT_FIRST / max(1, int((market.target > 0).sum()))
    value = ascend(market, prices, JOINT_STEPS, step, step / 1_000, True, _keep_none(problem))
    return prices / unit, 1.0 + float(value)


def near_placements(
    problem: Problem, target: Floats, unit: Floats, prices: Floats
) -> tuple[Market, Int32s]:
    """Cheapest placements around prices: int32[N, P, K], the leader first."""
    market = market_of(problem, target, unit)._replace(
        limit=rack_limits(problem, strict=True),
        free=np.stack([problem.movable, problem.leader_movable], axis=1),
    )
    width = int(problem.wanted.max(initial=1))
    kept = np.full((NEAR_STEPS // EVERY, len(problem.initial), width), -1, np.int32)
    best = np.ascontiguousarray(prices * unit / unit[0])
    ascend(market, best, NEAR_STEPS, NEAR_FIRST, LAST, False, kept)
    return market, kept


def _keep_none(problem: Problem) -> Int32s:
    """Space for one placement of all partitions: none is kept."""
    return np.full((1, len(problem.initial), int(problem.wanted.max(initial=1))), -1, np.int32)


@compiled
def ascend(
    market: Market, best: Floats, steps: int, first: float, last: float, normal: bool, kept: Int32s
) -> float:
    """Ascend from the prices in `best` and leave the best ones there; what they prove.

    With `normal`, prices are scaled so that targets are worth 1. The placements met on the way
    are written into `kept`, if it has space for more than one.
    """
    brokers = len(market.rack)
    price = best.copy()
    loads = np.zeros((brokers, 4))
    mean, square = np.zeros((brokers, 4)), np.zeros((brokers, 4))
    most = -1e300
    for step in range(steps):
        place = (step // EVERY) % len(kept)
        value = cheapest_placements(market, price, loads, kept[place])
        if value > most:
            most = value
            best[:] = price
        length = first * (last / first) ** (step / steps)
        worth = 0.0
        for b in range(brokers):
            for r in range(4):
                if market.target[b, r] <= 0:
                    continue
                slope = loads[b, r] - market.target[b, r]
                mean[b, r] += 0.1 * (slope - mean[b, r])
                square[b, r] += 0.01 * (slope * slope - square[b, r])
                by = mean[b, r] / (1 - 0.9 ** (step + 1))
                size = np.sqrt(square[b, r] / (1 - 0.99 ** (step + 1))) + 1e-9
                price[b, r] = max(0.0, price[b, r] + length * by / size)
                worth += price[b, r] * market.target[b, r]
        if normal and worth > 0:
            price /= worth
    return most
