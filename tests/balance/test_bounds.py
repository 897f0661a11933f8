"""Bounds: never above what the best of all placements reaches, and tight where that is known."""

from __future__ import annotations

from itertools import permutations, product

import highspy
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kedge.balance.bounds import bounds_of, bytes_bound
from kedge.balance.bounds.bytes_per_broker import best_multipliers
from kedge.balance.bounds.joint import joint_bound
from kedge.balance.bounds.levels import best_levels, floors, mean_level
from kedge.balance.goals.problem import Problem, broker_loads
from tests.balance.problems import problem_of


@st.composite
def tiny(draw: st.DrawFn) -> Problem:
    """Four brokers in two or four racks, at most four partitions: every placement can be tried."""
    luck = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    racks = draw(st.sampled_from([2, 4]))
    count = draw(st.integers(1, 4))
    home = np.stack([luck.permutation([i, (i + 1) % 4])[:2] for i in luck.integers(0, 4, count)])
    return problem_of(
        home,
        brokers=4,
        rack=np.arange(4) % racks,
        capacity=luck.choice([1.0, 2.0], (4, 1)) * luck.choice([1.0, 1.6], (4, 4)),
        size=luck.lognormal(0, 1, count),
        rate=luck.lognormal(0, 1, count),
        tolerance=np.full(4, draw(st.sampled_from([0.0, 0.1, 0.5]))),
    )


def every_placement(problem: Problem) -> np.ndarray:
    """int32[N, P, 2]: all placements that keep the rack limits."""
    pairs = [pair for pair in permutations(range(4), 2) if _spread(problem, pair)]
    return np.array(list(product(pairs, repeat=len(problem.initial))), np.int32)


def _spread(problem: Problem, pair: tuple[int, int]) -> bool:
    return problem.rack[pair[0]] != problem.rack[pair[1]]


