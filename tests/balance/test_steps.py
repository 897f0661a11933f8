"""What the kernels keep beside the loads tells what it would tell if it were written anew."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings

from kedge.balance.bounds import bounds_of
from kedge.balance.layout import COUNT, LOAD, State
from kedge.balance.problem import Problem
from kedge.balance.steps import Run, copied
from tests.balance.problems import problems


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
