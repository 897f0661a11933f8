"""Compile every kernel of the planner ahead of time, so that the first plan need not wait.

Called when Kedge is installed. The kernels run once, on a cluster of three brokers.
"""

from __future__ import annotations

from importlib import import_module

import numpy as np

from kedge.balance.bounds import bounds_of
from kedge.balance.goals.problem import Problem
from kedge.balance.output.waves import Moves, waves_of
from kedge.balance.search.kernels.leadership import choose_leaders
from kedge.balance.search.search_run import SearchRun
from kedge.balance.search.solver import search
from kedge.jit import WORTH_LOADING


def warm_up() -> None:
    """Compile every kernel, or load it from the cache."""
    import_module("highspy")  # imported late as well
    tiny = three_brokers()
    bounds = bounds_of(tiny)
    search(tiny, bounds)
    run = SearchRun(tiny, bounds)
    choose_leaders(run.state, run.largest_first)  # the search calls it where resources conflict
    moves = many_moves()
    waves_of(moves, np.ones(3), moves.source, brokers=3, each_way=2)


def many_moves() -> Moves:
    """Moves between three brokers, as many as make compiled code worth its while."""
    count = 2 * WORTH_LOADING
    source = (np.arange(count) % 3).astype(np.int32)
    target = np.stack([(source + 1) % 3, np.full(count, -1, np.int32)], axis=1).astype(np.int32)
    return Moves(
        size=np.ones(count),
        source=source,
        target=target,
        target_dir=target.copy(),
        deleted_dir=np.full((count, 2), -1, np.int32),
        dir_broker=np.arange(3, dtype=np.int32),
        dir_used=np.zeros(3),
        dir_limit=np.full(3, np.inf),
    )


def three_brokers() -> Problem:
    """Three partitions on three brokers, one of which is overloaded."""
    load = np.array([[3.0, 1.0, 1.0, 1.0]] * 3)
    yes = np.ones(3, np.bool_)
    return Problem(
        rack=np.arange(3, dtype=np.int32),
        capacity=np.ones((3, 4)),
        must_empty=~yes,
        may_receive=yes,
        may_give=yes.copy(),
        max_replicas=np.full(3, 9, np.int32),
        topic=np.zeros(3, np.int32),
        initial=np.array([[0, 1], [0, 1], [0, 2]], np.int32),
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
