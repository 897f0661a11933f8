"""Bounds that weigh all placements: the kernel, the checker and plain trying agree."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kedge.balance.bounds import bounds_of
from kedge.balance.bounds.candidate_brokers import costs_beyond_cheapest
from kedge.balance.bounds.cheapest_placement import cheapest_placements, market_of, rack_limits
from kedge.balance.bounds.price_ascent import joint_prices
from kedge.balance.check.placement_costs import least_costs
from kedge.balance.goals.problem import Problem
from kedge.balance.search.solver import search
from tests.balance.problems import problem_of, problems


def by_trying(problem: Problem, row: int, prices: np.ndarray) -> float:
    """The cheapest of all sets of brokers with all leaders."""
    home = set(problem.initial[row].tolist()) - {-1}
    limit, wanted = rack_limits(problem)[row], int(problem.wanted[row])
    stays = [b for b in home if not problem.must_empty[b]]
    asks = problem.movable[row] or len(stays) < wanted
    gets = problem.may_receive & ~problem.must_empty & asks
    usable = [
        b for b in range(problem.brokers) if gets[b] or (b in home and not problem.must_empty[b])
    ]
    crowded = np.bincount(problem.rack[sorted(home)]).max(initial=0) > problem.rack_limit[row]
    stuck = not problem.leader_movable[row] and not crowded
    best = np.inf
    for chosen in combinations(usable, wanted):
        racks = np.bincount(problem.rack[list(chosen)])
        if racks.max() > limit:
            continue
        copied = problem.size[row] * len(set(chosen) - home)
        follow = sum(float(prices[b] @ problem.follower_load[row]) for b in chosen)
        for leader in chosen:
            if stuck and leader != problem.initial[row, 0]:
                continue
            extra = prices[leader] @ (problem.leader_load - problem.follower_load)[row]
            best = min(best, copied + follow + float(extra))
    return best


@settings(max_examples=60, deadline=None)
@given(problems(), st.integers(0, 2**32 - 1))
def test_kernel_checker_and_trying_find_the_same_cheapest_placement(
    problem: Problem, seed: int
) -> None:
    luck = np.random.default_rng(seed)
    prices = luck.lognormal(0, 1, (problem.brokers, 4)) * (luck.random((problem.brokers, 4)) < 0.6)
    tried = np.array([by_trying(problem, row, prices) for row in range(len(problem.initial))])
    possible = np.isfinite(tried)
    checked = least_costs(problem, prices, copy=1.0)
    assert np.allclose(checked[possible], tried[possible])
    if possible.all():
        market = market_of(problem, np.full((problem.brokers, 4), np.inf), np.ones(4))
        loads = np.zeros((problem.brokers, 4))
        chosen = np.zeros((len(problem.initial), int(problem.wanted.max())), np.int32)
        assert np.isclose(cheapest_placements(market, prices, loads, chosen), tried.sum())
        assert ((chosen >= 0).sum(axis=1) == problem.wanted).all()


@settings(max_examples=25, deadline=None)
@given(problems())
def test_weighing_all_placements_never_proves_less(problem: Problem) -> None:
    bounds = bounds_of(problem)
    assert bounds.bytes_lower_bound >= bounds.by_brokers * (1 - 1e-12)
    assert (bounds.proof.prices >= 0).all()


def test_a_missing_replica_of_a_partition_that_stays_may_be_put_anywhere() -> None:
    problem = problem_of([[0, -1]] * 3, brokers=3, rack=[0, 1, 1], tolerance=np.full(4, 0.5))
    held = replace(problem, wanted=np.full(3, 2, np.int32), movable=np.array([True, True, False]))
    found = search(held, bounds_of(held))
    assert found.balanced
    assert found.replica_moves == 3
    assert bounds_of(held).bytes_lower_bound == pytest.approx(found.bytes_moved)


def test_a_rack_that_is_too_full_as_a_whole_costs_more_than_its_brokers_tell() -> None:
    # rack 0 keeps a copy of all that has two; only what has one may leave it, and that is large
    home = [[0, 2]] * 8 + [[1, -1]]
    problem = problem_of(
        home, brokers=3, rack=[0, 0, 1], size=[1.0] * 8 + [6.0], tolerance=np.full(4, 0.0)
    )
    bounds = bounds_of(problem)
    assert bounds.bytes_lower_bound > bounds.by_brokers * 1.05


def test_two_racks_of_other_shapes_cannot_both_be_level() -> None:
    # each rack holds one of each; disk is scarce in one and traffic in the other
    capacity = np.array([[1.0, 2.0, 2.0, 2.0], [2.0, 1.0, 2.0, 2.0]] * 2)
    rack = [0, 1, 0, 1]
    problem = problem_of([[0, 1], [2, 3]] * 4, rack=rack, capacity=capacity)
    best = bounds_of(problem).best
    prices, level = joint_prices(problem, best, 1 / (best * capacity))
    assert np.isclose((prices * best * capacity).sum(), 1.0)
    assert np.isclose(level, least_costs(problem, prices, copy=0.0).sum())


def costs_by_trying(problem: Problem, row: int, prices: np.ndarray) -> np.ndarray:
    """What the cheapest placement with each broker costs beyond the cheapest of all."""
    least = np.full(problem.brokers, np.inf)
    initial, extra = set(problem.initial[row].tolist()), problem.leader_load - problem.follower_load
    for chosen in combinations(range(problem.brokers), int(problem.wanted[row])):
        if np.bincount(problem.rack[list(chosen)]).max() > problem.rack_limit[row]:
            continue
        cost = problem.size[row] * len(set(chosen) - initial)
        cost += sum(float(prices[b] @ problem.follower_load[row]) for b in chosen)
        cost += min(float(prices[b] @ extra[row]) for b in chosen)
        for b in chosen:
            least[b] = min(least[b], cost)
    return least - least.min()


@pytest.mark.parametrize("seed", range(4))
def test_costs_beyond_the_cheapest_placement_bound_those_by_trying(seed: int) -> None:
    luck = np.random.default_rng(seed)
    home = np.stack([luck.permutation(6)[:2] for _ in range(20)])
    problem = problem_of(home, rack=[0, 0, 1, 1, 2, 2], size=luck.lognormal(0, 1, 20))
    prices = luck.lognormal(0, 1, (6, 4))
    unit = np.ones(4)
    found = costs_beyond_cheapest(problem, np.full((6, 4), 99.0), unit, prices)
    tried = np.stack([costs_by_trying(problem, row, prices) for row in range(20)])
    # with another broker another leader may be cheaper: the estimate is never above the least cost
    assert (found >= -1e-9).all()
    assert (found <= tried + 1e-9).all()
    assert np.isclose(found, tried).mean() > 0.3
