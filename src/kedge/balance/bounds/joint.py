"""The joint bound: how far all resources together must stay above their best levels.

Each resource alone may reach its best level u_r, but perhaps not all at once: where brokers differ
in the proportions of their capacity, a replica suits one kind of broker and not another. Give every
kind c of brokers a price w_cr ≥ 0 for each resource, scaled so that all brokers filled to their
best levels would pay 1 together. Then in any assignment in which no broker exceeds t × its level

    t ≥ Σ_c,r w_cr·load_cr ≥ Σ_p min_c (w_c·leader_p) + (RF_p − 1)·min_c (w_c·follower_p)

The right side needs no placement, so it is a bound for every choice of prices. Good prices come
from a linear program on partitions gathered by the shape of their load; the bound is then
evaluated on each partition itself, which is what makes it valid.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kedge.balance.bounds.linear_program import (
    LinearProgram,
    SparseMatrix,
    solve_linear_program,
)
from kedge.balance.goals.problem import Floats, Int32s, Problem

Int64s = npt.NDArray[np.int64]

MOST_KINDS = 8  # more kinds of brokers than this are merged: any grouping is valid
SHAPES = 12  # steps per ratio into which shapes of load are gathered


@dataclass(frozen=True, slots=True, eq=False)
class Joint:
    """The bound with the prices that prove it.

    `by` is how replicas are charged: each on the kind where it is cheapest ("kinds"), or each
    partition for its cheapest placement in racks ("placements", see `cheapest_placement`).
    """

    level: float  # t* ≥ 1
    kind: Int32s  # int32[B]: the kind of each broker, -1 where it must end empty
    prices: Floats  # float64[kinds, R]
    by: str = "kinds"


def joint_by_placements(problem: Problem, best: Floats, floor: Floats, joint: Joint) -> Joint:
    """A better bound, from prices of single brokers and with racks; for small clusters."""
    from kedge.balance.bounds.price_ascent import joint_prices

    if (floor > best * problem.capacity).any():
        return joint
    full = np.where((best > 0) & ~problem.must_empty[:, None], best * problem.capacity, np.inf)
    prices, level = joint_prices(problem, best, 1 / full)
    every = np.arange(problem.brokers, dtype=np.int32)
    return Joint(level, every, prices, "placements") if level > joint.level else joint


def joint_bound(problem: Problem, best: Floats, floor: Floats) -> Joint:
    """The best bound found; 1 where nothing conflicts or a floor exceeds a best level."""
    kind = broker_kinds(problem)
    kinds = int(kind.max()) + 1
    none = Joint(1.0, kind, np.zeros((max(kinds, 1), 4)))
    if kinds < 2 or (floor > best * problem.capacity).any():
        return none
    filled = np.zeros((kinds, 4))
    np.add.at(filled, kind[kind >= 0], (best * problem.capacity)[kind >= 0])
    prices = _prices(problem, filled)
    spent = float((prices * filled).sum())
    if spent <= 0:
        return none
    prices = prices / spent
    level = priced(problem, prices)
    return Joint(level, kind, prices) if level > 1 else none


def broker_kinds(problem: Problem) -> Int32s:
    """Brokers with the same proportions of capacity are one kind, whatever their size."""
    usable = ~problem.must_empty & (problem.capacity > 0).all(axis=1)
    shape = np.log(problem.capacity[usable] / problem.capacity[usable][:, :1])
    kind = np.full(problem.brokers, -1, np.int32)
    for digits in (3, 1, 0):
        rows, inverse = np.unique(np.round(shape, digits), axis=0, return_inverse=True)
        if len(rows) <= MOST_KINDS:
            kind[usable] = inverse.reshape(-1)
            return kind
    kind[usable] = 0
    return kind


def priced(problem: Problem, prices: Floats) -> float:
    """What all partitions pay at least: each replica where it is cheapest."""
    leader = (problem.leader_load @ prices.T).min(axis=1)
    follower = (problem.follower_load @ prices.T).min(axis=1)
    return float((leader + (problem.wanted - 1) * follower).sum())


def _gathered(problem: Problem) -> tuple[Floats, Floats]:
    """Partitions of about one shape as one: total leader load, total load of all followers."""
    leader, follower = problem.leader_load, problem.follower_load
    total = np.maximum(leader.sum(axis=0), 1e-300)
    share = np.maximum(leader / total, 1e-12)
    ratios: Floats = np.log(share[:, 1:3] / share[:, :2])
    rounded: Floats = np.round(ratios * 2)
    steps: Int64s = np.clip(rounded, -SHAPES, SHAPES).astype(np.int64) + SHAPES
    key: Int64s = (steps[:, 0] * (2 * SHAPES + 1) + steps[:, 1]) * 8 + np.minimum(problem.wanted, 7)
    found, group = np.unique(key, return_inverse=True)
    others = (problem.wanted - 1)[:, None] * follower
    sums = [
        np.stack([np.bincount(group, load[:, r], len(found)) for r in range(4)], axis=1)
        for load in (leader, others)
    ]
    return sums[0].astype(np.float64), sums[1].astype(np.float64)


def _prices(problem: Problem, filled: Floats) -> Floats:
    """The linear program: prices that make the gathered partitions pay most.

    Maximise Σ pays, with Σ prices · filled = 1 and pays ≤ prices of each kind · load of the group.
    """
    kinds = len(filled)
    scale = np.maximum(filled.sum(axis=0), 1e-300)
    loads = np.concatenate([part / scale for part in _gathered(problem)])
    loads = loads[loads.sum(axis=1) > 0]
    # columns: w[kind, r] ≥ 0, then what each group pays; rows: pays ≤ w_kind · load
    count, columns = len(loads), kinds * 4
    index = np.empty((count, kinds, 5), np.int32)
    index[:, :, :4] = (np.arange(kinds)[:, None] * 4 + np.arange(4))[None]
    index[:, :, 4] = columns + np.arange(count)[:, None]
    value = np.empty((count, kinds, 5))
    value[:, :, :4] = loads[:, None, :]
    value[:, :, 4] = -1.0
    start = np.arange(0, count * kinds * 5 + 1, 5, dtype=np.int32)
    matrix = SparseMatrix(
        start=np.r_[start, start[-1] + columns],
        index=np.r_[index.reshape(-1), np.arange(columns, dtype=np.int32)],
        value=np.r_[value.reshape(-1), (filled / scale).reshape(-1)],
    )
    program = LinearProgram(
        cost=np.r_[np.zeros(columns), np.ones(count)],
        matrix=matrix,
        row_lower=np.r_[np.zeros(count * kinds), 1.0],
        row_upper=np.r_[np.full(count * kinds, np.inf), 1.0],
        by_rows=True,
        maximise=True,
    )
    found = solve_linear_program(program)
    return np.maximum(found[:columns].reshape(kinds, 4), 0.0) / scale
