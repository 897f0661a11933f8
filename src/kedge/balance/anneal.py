"""Anneal: many small random steps, each kept if it helps or, early on, if it hurts only a little.

For small clusters, where a broker has few replicas and greedy choices do not fit exactly. What is
made small is bytes moved, plus a price for each move, plus a steep price for load beyond a target;
so the search may walk through placements that are a little too full and come out better.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kedge.balance.drain import follower_or_leader
from kedge.balance.layout import (
    COUNT,
    ELECTABLE,
    EMPTY,
    GIVES,
    HARD,
    INVERSE,
    LOAD,
    MOVABLE,
    RACK,
    SIZE,
    TARGET,
    State,
)
from kedge.balance.problem import Floats, Int32s
from kedge.balance.state import affordable, allowed, is_home, put_first, shift
from kedge.jit import compiled, within_kernels

UInt64s = npt.NDArray[np.uint64]


@within_kernels
def _draw(luck: UInt64s) -> float:
    """The next number in [0, 1): xorshift, so that a seed is all the luck there is."""
    x = luck[0]
    x ^= x << np.uint64(13)
    x ^= x >> np.uint64(7)
    x ^= x << np.uint64(17)
    luck[0] = x
    return (x >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@within_kernels
def _near(st: State, luck: UInt64s, racks: Int32s, starts: Int32s, b: int) -> int:
    """A broker by chance: mostly of the same rack, where every replica may go."""
    if _draw(luck) < 0.25:
        return int(_draw(luck) * len(st.holder))
    rack = st.holder[b, RACK]
    return int(racks[starts[rack] + int(_draw(luck) * (starts[rack + 1] - starts[rack]))])


@within_kernels
def _pushed(
    st: State, toll: Floats, steep: float, b: int, x0: float, x1: float, x2: float, x3: float
) -> float:
    """What a change of load costs: its toll, and how much further it is beyond the target."""
    cost = 0.0
    for r in range(4):
        x = x0 if r == 0 else x1 if r == 1 else x2 if r == 2 else x3
        before = (st.broker[b, LOAD + r] - st.broker[b, TARGET + r]) * st.broker[b, INVERSE + r]
        change = max(0.0, before + x * st.broker[b, INVERSE + r]) - max(0.0, before)
        cost += steep * change + toll[b, r] * x
    return cost


@compiled
def anneal(
    st: State,
    luck: UInt64s,
    racks: Int32s,
    starts: Int32s,
    focus: Int32s,
    toll: Floats,
    steps: int,
    hot: float,
    cold: float,
    price: float,
    steep: float,
) -> int:
    """Take so many steps while the temperature falls from hot to cold; says how many were kept.

    `racks` lists the brokers rack by rack, from `starts` on; only replicas of the brokers in
    `focus` are drawn, or if there are none, all. `toll` [B, 4] is what load costs wherever it is,
    `price` what a move costs beside its bytes. What lies beyond a target costs `steep` at first and
    ten times that in the end, so that the last steps leave nothing there.
    """
    partitions, width = st.now.shape
    cooling = (cold / hot) ** (1.0 / max(1, steps // 256))
    steeper = 10.0 ** (1.0 / max(1, steps // 256))
    heat, kept = hot, 0
    for step in range(steps):
        if step % 256 == 255:
            heat *= cooling
            steep *= steeper
        if len(focus) == 0:
            p = int(_draw(luck) * partitions)
            k = int(_draw(luck) * width)
        else:
            holder = focus[int(_draw(luck) * len(focus))]
            drawn = st.items[holder, int(_draw(luck) * st.holder[holder, COUNT])]
            p, k = drawn // width, drawn % width
        b = st.now[p, k]
        if b < 0 or not st.rule[p, MOVABLE]:
            continue
        kind = _draw(luck)
        limit = -heat * np.log(1.0 - _draw(luck))  # the most that this step may cost
        if k == 0 and not st.rule[p, ELECTABLE]:
            continue
        own = is_home(st, p, b)
        if kind < 0.2:
            kept += _lead(st, toll, steep, limit, p, k)
        elif kind < 0.6 or not own:
            to = _near(st, luck, racks, starts, b)
            if not own and kind < 0.5:
                to = st.home[p, int(_draw(luck) * width)]
            kept += _move(st, toll, steep, limit, price, p, k, to)
        else:
            to = _near(st, luck, racks, starts, b)
            if to != b and st.holder[to, COUNT] > 0 and not st.holder[to, EMPTY]:
                slot = st.items[to, int(_draw(luck) * st.holder[to, COUNT])]
                q, j = slot // width, slot % width
                kept += _exchange(st, toll, steep, limit, price, p, k, b, q, j, to)
    return kept


@within_kernels
def _lead(st: State, toll: Floats, steep: float, limit: float, p: int, k: int) -> int:
    """Let a follower lead, if that costs no more than it may."""
    if k == 0 or not st.rule[p, ELECTABLE]:
        return 0
    b = st.now[p, k]
    first = st.now[p, 0]
    x0, x1, x2, x3 = follower_or_leader(st, p, False)
    y0, y1, y2, y3 = follower_or_leader(st, p, True)
    cost = _pushed(st, toll, steep, b, y0 - x0, y1 - x1, y2 - x2, y3 - x3)
    cost += _pushed(st, toll, steep, first, x0 - y0, x1 - y1, x2 - y2, x3 - y3)
    if cost > limit:
        return 0
    put_first(st, p, k)
    return 1


@within_kernels
def _move(
    st: State, toll: Floats, steep: float, limit: float, price: float, p: int, k: int, to: int
) -> int:
    """Move a replica, if that costs no more than it may."""
    b = st.now[p, k]
    if to < 0 or to == b:
        return 0
    own = is_home(st, p, b)
    cost = (st.part[p, SIZE] + price) * (own * 1.0 - is_home(st, p, to) * 1.0)
    if own and (cost > limit + 0.2 or not st.holder[b, GIVES]):
        return 0
    x0, x1, x2, x3 = follower_or_leader(st, p, k == 0)
    cost += _pushed(st, toll, steep, b, -x0, -x1, -x2, -x3)
    if cost > limit:  # it will not cost less on its new broker
        return 0
    cost += _pushed(st, toll, steep, to, x0, x1, x2, x3)
    if cost > limit or not allowed(st, p, b, to) or not affordable(st, p, b, to):
        return 0
    if not _bears(st, to, x0, x1, x2, x3):
        return 0
    shift(st, p, k, to)
    return 1


@within_kernels
def _exchange(
    st: State,
    toll: Floats,
    steep: float,
    limit: float,
    price: float,
    p: int,
    k: int,
    b: int,
    q: int,
    j: int,
    to: int,
) -> int:
    """Let the replica of p on b and that of q on `to` change places, if the cost is in bounds."""
    if p == q or not st.holder[b, GIVES] or not st.holder[to, GIVES]:
        return 0
    if not st.rule[q, MOVABLE] or (j == 0 and not st.rule[q, ELECTABLE]):
        return 0
    cost = (st.part[p, SIZE] + price) * (is_home(st, p, b) * 1.0 - is_home(st, p, to) * 1.0)
    cost += (st.part[q, SIZE] + price) * (is_home(st, q, to) * 1.0 - is_home(st, q, b) * 1.0)
    x0, x1, x2, x3 = follower_or_leader(st, p, k == 0)
    y0, y1, y2, y3 = follower_or_leader(st, q, j == 0)
    cost += _pushed(st, toll, steep, b, y0 - x0, y1 - x1, y2 - x2, y3 - x3)
    cost += _pushed(st, toll, steep, to, x0 - y0, x1 - y1, x2 - y2, x3 - y3)
    if cost > limit or not _bears(st, to, x0 - y0, x1 - y1, x2 - y2, x3 - y3):
        return 0
    if not _bears(st, b, y0 - x0, y1 - x1, y2 - x2, y3 - x3):
        return 0
    if not allowed(st, p, b, to) or not allowed(st, q, to, b):
        return 0
    if not affordable(st, p, b, to) or not affordable(st, q, to, b):
        return 0
    shift(st, p, k, to)
    shift(st, q, j, b)
    return 1


@within_kernels
def _bears(st: State, b: int, x0: float, x1: float, x2: float, x3: float) -> bool:
    """A change of load passes no hard limit."""
    broker = st.broker
    return (
        (x0 <= 0 or broker[b, LOAD] + x0 <= broker[b, HARD])
        and (x1 <= 0 or broker[b, LOAD + 1] + x1 <= broker[b, HARD + 1])
        and (x2 <= 0 or broker[b, LOAD + 2] + x2 <= broker[b, HARD + 2])
        and (x3 <= 0 or broker[b, LOAD + 3] + x3 <= broker[b, HARD + 3])
    )
