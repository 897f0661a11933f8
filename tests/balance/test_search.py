"""The search: no hard goal is broken, budgets are kept, and what is counted is what happened."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from kedge.balance.bounds import bounds_of
from kedge.balance.goals.problem import Problem
from kedge.balance.search.solution import Progress
from kedge.balance.search.solver import search
from tests.balance.hard_goals import broken_goals
from tests.balance.problems import problem_of, problems

LOPSIDED = [[0, 1]] * 12 + [[1, 0]] * 12  # two of four brokers hold everything


def copies(problem: Problem, replicas: np.ndarray) -> np.ndarray:
    """Replicas per partition on brokers that did not hold one before."""
    rows = zip(problem.initial.tolist(), replicas.tolist(), strict=True)
    return np.array([len({b for b in after if b >= 0} - set(before)) for before, after in rows])


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(problems())
def test_no_hard_goal_is_broken_and_totals_are_right(problem: Problem) -> None:
    bounds = bounds_of(problem)
    found = search(problem, bounds)
    new = copies(problem, found.replicas)
    assert found.replica_moves == new.sum()
    assert found.bytes_moved == pytest.approx((new * problem.size).sum())
    if found.feasible:
        assert ((found.replicas >= 0).sum(axis=1) == problem.wanted).all()
        assert broken_goals(problem, found) == []
        if found.balanced:
            assert found.bytes_moved >= bounds.bytes_lower_bound * (1 - 1e-6) - 1e-9
        assert (found.reached >= bounds.best / np.maximum(bounds.level, 1e-300) - 1e-6).all() or (
            (bounds.floor > 0).any() or not problem.may_receive.all()
        )


@settings(max_examples=60, deadline=None)
@given(problems())
def test_budgets_are_kept_beyond_mandatory_moves(problem: Problem) -> None:
    bounds = bounds_of(problem)
    told: list[Progress] = []
    search(problem, bounds, progress=told.append)
    mandatory = next(one for one in told if one.phase == "mandatory")
    budget = mandatory.bytes_moved + float(np.median(problem.size)) * 2
    found = search(problem, bounds, max_bytes=budget, max_moves=mandatory.replica_moves + 2)
    assert found.bytes_moved <= budget * (1 + 1e-9)
    assert found.replica_moves <= mandatory.replica_moves + 2


@settings(max_examples=40, deadline=None)
@given(problems())
def test_leaders_only_moves_no_replica(problem: Problem) -> None:
    found = search(problem, bounds_of(problem), leaders_only=True)
    assert found.bytes_moved == found.replica_moves == 0
    assert (np.sort(found.replicas, axis=1) == np.sort(problem.initial, axis=1)).all()


def test_a_lopsided_cluster_becomes_even() -> None:
    problem = problem_of(LOPSIDED, brokers=4)
    found = search(problem, bounds_of(problem))
    assert found.balanced
    assert found.replica_moves == 24
    assert found.loads[:, 0].tolist() == [12.0] * 4


def test_a_budget_of_moves_is_spent_on_the_worst() -> None:
    problem = problem_of(LOPSIDED, brokers=4)
    found = search(problem, bounds_of(problem), max_moves=10)
    assert found.replica_moves == 10
    assert found.loads[:, 0].max() < 24


def test_moves_per_broker_are_limited() -> None:
    problem = problem_of(LOPSIDED, brokers=4)
    found = search(problem, bounds_of(problem), max_moves_per_broker=3)
    held = [set(row) for row in problem.initial.tolist()]
    left = np.zeros(4, int)
    for before, after in zip(held, found.replicas.tolist(), strict=True):
        for b in before - set(after):
            left[b] += 1
    assert left.max() <= 3


def test_a_curve_ends_where_the_answer_is_and_costs_rise_along_it() -> None:
    problem = problem_of(LOPSIDED, brokers=4, size=np.arange(1.0, 25.0))
    found = search(problem, bounds_of(problem))
    assert found.curve[-1].bytes_moved == found.bytes_moved
    assert [point.epsilon for point in found.curve] == sorted(
        (point.epsilon for point in found.curve), reverse=True
    )
    assert found.curve[0].bytes_moved <= found.curve[-1].bytes_moved


def test_the_same_seed_gives_the_same_answer() -> None:
    luck = np.random.default_rng(5)
    home = np.stack([luck.permutation(9)[:3] for _ in range(200)])
    problem = problem_of(home, size=luck.lognormal(0, 1, 200), rate=luck.lognormal(0, 1, 200))
    bounds = bounds_of(problem)
    one, other = (search(problem, bounds, seed=7).replicas for _ in range(2))
    assert (one == other).all()


def test_progress_names_the_phases() -> None:
    told: list[Progress] = []
    problem = problem_of(LOPSIDED, brokers=4)
    search(problem, bounds_of(problem), progress=told.append)
    assert {one.phase for one in told} >= {"mandatory", "drain", "undo"}
    assert told[-1].over == 0


def test_a_broker_with_too_many_replicas_gives_the_surplus_away() -> None:
    problem = problem_of([[0, 1]] * 6, brokers=4, max_replicas=[4, 4, 4, 4])
    found = search(problem, bounds_of(problem))
    assert found.feasible
    assert np.bincount(found.replicas[found.replicas >= 0]).max() <= 4


def test_a_giant_is_led_where_it_can_be_carried() -> None:
    capacity = np.repeat([[1.0], [1.0], [1.0], [4.0]], 4, axis=1)
    home = [[0, 1], *[[i % 3, 3] for i in range(30)]]
    size = np.r_[40.0, np.ones(30)]
    problem = problem_of(home, size=size, capacity=capacity, tolerance=np.full(4, 0.1))
    found = search(problem, bounds_of(problem))
    assert 3 in found.replicas[0]


def test_leaders_change_only_where_loads_need_it() -> None:
    luck = np.random.default_rng(8)
    home = np.stack([luck.permutation(9)[:3] for _ in range(300)])
    problem = problem_of(home, size=luck.lognormal(0, 1, 300), rate=luck.lognormal(0, 1, 300))
    bounds = bounds_of(problem)
    found = search(problem, bounds)
    assert found.balanced
    for p, (before, after) in enumerate(zip(home[:, 0], found.replicas.tolist(), strict=True)):
        extra = problem.leader_load[p] - problem.follower_load[p]
        fits = (found.loads[before] + extra <= bounds.target[before] * (1 - 1e-9)).all()
        assert after[0] == before or before not in after or not fits


def test_a_budget_holds_for_exchanges_too() -> None:
    luck = np.random.default_rng(8)
    home = np.stack([luck.permutation(6)[:2] for _ in range(60)])
    size, rate = luck.lognormal(0, 1, 60), luck.lognormal(0, 1, 60)
    problem = problem_of(home, brokers=6, size=size, rate=rate, tolerance=np.full(4, 0.0))
    for most in range(1, 25):
        assert search(problem, bounds_of(problem), max_moves=most).replica_moves <= most


def random_problem(seed: int) -> Problem:
    luck = np.random.default_rng(seed)
    initial = np.stack([luck.permutation(9)[:3] for _ in range(200)])
    size, rate = luck.lognormal(0, 1, 200), luck.lognormal(0, 1, 200)
    return problem_of(initial, size=size, rate=rate, tolerance=np.full(4, 0.01))


def test_without_time_only_what_a_valid_plan_needs_is_done() -> None:
    problem = random_problem(5)
    bounds = bounds_of(problem)
    reported: list[Progress] = []
    found = search(problem, bounds, out_of_time=lambda: True, progress=reported.append)
    assert found.interrupted
    assert found.feasible
    assert broken_goals(problem, found) == []
    assert {one.phase for one in reported} == {"mandatory", "drain"}
    whole = search(problem, bounds)
    assert not whole.interrupted
    assert whole.bytes_moved <= found.bytes_moved or not found.balanced


def test_a_limit_that_is_not_reached_changes_nothing() -> None:
    problem = random_problem(6)
    bounds = bounds_of(problem)
    limited = search(problem, bounds, out_of_time=lambda: False)
    assert (limited.replicas == search(problem, bounds).replicas).all()


@pytest.mark.parametrize("calls", [8, 12, 20, 30])
@pytest.mark.parametrize("budget", [None, 60])
def test_a_search_that_is_stopped_keeps_the_best_state_so_far(
    calls: int, budget: int | None
) -> None:
    problem = random_problem(7)
    left = iter(range(calls))
    reported: list[Progress] = []
    found = search(
        problem,
        bounds_of(problem),
        max_moves=budget,
        progress=reported.append,
        out_of_time=lambda: next(left, None) is None,
    )
    assert found.feasible
    assert broken_goals(problem, found) == []
    phases = [one.phase for one in reported]
    drained = reported[: phases.index("anneal")] if "anneal" in phases else reported
    if [one.over for one in drained if one.phase == "drain"][-1] == 0:
        assert found.balanced
        assert found.bytes_moved <= drained[-1].bytes_moved * 1.01  # a move less has its price


def test_with_all_the_time_in_use_the_search_goes_on_until_the_time_is_over() -> None:
    problem = random_problem(8)
    bounds = bounds_of(problem)
    usual = search(problem, bounds)
    left = iter(range(60))
    longer = search(
        problem, bounds, use_all_time=True, out_of_time=lambda: next(left, None) is None
    )
    assert longer.balanced >= usual.balanced
    near = longer.bytes_moved <= 1.01 * bounds.bytes_lower_bound
    assert near or longer.interrupted
    assert longer.bytes_moved <= usual.bytes_moved * 1.01
