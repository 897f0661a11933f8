"""Bring home: undo what turned out not to be needed.

A replica that was moved goes back where that breaks no target. Where its broker has become too
full for it, another replica leaves in its stead: one that was moved there (which costs nothing), or
one of its own that is smaller. The place that becomes free is offered to it first.
"""

from __future__ import annotations

from kedge.balance.drain import best_place, follower_or_leader
from kedge.balance.layout import (
    COPY,
    COUNT,
    EMPTY,
    HAIR,
    HARD,
    INVERSE,
    LOAD,
    SIZE,
    TARGET,
    State,
)
from kedge.balance.problem import Floats, Int32s
from kedge.balance.state import affordable, allowed, is_home, shift
from kedge.jit import compiled, within_kernels

TRIED = 4  # replicas for which every broker is asked, after the place that became free


@compiled
def bring_home(st: State, order: Int32s, weight: Floats, how: Floats, price: float) -> int:
    """Try every moved replica once, in the given order of partitions; says how many returned.

    `price` is what a move is worth in bytes beside its size.
    """
    width = st.now.shape[1]
    returned = 0
    for i in range(len(order)):
        p = order[i]
        for k in range(width):
            b = st.now[p, k]
            if b < 0 or is_home(st, p, b):
                continue
            for j in range(width):
                h = st.home[p, j]
                if h < 0 or st.holder[h, EMPTY] or not allowed(st, p, b, h):
                    continue
                if _return(st, p, k, b, h, weight, how, price):
                    returned += 1
                    break
    return returned


@within_kernels
def _return(
    st: State, p: int, k: int, b: int, h: int, weight: Floats, how: Floats, price: float
) -> bool:
    """Move a replica from b back to h, with another leaving h if it must."""
    x0, x1, x2, x3 = follower_or_leader(st, p, k == 0)
    if _fits(st, h, x0, x1, x2, x3):
        shift(st, p, k, h)
        return True
    width = st.now.shape[1]
    items, cargo = st.items, st.cargo[h]
    best, cost = -1, st.part[p, SIZE] + price
    spares = 0
    second, second_cost = -1, cost
    for i in range(st.holder[h, COUNT]):
        paid = cargo[i, COPY] + (price if cargo[i, COPY] > 0 else 0.0)
        if paid > 0.98 * cost or paid >= second_cost:
            continue
        y0, y1, y2, y3 = cargo[i, 0], cargo[i, 1], cargo[i, 2], cargo[i, 3]
        if not _fits(st, h, x0 - y0, x1 - y1, x2 - y2, x3 - y3):
            continue
        slot = items[h, i]
        q = slot // width
        if (
            paid < cost
            and _fits(st, b, y0 - x0, y1 - x1, y2 - x2, y3 - x3)
            and allowed(st, q, h, b)
            and affordable(st, q, h, b)
        ):
            best, cost = slot, paid
        elif paid < second_cost and spares < TRIED:
            spares += 1
            to, _ = best_place(st, q, slot == q * width, h, 0.0, weight, how)
            if to >= 0 and to != b:
                second, second_cost = slot, paid
    if best < 0 and second < 0:
        return False
    if best >= 0 and cost <= second_cost:
        q = best // width
        shift(st, p, k, h)
        shift(st, q, best % width, b)
        return True
    q = second // width
    to, _ = best_place(st, q, second == q * width, h, 0.0, weight, how)
    shift(st, p, k, h)
    shift(st, q, second % width, to)
    return True


@within_kernels
def _fits(st: State, b: int, x0: float, x1: float, x2: float, x3: float) -> bool:
    """A change of load leaves a broker within its target, or nowhere worse than it is."""
    for r in range(4):
        x = x0 if r == 0 else x1 if r == 1 else x2 if r == 2 else x3
        most = st.broker[b, HARD + r]
        if st.broker[b, INVERSE + r] > 0:
            most = min(most, st.broker[b, TARGET + r])
        if x > HAIR and st.broker[b, LOAD + r] + x > most:
            return False
    return True
