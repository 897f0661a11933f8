"""An assignment rounded from a linear program over placements that are cheapest at some prices.

At the best prices most partitions have one placement that is cheapest, and the others a few that
cost about the same. A linear program mixes the placements met around those prices such that every
broker is within its target and bytes are fewest: a vertex has no more partitions with several
placements than there are targets, so all but a few dozen are settled. Those take the placement with
the largest share; the overload that results is small, and the search repairs it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kedge.balance.bounds.cheapest_placement import Market
from kedge.balance.bounds.linear_program import (
    LinearProgram,
    SparseMatrix,
    solve_linear_program,
)
from kedge.balance.goals.problem import Floats, Int32s

OVERLOAD_PRICE = 5.0  # of load beyond a target, in bytes per byte
KEPT = 4  # placements of each partition, those that cost least at the best prices

Int64s = npt.NDArray[np.int64]


def lp_rounding(market: Market, met: Int32s, prices: Floats, move_price: float) -> Int32s:
    """int32[P, K]: one placement of each partition, of those in `met` [N, P, K].

    `prices` [B, 4] of load choose the placements that are considered; each move costs `move_price`.
    """
    row, placement = _distinct(met, len(market.rack))
    cost = _bytes_copied(market, row, placement, move_price)
    few = _cheapest_few(row, cost + _charged(market, row, placement, prices))
    row, placement, cost = row[few], placement[few], cost[few]
    share = _shares(market, row, placement, cost)
    order = np.lexsort((share, row))
    last = np.searchsorted(row[order], np.arange(len(market.wanted)), side="right") - 1
    return np.ascontiguousarray(placement[order[last]])


def _distinct(met: Int32s, brokers: int) -> tuple[Int64s, Int32s]:
    """Each placement once: its partition, its brokers."""
    _, partitions, width = met.shape
    power = (brokers + 1) ** np.arange(width, dtype=np.int64)
    whole = (brokers + 1) ** width
    key: Int64s = ((met.astype(np.int64) + 1) * power).sum(axis=2)
    found: Int64s = np.unique(key + np.arange(partitions, dtype=np.int64) * whole)
    row, rest = found // whole, found % whole
    placement = (rest[:, None] // power) % (brokers + 1) - 1
    return row, placement.astype(np.int32)


def _bytes_copied(market: Market, row: Int64s, placement: Int32s, move_price: float) -> Floats:
    """Bytes and moves that lead to each placement."""
    unmoved = (placement[:, :, None] == market.initial[row][:, None, :]).any(axis=2)
    copies = ((placement >= 0) & ~unmoved).sum(axis=1)
    return np.asarray(copies * (market.bytes[row] + move_price))


def _charged(market: Market, row: Int64s, placement: Int32s, prices: Floats) -> Floats:
    """The price of the load that each placement brings to its brokers."""
    total = np.zeros(len(row))
    for k in range(placement.shape[1]):
        load = market.leader if k == 0 else market.follower
        charge = (load[row] * prices[placement[:, k]]).sum(axis=1)
        total += np.where(placement[:, k] >= 0, charge, 0.0)
    return total


def _cheapest_few(row: Int64s, cost: Floats) -> Int64s:
    """Which placements are among the cheapest of their partition."""
    order = np.lexsort((cost, row))
    rank = np.arange(len(row)) - np.searchsorted(row[order], row[order])
    return np.sort(order[rank < KEPT])


def _shares(market: Market, row: Int64s, placement: Int32s, cost: Floats) -> Floats:
    """How much of each placement is in the cheapest mixture.

    The shares of each partition's placements add up to 1; load beyond a target has its price.
    """
    limited = np.argwhere(market.target > 0)
    partitions, targets = len(market.wanted), len(limited)
    number = np.full(market.target.shape, -1)
    number[tuple(limited.T)] = partitions + np.arange(targets)
    matrix = _columns(market, row, placement, number)
    beyond = np.arange(targets)  # one more column for each target: the load beyond it
    program = LinearProgram(
        cost=np.r_[cost, np.full(targets, OVERLOAD_PRICE)],
        matrix=SparseMatrix(
            start=np.r_[matrix.start, matrix.start[-1] + 1 + beyond],
            index=np.r_[matrix.index, partitions + beyond],
            value=np.r_[matrix.value, np.full(targets, -1.0)],
        ),
        row_lower=np.r_[np.ones(partitions), np.full(targets, -np.inf)],
        row_upper=np.r_[np.ones(partitions), market.target[tuple(limited.T)]],
        interior_point=True,  # simplex steps alone take up to five times as long
    )
    return solve_linear_program(program)[: len(cost)]


def _columns(market: Market, row: Int64s, placement: Int32s, number: Int64s) -> SparseMatrix:
    """The columns of the placements: 1 in the row of the partition, loads in those of targets."""
    column, index, value = [np.arange(len(row))], [row], [np.ones(len(row))]
    for k in range(placement.shape[1]):
        load = (market.leader if k == 0 else market.follower)[row]
        for r in range(4):
            at = number[placement[:, k], r]
            some = np.flatnonzero((placement[:, k] >= 0) & (load[:, r] > 0) & (at >= 0))
            column.append(some)
            index.append(at[some])
            value.append(load[some, r])
    columns = np.concatenate(column)
    by_column = np.argsort(columns, kind="stable")
    starts = np.searchsorted(columns[by_column], np.arange(len(row) + 1))
    return SparseMatrix(starts, np.concatenate(index)[by_column], np.concatenate(value)[by_column])
