"""Steps of the search: what kernels cache is true; which overload is repaired."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from kedge.balance.bounds import bounds_of
from kedge.balance.goals.problem import Problem
from kedge.balance.search.kernels.state import State, copied
from kedge.balance.search.local_search import repair_residual_violations
from kedge.balance.search.price_anneal import Setting, anneal_by_price, candidates_of
from kedge.balance.search.search_run import SearchRun
from tests.balance.problems import problem_of, problems


def lists(state: State) -> list[dict[int, tuple[float, ...]]]:
    """Of each broker, its replicas by slot with what is cached of them."""
    return [
        {
            int(state.slots[b, at]): (*cached["load"].tolist(), float(cached["copy_cost"]))
            for at, cached in enumerate(state.replica_cache[b, :count])
        }
        for b, count in enumerate(state.status["replicas"])
    ]


@settings(max_examples=60)
@given(problems())
def test_lists_and_slack_are_those_of_the_replicas(problem: Problem) -> None:
    from kedge.balance.search.kernels.replica_moves import fill_lists

    run = SearchRun(problem, bounds_of(problem), None)
    run.make_mandatory_moves()
    run.drain_to(run.tolerance)
    run.undo_unneeded_moves(1)
    run.anneal(1, (1e-2, 1e-4), steps=500, penalty=0.7, move_price=1e-4)
    anneal_by_price(run, 1, Setting(1e-2, 0.7, 5), candidates_of(run))
    run.restore_leaders()
    anew = copied(run.state)
    fill_lists(anew)
    assert lists(run.state) == lists(anew)
    np.testing.assert_allclose(run.state.broker["load"], anew.broker["load"], atol=1e-9)
    np.testing.assert_allclose(run.state.slack, anew.slack, atol=1e-9)


@settings(max_examples=20)
@given(problems())
def test_a_fork_leaves_the_run_as_it_is(problem: Problem) -> None:
    run = SearchRun(problem, bounds_of(problem), None)
    before = copied(run.state)
    run.fork(run.state).make_mandatory_moves()
    for kept, now in zip(before, run.state, strict=True):
        assert (kept == now).all()


def on_two_brokers(*sizes: float) -> SearchRun:
    """Replicas on two brokers in turn, which may hold a thousandth more than half each."""
    home = [[i % 2] for i in range(len(sizes))]
    problem = problem_of(home, size=sizes, tolerance=np.full(4, 1e-3))
    return SearchRun(problem, bounds_of(problem), None)


def test_a_broker_that_is_slightly_overloaded_exchanges_what_fits() -> None:
    run = on_two_brokers(5.02, 4.98, 5.0, 5.0)
    repair_residual_violations(run, seed=1)
    assert sorted(run.state.broker["load"][:, 0] * run.unit[0]) == pytest.approx([10.0, 10.0])


def test_a_larger_overload_is_left_to_the_other_steps() -> None:
    run = on_two_brokers(6.0, 4.0, 5.0, 5.0)
    repair_residual_violations(run, seed=1)
    assert (run.state.current == run.state.initial).all()


def test_repairing_ends_where_nothing_helps() -> None:
    run = on_two_brokers(5.02, 4.98)
    repair_residual_violations(run, seed=1)
    assert (run.state.current == run.state.initial).all()
