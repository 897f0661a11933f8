"""Undo moves that turned out not to be needed.

A moved replica returns to its initial broker where that exceeds no target. Where that broker is too
full by now, another replica leaves it instead: one that was moved there (which costs nothing), or a
smaller one that was there before. It goes to the broker that the returning replica leaves, or
else to the best destination of all.
"""

from __future__ import annotations

from kedge.balance.goals.problem import Int32s
from kedge.balance.search.kernels.drain import best_destination
from kedge.balance.search.kernels.replica_moves import (
    allowed,
    as_index,
    difference,
    is_initial,
    move,
    replica_load,
    within_budgets,
)
from kedge.balance.search.kernels.state import EPSILON, DrainParams, Load, State
from kedge.jit import compiled, within_kernels

TRIED = 4  # replicas that are offered to every broker


@compiled
def undo_unneeded_moves(
    st: State, partitions: Int32s, params: DrainParams, move_price: float
) -> int:
    """Try every moved replica once, in the given sequence of partitions; how many returned.

    `move_price` is what a move is worth in bytes, beside its size.
    """
    width = st.current.shape[1]
    returned = 0
    for i in range(len(partitions)):
        p = as_index(partitions[i])
        for k in range(width):
            b = as_index(st.current[p, k])
            if b < 0 or is_initial(st, p, b):
                continue
            for j in range(width):
                old = as_index(st.initial[p, j])
                if old < 0 or st.status[old].must_empty or not allowed(st, p, b, old):
                    continue
                if _return_replica(st, p, k, old, params, move_price):
                    returned += 1
                    break
    return returned


@within_kernels
def _return_replica(
    st: State, p: int, k: int, old: int, params: DrainParams, move_price: float
) -> bool:
    """Move a replica back to an initial broker, with another one leaving that if needed."""
    b = as_index(st.current[p, k])
    x = replica_load(st, p, k == 0)
    if _fits(st, old, x):
        move(st, p, k, old)
        return True
    width = st.current.shape[1]
    best, cost = -1, st.partition[p].size + move_price
    offered = 0
    second, second_cost = -1, cost
    for i in range(st.status[old].replicas):
        copy_cost = st.replica_cache[old, i].copy_cost
        paid = copy_cost + (move_price if copy_cost > 0 else 0.0)
        if paid > 0.98 * cost or paid >= second_cost:
            continue
        y = (
            st.replica_cache[old, i].load[0],
            st.replica_cache[old, i].load[1],
            st.replica_cache[old, i].load[2],
            st.replica_cache[old, i].load[3],
        )
        if not _fits(st, old, difference(x, y)):
            continue
        slot = as_index(st.slots[old, i])
        q = slot // width
        if (
            paid < cost
            and _fits(st, b, difference(y, x))
            and allowed(st, q, old, b)
            and within_budgets(st, q, old, b)
        ):
            best, cost = slot, paid
        elif paid < second_cost and offered < TRIED:
            offered += 1
            to, _ = best_destination(st, q, slot == q * width, old, 0.0, params)
            if to >= 0 and to != b:
                second, second_cost = slot, paid
    if best < 0 and second < 0:
        return False
    if best >= 0 and cost <= second_cost:
        move(st, p, k, old)
        move(st, best // width, best % width, b)
        return True
    q = second // width
    to, _ = best_destination(st, q, second == q * width, old, 0.0, params)
    move(st, p, k, old)
    move(st, q, second % width, to)
    return True


@within_kernels
def _fits(st: State, b: int, change: Load) -> bool:
    """Whether a change of load leaves a broker within its target, or no worse than it is."""
    for r in range(4):
        x = change[0] if r == 0 else change[1] if r == 1 else change[2] if r == 2 else change[3]
        most = st.broker[b].hard_limit[r]
        if st.broker[b].scale[r] > 0:
            most = min(most, st.broker[b].target[r])
        if x > EPSILON and st.broker[b].load[r] + x > most:
            return False
    return True
