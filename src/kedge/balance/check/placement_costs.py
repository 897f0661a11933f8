"""The cheapest placement of every partition, computed independently of the bounds.

A placement is a set of as many brokers as replicas are wanted, with limits by rack, one leading.
With a broker chosen to lead, the others are taken by rising price wherever their rack is below its
limit: for sets with at most so many of each kind, no other choice is cheaper. The best leader is
found by trying all.
"""

from __future__ import annotations

import numpy as np

from kedge.balance.goals.problem import Bools, Floats, Int32s, Problem

NOT_ALLOWED = 1e30


def least_costs(problem: Problem, prices: Floats, *, copy: float) -> Floats:
    """float64[P]: load at its prices, and `copy` for each byte that is not there yet."""
    lead, follow = _quotes(problem, prices, copy)
    by_price = np.argsort(follow, axis=1, kind="stable").astype(np.int32)
    limit = _limits(problem)
    best = np.full(len(lead), np.inf)
    for leader in np.flatnonzero((lead < NOT_ALLOWED).any(axis=0)).tolist():
        others = _followers(problem, follow, by_price, limit, leader)
        best = np.minimum(best, lead[:, leader] + others)
    return best


def _quotes(problem: Problem, prices: Floats, copy: float) -> tuple[Floats, Floats]:
    """float64[P, B] each: what leading and what following costs on each broker."""
    here = np.zeros((len(problem.initial), problem.brokers), np.bool_)
    row, column = np.nonzero(problem.initial >= 0)
    here[row, problem.initial[row, column]] = True
    stays = (here & ~problem.must_empty).sum(axis=1)
    # what is missing may be put anywhere, even where nothing else may change
    open_rows = problem.movable | (stays < problem.wanted)
    gets = problem.may_receive & ~problem.must_empty & open_rows[:, None]
    copies = np.where(here, 0.0, np.where(gets, copy * problem.size[:, None], NOT_ALLOWED))
    copies[:, problem.must_empty] = NOT_ALLOWED
    lead = problem.leader_load @ prices.T + copies
    # a rack that must give a replica up may have to give the leader up
    kept = np.flatnonzero(
        ~problem.leader_movable & (_most_in_one_rack(problem) <= problem.rack_limit)
    )
    first = lead[kept, problem.initial[kept, 0]].copy()
    lead[kept] = NOT_ALLOWED
    lead[kept, problem.initial[kept, 0]] = first
    return lead, problem.follower_load @ prices.T + copies


def _limits(problem: Problem) -> Int32s:
    """Replicas in one rack: the limit, or what is there where no replica must move."""
    stays = ~problem.must_empty
    roomy = (problem.may_receive & (problem.max_replicas >= len(problem.initial)))[stays].all()
    must_keep = problem.movable & bool(roomy and np.isinf(problem.hard_limit).all())
    return np.where(
        must_keep, problem.rack_limit, np.maximum(problem.rack_limit, _most_in_one_rack(problem))
    )


def _most_in_one_rack(problem: Problem) -> Int32s:
    """int32[P]: the most replicas of a partition in one rack."""
    crowd = np.zeros(len(problem.initial), np.int32)
    racks = np.where(problem.initial >= 0, problem.rack[problem.initial], -1)
    for rack in range(int(problem.rack.max(initial=-1)) + 1):
        crowd = np.maximum(crowd, (racks == rack).sum(axis=1))
    return crowd


def _followers(
    problem: Problem, follow: Floats, by_price: Int32s, limit: Int32s, leader: int
) -> Floats:
    """float64[P]: the least that the other replicas cost beside a leader."""
    count, every = len(follow), np.arange(len(follow))
    held = np.zeros((count, int(problem.rack.max()) + 1), np.int32)
    held[:, problem.rack[leader]] = 1
    missing = problem.wanted - 1
    cost = np.zeros(count)
    for column in range(by_price.shape[1]):
        broker = by_price[:, column]
        price, rack = follow[every, broker], problem.rack[broker]
        takes: Bools = (missing > 0) & (broker != leader) & (held[every, rack] < limit)
        takes &= price < NOT_ALLOWED
        cost += np.where(takes, price, 0.0)
        held[every, rack] += takes
        missing = missing - takes
        if not missing.any():
            break
    return cost
