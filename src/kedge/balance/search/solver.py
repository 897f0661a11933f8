"""The search: mandatory moves, draining by shrinking tolerances, undoing, local search.

    mandatory_moves   what must move whatever the balance
    drain             from a wide tolerance to the one of the goals, step by step
    undo_moves        moves that turned out not to be needed are undone
    local_search      annealing, where the cluster is small enough to gain by it
    leadership        initial leaders lead again where targets allow it

Every step of the tolerance is a point of the curve of balance reached against bytes moved. One
setting serves all sizes, and the seed determines all random numbers.

The search can be stopped at any time: `out_of_time` is called several times a second, and once it
returns True only what a valid plan needs is still done. Without it, or when it never returns True,
the result depends on the problem and the seed alone.
"""

from __future__ import annotations

import numpy as np

from kedge.balance.bounds import Bounds
from kedge.balance.goals.problem import Int32s, Problem, broker_loads
from kedge.balance.search.local_search import MEDIUM, local_search
from kedge.balance.search.search_run import (
    DRAIN_RETRIES,
    OutOfTime,
    ProgressListener,
    SearchRun,
)
from kedge.balance.search.solution import Solution

TOLERANCES = (0.5, 0.3, 0.18, 0.1, 0.07, 0.05, 0.04, 0.03, 0.025, 0.02, 0.015, 0.0125, 0.01)


def search(
    problem: Problem,
    bounds: Bounds,
    *,
    seed: int = 0,
    max_bytes: float | None = None,
    max_moves: int | None = None,
    max_moves_per_broker: int | None = None,
    leaders_only: bool = False,
    progress: ProgressListener | None = None,
    out_of_time: OutOfTime | None = None,
    use_all_time: bool = False,
) -> Solution:
    """The best assignment found within the budgets; mandatory moves are made whatever they are.

    `use_all_time` continues the search of a small cluster until `out_of_time` returns True.
    """
    run = SearchRun(problem, bounds, progress, out_of_time, use_all_time=use_all_time)
    if leaders_only:
        run.freeze_replicas()
    else:
        run.make_mandatory_moves()
    run.set_budgets(max_bytes, max_moves, max_moves_per_broker)
    run.move_oversized_replicas()
    for tolerance in TOLERANCES:
        if tolerance > run.tolerance * 1.05 and not run.must_stop():
            run.drain_to(tolerance)
    left = run.drain_to(run.tolerance, retries=DRAIN_RETRIES)
    if not leaders_only:
        if not run.must_stop():
            run.undo_unneeded_moves(2 if problem.initial.size <= MEDIUM else 1)
        local_search(run, seed, left)
    run.restore_leaders()
    run.curve[-1] = run.point(run.tolerance)
    return _solution(run)


def _solution(run: SearchRun) -> Solution:
    """The state as a solution, its loads summed anew in the units of the problem."""
    problem, bounds, state = run.problem, run.bounds, run.state
    replicas = packed(state.current)
    loads = broker_loads(problem, replicas)
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
        over_max_replicas=int((held > problem.max_replicas).sum()),
        curve=tuple(run.curve),
        interrupted=run.interrupted,
    )


def packed(rows: Int32s) -> Int32s:
    """Rows with their padding at the end."""
    last = np.argsort(rows < 0, axis=1, kind="stable")
    return np.take_along_axis(rows, last, axis=1).astype(np.int32)
