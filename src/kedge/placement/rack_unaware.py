"""Placement on a ring of brokers that have no racks.

The followers of a partition stand at distances 1 + (shift + j) mod (n-1) from its leader, for
j = 0, 1, …: one after the other on the ring of the other brokers, hence never twice the same.

Down the rows of a round, each replica column is simply the ring, entered at some position and read
on; from one round to the next the entry moves by one. So a column over many rounds is a window
that slides over the ring laid out three times, and filling it is one copy of a view:

    ring 0 1 2 3 4 0 1 2 3 4 0 1 2 3 4        first followers, shift 0, 1, 2 …
           1 2 3 4 0                              round 0, rows 0 … 4
             2 3 4 0 1                            round 1
               3 4 0 1 2                          round 2
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from kedge.placement.rounds import Rounds

_CELLS_AT_ONCE = 65_536  # what the columns of one stretch of rounds may fill and stay in cache


def rack_unaware(ids: NDArray[np.int32], rounds: Rounds, width: int) -> NDArray[np.int32]:
    """Fill the distinct rounds of a table with `width` replicas per partition.

    Brokers stand on the ring in the order given.
    """
    table = rounds.empty_table(width)
    windows = _windows_on_the_ring(ids)
    stretch = max(1, _CELLS_AT_ONCE // (rounds.size * width))
    for begin in range(0, rounds.distinct, stretch):
        end = min(begin + stretch, rounds.distinct)
        table[begin:end, :, 0] = windows[rounds.position]
        for follower in range(width - 1):
            _fill_follower(table, windows, rounds, (begin, end), follower)
    return table


def _windows_on_the_ring(ids: NDArray[np.int32]) -> NDArray[np.int32]:
    """Row i is the ring read once around from position i; a view, nothing is copied."""
    size, step = len(ids), ids.itemsize
    ring = np.concatenate((ids, ids, ids))
    return np.ndarray((2 * size + 1, size), np.int32, ring, 0, (step, step))


def _fill_follower(
    table: NDArray[np.int32],
    windows: NDArray[np.int32],
    rounds: Rounds,
    stretch: tuple[int, int],
    follower: int,
) -> None:
    """Fill one follower's column over a stretch of rounds, in runs without a wrap."""
    others = rounds.size - 1
    at, end = stretch
    while at < end:
        distance = (rounds.shift + at + follower) % others
        run = min(end - at, others - distance)
        entry = rounds.position + 1 + distance
        table[at : at + run, :, follower + 1] = windows[entry : entry + run]
        at += run
