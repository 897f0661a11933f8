"""Prices that prove most: subgradient ascent of the bound of `cheapest_placement`.

The proved value is a concave function of the prices, not smooth. Steps are scaled for each price by
its recent slopes (Adam: Kingma and Ba, 2015) and become shorter; the best prices on the way are
kept. Any prices are a proof, so stopping early only proves less.
"""

from __future__ import annotations

import numpy as np

from kedge.balance.bounds.cheapest_placement import Market, cheapest_placements, market_of
from kedge.balance.goals.problem import Floats, Problem
from kedge.jit import compiled

STEPS = 600
JOINT_STEPS = 1_000
JOINT_FIRST = 3.0  # of a price: the first step of the joint bound
FIRST, LAST = 0.3, 3e-4  # the first and the last step, in bytes per byte


def bytes_prices(
    problem: Problem, target: Floats, unit: Floats, start: Floats
) -> tuple[Floats, float]:
    """float64[B, R] in bytes per unit of load, and the bytes they prove, mandatory included."""
    market = market_of(problem, target, unit)
    best = np.ascontiguousarray(start * unit / unit[0])
    value = ascend(market, best, STEPS, FIRST, LAST, False, _width(problem))
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
    value = ascend(market, prices, JOINT_STEPS, step, step / 1_000, True, _width(problem))
    return prices / unit, 1.0 + float(value)


def _width(problem: Problem) -> int:
    """Most replicas of one partition."""
    return int(problem.wanted.max(initial=1))


@compiled
def ascend(
    market: Market, best: Floats, steps: int, first: float, last: float, normal: bool, width: int
) -> float:
    """Ascend from the prices in `best` and leave the best ones there; what they prove.

    With `normal`, prices are scaled so that targets are worth 1. No partition has more than
    `width` replicas.
    """
    brokers = len(market.rack)
    price = best.copy()
    loads = np.zeros((brokers, 4))
    mean, square = np.zeros((brokers, 4)), np.zeros((brokers, 4))
    chosen = np.empty((len(market.wanted), width), np.int32)
    most = -1e300
    for step in range(steps):
        value = cheapest_placements(market, price, loads, chosen)
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
