"""Splitting totals in proportion to weights, so that the parts add up to the totals."""

from __future__ import annotations

import numpy as np

from kedge.metrics.attribution.samples import Floats, Ints


def split(total: Floats, weight: Floats, usual: Floats) -> Floats:
    """Split the total of each interval over partitions (rows).

    In an interval in which no partition has a weight, by the usual weights; without these evenly.
    """
    if not len(weight):
        return weight
    if not usual.sum() > 0:
        usual = np.ones_like(usual)
    sums = weight.sum(axis=0)
    empty = ~(sums > 0)
    filled = np.where(empty, usual[:, None], weight)
    return filled / filled.sum(axis=0) * total  # shares first: tiny weights overflow otherwise


def whole_numbers(parts: Floats) -> Ints:
    """Round each column so that it adds up to its rounded sum: largest remainders go up."""
    low = np.floor(parts)
    missing = (np.rint(parts.sum(axis=0)) - low.sum(axis=0)).astype(np.int64)
    order = np.argsort(low - parts, axis=0, kind="stable")  # largest remainder first
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.arange(len(parts))[:, None], axis=0)
    return low.astype(np.int64) + (rank < missing)