@settings(max_examples=60, deadline=None)
@given(tiny())
def test_no_placement_beats_a_bound(problem: Problem) -> None:
    bounds = bounds_of(problem)
    all_of_them = every_placement(problem)
    assert len(all_of_them)
    before_of = [set(row) for row in problem.initial.tolist()]
    for replicas in all_of_them[:: max(1, len(all_of_them) // 3000)]:
        loads = broker_loads(problem, replicas)
        level = (loads / problem.capacity).max(axis=0)
        assert (level >= bounds.best * (1 - 1e-9)).all()
        assert (level / bounds.best).max() >= bounds.joint * (1 - 1e-6)
        if (loads <= bounds.target).all():
            rows = zip(before_of, replicas.tolist(), strict=True)
            copied = np.array([len(set(after) - before) for before, after in rows])
            assert (copied * problem.size).sum() >= bounds.bytes_lower_bound * (1 - 1e-6) - 1e-9


def test_racks_as_many_as_replicas_lift_the_level_to_the_smallest_rack() -> None:
    problem = problem_of([[0, 2]] * 6, brokers=3, rack=[0, 0, 1])
    floor = floors(problem)
    assert best_levels(problem, floor)[0] == pytest.approx(6.0)  # rack 1 must hold one of each
    assert mean_level(problem)[0] == pytest.approx(4.0)


def test_a_giant_alone_sets_the_level() -> None:
    problem = problem_of([[0], [1], [2]], size=[9.0, 1.0, 1.0])
    assert best_levels(problem, floors(problem))[0] == pytest.approx(9.0)


def test_a_floor_excuses_its_broker_and_not_the_others() -> None:
    home = [[0]] * 8 + [[1]] * 4
    fixed = np.r_[np.zeros(8, bool), np.ones(4, bool)]
    problem = problem_of(home, brokers=3, movable=fixed, leader_movable=fixed)
    bounds = bounds_of(problem)
    assert bounds.best[0] == pytest.approx(2.0)
    assert bounds.target[0, 0] == pytest.approx(8.0)
    assert bounds.target[2, 0] == pytest.approx(2.1)


def test_conflicting_capacities_are_found_by_prices() -> None:
    capacity = np.array([[4.0, 1.0, 4.0, 4.0], [1.0, 4.0, 4.0, 4.0]])
    problem = problem_of([[0]] * 10 + [[1]] * 10, capacity=capacity)
    best = best_levels(problem, floors(problem))
    joint = joint_bound(problem, best, floors(problem))
    # alike replicas fill the scarce side of each broker: half of each is all that fits
    assert joint.level == pytest.approx(2.5, rel=1e-6)


def _exact(problem: Problem, b: int, over: np.ndarray) -> float:
    """The linear program that the multipliers are the dual of, solved by HiGHS."""
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    held = [(p, k) for p, k in zip(*np.nonzero(problem.initial == b), strict=True)]
    leave = [solver.addVariable(0, 1, float(problem.size[p])) for p, _ in held]
    stop = [solver.addVariable(0, 1, 0.0) for _ in held]
    for x, y in zip(leave, stop, strict=True):
        solver.addConstr(x + y <= 1)
    for r in np.nonzero(over > 0)[0]:
        terms = []
        for (p, k), x, y in zip(held, leave, stop, strict=True):
            here = (problem.leader_load if k == 0 else problem.follower_load)[p, r]
            extra = here - problem.follower_load[p, r]
            terms.append(float(here) * x + float(extra) * y)
        solver.addConstr(sum(terms[1:], terms[0]) >= float(over[r]))
    solver.run()
    return float(solver.getInfo().objective_function_value)


def test_the_bytes_bound_is_the_optimum_of_its_linear_program() -> None:
    luck = np.random.default_rng(3)
    home = np.stack([luck.permutation(8)[:3] for _ in range(400)])
    problem = problem_of(home, size=luck.lognormal(0, 1, 400), rate=luck.lognormal(0, 1, 400))
    target = np.tile(broker_loads(problem, problem.initial).mean(axis=0) * 1.02, (8, 1))
    unit = broker_loads(problem, problem.initial).mean(axis=0)
    _, value = best_multipliers(problem, target, unit)
    over = broker_loads(problem, problem.initial) - target
    for b in range(8):
        exact = _exact(problem, b, over[b]) if (over[b] > 0).any() else 0.0
        assert value[b] <= exact * (1 + 1e-6) + 1e-6
        assert value[b] >= exact * 0.998 - 1e-6


def test_mandatory_copies_are_counted_once() -> None:
    home = [[0, 1], [1, 2], [2, -1]]
    empty = np.array([True, False, False, False])
    problem = problem_of(
        home,
        brokers=4,
        wanted=[2, 2, 2],
        size=[5.0, 1.0, 2.0],
        must_empty=empty,
        may_receive=~empty,
        tolerance=np.full(4, 9.0),
    )
    bounds = bounds_of(problem)
    assert (bounds.mandatory_moves, bounds.mandatory_bytes) == (2, 7.0)
    assert bounds.bytes_lower_bound == pytest.approx(7.0)


def test_no_bound_is_below_nothing_where_leaving_costs_nothing() -> None:
    home = [[0, 1]] * 3 + [[0, 2]] * 3
    problem = problem_of(
        home, brokers=3, wanted=[1] * 6, size=[4.0, 3.0, 3.0, 2.0, 2.0, 1.0], rack=[0, 0, 1]
    )
    multipliers, least = bytes_bound(problem, np.full((3, 4), 1.0), np.ones(4))
    assert least == 0.0
    assert (multipliers >= 0).all()


def test_a_wider_target_needs_no_more_bytes() -> None:
    luck = np.random.default_rng(4)
    problem = problem_of(np.stack([luck.permutation(6)[:2] for _ in range(60)]), brokers=6)
    bounds = bounds_of(problem)
    least = [bytes_bound(problem, bounds.target * w, bounds.level)[1] for w in (1, 1.1, 1.3)]
    assert least[0] >= least[1] >= least[2]


def test_no_target_is_beyond_a_limit() -> None:
    problem = problem_of([[0], [0], [1], [1]], hard_limit=np.full((2, 4), 2.04))
    assert bounds_of(problem).target[:, 0].tolist() == pytest.approx([2.04, 2.04])
    free = problem_of([[0], [0], [1], [1]])
    assert bounds_of(free).target[:, 0].tolist() == pytest.approx([2.1, 2.1])
