"""A placement put together from many that are each cheapest at some prices.

At the best prices most partitions have one placement that is cheapest, and the others are torn
between a few. A linear program mixes the placements met around those prices such that every broker
is within its target and bytes are fewest: a mixture has no more partitions in several places
than there are targets, so all but a few dozen are settled. Those go where most of them is; what
is then beyond a target is small, and the search puts it right.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from kedge.balance.cheapest import Market
from kedge.balance.problem import Floats, Int32s

BEYOND = 5.0  # what load beyond a target costs, in bytes per byte
KEPT = 8  # placements of each partition, those that cost least at the best prices

Int64s = npt.NDArray[np.int64]


def mixed(market: Market, kept: Int32s, prices: Floats, move: float) -> Int32s:
    """int32[P, K]: one placement of each partition, of those in `kept` [N, P, K].

    Load is charged `prices` [B, 4] to tell which are worth looking at, each move `move`.
    """
    row, place = _distinct(kept, len(market.rack))
    cost = _bytes_copied(market, row, place, move)
    few = _cheapest_few(row, cost + _charged(market, row, place, prices))
    row, place, cost = row[few], place[few], cost[few]
    share = _shares(market, row, place, cost)
    order = np.lexsort((share, row))
    last = np.searchsorted(row[order], np.arange(len(market.wanted)), side="right") - 1
    return np.ascontiguousarray(place[order[last]])


def _distinct(kept: Int32s, brokers: int) -> tuple[Int64s, Int32s]:
    """Each placement once: its partition, its brokers."""
    _, partitions, width = kept.shape
    power = (brokers + 1) ** np.arange(width, dtype=np.int64)
    whole = (brokers + 1) ** width
    key: Int64s = ((kept.astype(np.int64) + 1) * power).sum(axis=2)
    found: Int64s = np.unique(key + np.arange(partitions, dtype=np.int64) * whole)
    row, rest = found // whole, found % whole
    place = (rest[:, None] // power) % (brokers + 1) - 1
    return row, place.astype(np.int32)


def _bytes_copied(market: Market, row: Int64s, place: Int32s, move: float) -> Floats:
    """What it takes to get to each placement."""
    at_home = (place[:, :, None] == market.home[row][:, None, :]).any(axis=2)
    copies = ((place >= 0) & ~at_home).sum(axis=1)
    return np.asarray(copies * (market.bytes[row] + move))


def _charged(market: Market, row: Int64s, place: Int32s, prices: Floats) -> Floats:
    """What the brokers of each placement ask for the load that they get."""
    total = np.zeros(len(row))
    for k in range(place.shape[1]):
        load = market.leader if k == 0 else market.follower
        asked = (load[row] * prices[place[:, k]]).sum(axis=1)
        total += np.where(place[:, k] >= 0, asked, 0.0)
    return total


def _cheapest_few(row: Int64s, cost: Floats) -> Int64s:
    """Which placements are among the cheapest of their partition."""
    order = np.lexsort((cost, row))
    rank = np.arange(len(row)) - np.searchsorted(row[order], row[order])
    return np.sort(order[rank < KEPT])


def _shares(market: Market, row: Int64s, place: Int32s, cost: Floats) -> Floats:
    """How much of each placement is in the cheapest mixture."""
    slot = np.argwhere(market.target > 0)
    number = np.full(market.target.shape, -1)
    number[tuple(slot.T)] = len(market.wanted) + np.arange(len(slot))
    entries = _entries(market, row, place, number)
    most = market.target[tuple(slot.T)]
    return _solved(len(market.wanted), most, cost, entries)


def _entries(
    market: Market, row: Int64s, place: Int32s, number: Int64s
) -> tuple[Int64s, Int64s, Floats]:
    """The matrix by columns: where each placement starts, rows, values."""
    column, index, value = [np.arange(len(row))], [row], [np.ones(len(row))]
    for k in range(place.shape[1]):
        load = (market.leader if k == 0 else market.follower)[row]
        for r in range(4):
            at = number[place[:, k], r]
            some = np.flatnonzero((place[:, k] >= 0) & (load[:, r] > 0) & (at >= 0))
            column.append(some)
            index.append(at[some])
            value.append(load[some, r])
    columns = np.concatenate(column)
    order = np.argsort(columns, kind="stable")
    starts = np.searchsorted(columns[order], np.arange(len(row) + 1))
    return starts, np.concatenate(index)[order], np.concatenate(value)[order]


def _solved(
    partitions: int, most: Floats, cost: Floats, entries: tuple[Int64s, Int64s, Floats]
) -> Floats:
    """Shares add up to 1 for each partition; load beyond `most` has its price."""
    import highspy

    starts, index, value = entries
    targets, columns = len(most), len(cost)
    nothing = highspy.kHighsInf
    model: Any = highspy.HighsLp()
    model.num_col_ = columns + targets
    model.num_row_ = partitions + targets
    model.col_cost_ = np.r_[cost, np.full(targets, BEYOND)]
    model.col_lower_ = np.zeros(columns + targets)
    model.col_upper_ = np.full(columns + targets, nothing)
    model.row_lower_ = np.r_[np.ones(partitions), np.full(targets, -nothing)]
    model.row_upper_ = np.r_[np.ones(partitions), most]
    model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.a_matrix_.start_ = np.r_[starts, starts[-1] + 1 + np.arange(targets)].astype(np.int32)
    model.a_matrix_.index_ = np.r_[index, partitions + np.arange(targets)].astype(np.int32)
    model.a_matrix_.value_ = np.r_[value, np.full(targets, -1.0)]
    solver: Any = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("threads", 1)
    # then crossed over to a vertex; simplex steps alone take up to five times as long
    solver.setOptionValue("solver", "ipm")
    solver.passModel(model)
    solver.run()
    return np.array(solver.getSolution().col_value[:columns], np.float64)
