"""Which brokers a partition may have a replica on at little more than its least cost.

At prices that prove the bytes bound, an assignment costs more than the bound by what its placements
cost beyond the cheapest ones. A good assignment therefore has nearly cheapest placements alone, and
a search need not look at the other pairs of partition and broker.
"""

from __future__ import annotations

import numpy as np

from kedge.balance.bounds.cheapest_placement import (
    FORBIDDEN,
    Int64s,
    Market,
    cheapest_set,
    market_of,
    prices_on_brokers,
    rack_limits,
)
from kedge.balance.goals.problem import Floats, Problem
from kedge.jit import compiled, within_kernels


def costs_beyond_cheapest(problem: Problem, target: Floats, unit: Floats, prices: Floats) -> Floats:
    """float64[P, B]: what a replica on each broker costs beyond the cheapest placement.

    Prices are bytes per unit of load, the costs in units of disk. Every hard goal but those on load
    is kept: a broker that a partition may not use costs FORBIDDEN.
    """
    market = market_of(problem, target, unit)._replace(
        limit=rack_limits(problem, strict=True),
        free=np.stack([problem.movable, problem.leader_movable], axis=1),
    )
    beyond = np.full((len(problem.initial), problem.brokers), FORBIDDEN)
    fill_costs(market, np.ascontiguousarray(prices * unit / unit[0]), beyond)
    return beyond


@compiled
def fill_costs(market: Market, price: Floats, beyond: Floats) -> None:
    """Write into `beyond` [P, B] what a partition pays more with a replica on each broker."""
    brokers = len(market.rack)
    racks, longest = 0, 1
    for b in range(brokers):
        racks = max(racks, market.rack[b] + 1)
    for p in range(len(market.wanted)):
        longest = max(longest, market.wanted[p])
    lead, follow = np.empty(brokers), np.empty(brokers)
    best_of = np.empty((racks, longest), np.int64)
    held = np.empty(racks, np.int64)
    picked = np.empty(longest, np.int64)
    for p in range(len(market.wanted)):
        prices_on_brokers(market, price, p, lead, follow)
        count = cheapest_set(market, p, follow, best_of, held, picked)
        if count == 0:
            continue
        least = 1e300
        for b in range(brokers):
            if lead[b] < FORBIDDEN:
                out = follow[picked[_replaced(market, p, b, picked, count)]]
                least = min(least, lead[b] - out)
        for b in range(brokers):
            out = follow[picked[_replaced(market, p, b, picked, count)]]
            if follow[b] < FORBIDDEN:
                beyond[p, b] = follow[b] - out
            if lead[b] < FORBIDDEN:
                beyond[p, b] = min(beyond[p, b], lead[b] - out - least)


@within_kernels
def _replaced(market: Market, p: int, b: int, picked: Int64s, count: int) -> int:
    """Which of the cheapest set, sorted by price, leaves it for a broker."""
    last, same = -1, 0
    for i in range(count):
        if picked[i] == b:
            return i
        if market.rack[picked[i]] == market.rack[b]:
            last = i
            same += 1
    return last if same >= market.limit[p] else count - 1
