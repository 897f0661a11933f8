"""Steps of the search: what kernels keep beside the loads is true; whom insisting helps."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from kedge.balance.bounds import bounds_of
from kedge.balance.layout import COUNT, LOAD, State
from kedge.balance.polish import insist
from kedge.balance.problem import Problem
from kedge.balance.steps import Run, copied
from tests.balance.problems import problem_of, problems


def lists(state: State) -> list[dict[int, list[float]]]:
    """Of each broker, its replicas by slot with what is written beside them."""
    return [
        {int(state.items[b, at]): state.cargo[b, at].tolist() for at in range(count)}
        for b, count in enumerate(state.holder[:, COUNT])
    ]


@settings(max_examples=60)
@given(problems())
def test_lists_and_spares_are_those_of_the_replicas(problem: Problem) -> None:
    from kedge.balance.state import fill_lists

    run = Run(problem, bounds_of(problem), None)
    run.forced()
    run.drain_to(run.aimed)
    run.bring_home(1)
    run.anneal(1, (1e-2, 1e-4), 0.7, np.zeros((problem.brokers, 4)), 1e-4, 500)
    run.restore_leaders()
    anew = copied(run.state)
    fill_lists(anew)
    assert lists(run.state) == lists(anew)
    np.testing.assert_allclose(run.state.of_brokers(LOAD), anew.of_brokers(LOAD), atol=1e-9)
    np.testing.assert_allclose(run.state.spare, anew.spare, atol=1e-9)


@settings(max_examples=20)
@given(problems())
def test_a_fork_leaves_the_run_as_it_is(problem: Problem) -> None:
    run = Run(problem, bounds_of(problem), None)
    before = copied(run.state)
    run.fork(run.state).forced()
    for kept, now in zip(before, run.state, strict=True):
        assert (kept == now).all()


def on_two_brokers(*sizes: float) -> Run:
    """Replicas on two brokers in turn, which may hold a thousandth more than half each."""
    home = [[i % 2] for i in range(len(sizes))]
    problem = problem_of(home, size=sizes, tolerance=np.full(4, 1e-3))
    return Run(problem, bounds_of(problem), None)


def test_a_broker_that_is_over_by_a_hair_exchanges_what_fits() -> None:
    run = on_two_brokers(5.02, 4.98, 5.0, 5.0)
    insist(run, seed=1)
    assert sorted(run.state.of_brokers(LOAD)[:, 0] * run.unit[0]) == pytest.approx([10.0, 10.0])


def test_one_that_is_over_by_more_is_left_to_the_other_steps() -> None:
    run = on_two_brokers(6.0, 4.0, 5.0, 5.0)
    insist(run, seed=1)
    assert (run.state.now == run.state.home).all()


def test_insisting_ends_where_nothing_helps() -> None:
    run = on_two_brokers(5.02, 4.98)
    insist(run, seed=1)
    assert (run.state.now == run.state.home).all()
