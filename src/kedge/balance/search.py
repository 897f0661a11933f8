"""The search: forced work, drain by shrinking tolerances, bring home, polish what is small.

    forced   what must move, moves                                          (`forced`)
    drain    from a wide tolerance down to the one asked for, step by step   (`drain`)
    home     what turned out not to be needed is undone                     (`home`)
    polish   random steps, where the cluster is small enough to gain by it  (`polish`)

Every step of the tolerance is a point of the curve of balance reached against bytes moved. One
setting serves all sizes, and a seed is all the luck there is.
"""

from __future__ import annotations

from importlib import import_module

import numpy as np

from kedge.balance.bounds import Bounds
from kedge.balance.polish import MIDDLING, polish
from kedge.balance.problem import Floats, Int32s, Problem
from kedge.balance.solution import Solution
from kedge.balance.steps import TRIES, Run, Watch

STEPS = (0.5, 0.3, 0.18, 0.1, 0.07, 0.05, 0.04, 0.03, 0.025, 0.02, 0.015, 0.0125, 0.01)


def search(
    problem: Problem,
    bounds: Bounds,
    *,
    seed: int = 0,
    max_bytes: float | None = None,
    max_moves: int | None = None,
    max_moves_per_broker: int | None = None,
    leaders_only: bool = False,
    progress: Watch | None = None,
) -> Solution:
    """The best assignment found within the budgets; forced work is done whatever they are."""
    run = Run(problem, bounds, progress)
    if leaders_only:
        run.leave_all()
    else:
        run.forced()
    run.set_budget(max_bytes, max_moves, max_moves_per_broker)
    run.misfits()
    aim = run.aimed
    for epsilon in STEPS:
        if epsilon > aim * 1.05:
            run.drain_to(epsilon)
    left = run.drain_to(aim, tries=TRIES)
    if not leaders_only:
        run.bring_home(2 if problem.home.size <= MIDDLING else 1)
        polish(run, seed, left)
    run.restore_leaders()
    run.curve[-1] = run.point(aim)
    return _solution(run)


def _solution(run: Run) -> Solution:
    """The state as an answer, its loads summed anew in the units of the problem."""
    problem, bounds, state = run.problem, run.bounds, run.state
    replicas = packed(state.now)
    loads = loads_of(problem, replicas)
    full = bounds.level * problem.capacity
    ratio = np.divide(loads, full, out=np.zeros_like(loads), where=full > 0)
    ratio[problem.must_empty] = 0.0
    over = loads > bounds.target * (1 + 1e-9) + 1e-9 * run.unit
    there = replicas >= 0
    held = np.bincount(replicas[there], minlength=problem.brokers)
    return Solution(
        replicas=replicas,
        loads=loads,
        reached=ratio.max(axis=0),
        within=np.asarray(~over[~problem.must_empty].any(axis=0)),
        bytes_moved=run.curve[-1].bytes_moved,
        replica_moves=run.curve[-1].replica_moves,
        leader_changes=run.curve[-1].leader_changes,
        unplaced=run.unplaced,
        left_behind=int(held[problem.must_empty].sum()),
        over_room=int((held > problem.room).sum()),
        curve=tuple(run.curve),
    )


def packed(rows: Int32s) -> Int32s:
    """Rows with what pads them at their ends."""
    order = np.argsort(rows < 0, axis=1, kind="stable")
    return np.take_along_axis(rows, order, axis=1).astype(np.int32)


def loads_of(problem: Problem, replicas: Int32s) -> Floats:
    """float64[B, R]: what brokers carry under an assignment, column 0 leading."""
    loads = np.zeros((problem.brokers, problem.capacity.shape[1]))
    for column in range(replicas.shape[1]):
        load = problem.leader_load if column == 0 else problem.follower_load
        there = np.nonzero(replicas[:, column] >= 0)[0]
        at = replicas[there, column]
        for r in range(loads.shape[1]):
            loads[:, r] += np.bincount(at, load[there, r], problem.brokers)
    return loads


def warm() -> None:
    """Compile every kernel, or load it from the cache, on a cluster of three brokers."""
    import_module("highspy")  # what bounds are solved with is loaded late, too

    from kedge.balance.bounds import bounds_of

    home = np.array([[0, 1], [0, 1], [0, 2]], np.int32)
    load = np.array([[3.0, 1.0, 1.0, 1.0]] * 3)
    yes = np.ones(3, np.bool_)
    tiny = Problem(
        rack=np.arange(3, dtype=np.int32),
        capacity=np.ones((3, 4)),
        must_empty=~yes,
        may_receive=yes,
        may_give=yes.copy(),
        room=np.full(3, 9, np.int32),
        topic=np.zeros(3, np.int32),
        home=home,
        wanted=np.full(3, 2, np.int32),
        movable=yes.copy(),
        leader_movable=yes.copy(),
        leader_load=load,
        follower_load=load * 0.5,
        rack_limit=np.ones(3, np.int32),
        weight=np.ones(4),
        tolerance=np.full(4, 0.01),
        hard_limit=np.full((3, 4), np.inf),
    )
    search(tiny, bounds_of(tiny))
