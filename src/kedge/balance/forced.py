"""Forced work: what must move whatever the balance, largest first, each to where it fits best.

Replicas too many are dropped; replicas on brokers that must end empty leave; a rack with more than
its share of a partition gives one up; missing replicas are made; and a broker with more replicas
than it has room for sheds its smallest.
"""

from __future__ import annotations

import numpy as np

from kedge.balance.drain import best_place
from kedge.balance.layout import (
    COUNT,
    ELECTABLE,
    EMPTY,
    FOLLOWER,
    GIVES,
    HUGE,
    INVERSE,
    LEADER,
    LIMIT,
    LOAD,
    MOVABLE,
    RACK,
    ROOM,
    SIZE,
    TARGET,
    State,
)
from kedge.balance.problem import Floats, Int32s
from kedge.balance.state import affordable, allowed, drop, is_home, put_first, settle, shift
from kedge.jit import compiled, within_kernels


@compiled
def do_forced(st: State, order: Int32s, wanted: Int32s, weight: Floats, how: Floats) -> int:
    """Do all of it; says how many wanted replicas no broker may take."""
    width = st.now.shape[1]
    unplaced = 0
    for i in range(len(order)):
        p = order[i]
        held = 0
        for k in range(width):
            if st.now[p, k] >= 0:
                held += 1
        while held > wanted[p]:
            _drop_one(st, p)
            held -= 1
        for k in range(width):
            b = st.now[p, k]
            if b >= 0 and st.holder[b, EMPTY]:
                to, _ = best_place(st, p, k == 0, b, HUGE, weight, how)
                if to >= 0:
                    shift(st, p, k, to)
        for k in range(width):
            b = st.now[p, k]
            if b >= 0 and st.rule[p, MOVABLE] and _crowded(st, p, b):
                # as if it were a new one: its own rack is no place for it
                to, _ = best_place(st, p, k == 0, -1, HUGE, weight, how)
                if to >= 0:
                    shift(st, p, k, to)
        for k in range(width):
            if held < wanted[p] and st.now[p, k] < 0:
                to, _ = best_place(st, p, k == 0, -1, HUGE, weight, how)
                if to < 0:
                    unplaced += 1
                else:
                    settle(st, p, k, to)
                held += 1
    for b in range(len(st.holder)):
        _shed(st, b, weight, how)
    return unplaced


@within_kernels
def _crowded(st: State, p: int, b: int) -> bool:
    """The rack of a broker holds more replicas of the partition than it may."""
    same = 0
    for k in range(st.now.shape[1]):
        at = st.now[p, k]
        if at >= 0 and not st.holder[at, EMPTY] and st.holder[at, RACK] == st.holder[b, RACK]:
            same += 1
    return same > st.rule[p, LIMIT]


@within_kernels
def _drop_one(st: State, p: int) -> None:
    """Give up the replica that is best gone: on a broker that empties, in a crowded rack, or on
    the fullest broker; the leader last."""
    worst, most = -1, -1.0
    for k in range(st.now.shape[1]):
        b = st.now[p, k]
        if b < 0:
            continue
        fullest = 0.0
        for r in range(4):
            fullest = max(fullest, st.broker[b, LOAD + r] * st.broker[b, INVERSE + r])
        score = min(fullest, 50.0) + (0.0 if k == 0 else 100.0)
        if st.holder[b, EMPTY]:
            score += 1000.0
        elif _crowded(st, p, b):
            score += 500.0
        if score > most:
            worst, most = k, score
    if worst == 0:
        for k in range(1, st.now.shape[1]):
            if st.now[p, k] >= 0:
                put_first(st, p, k)
                worst = k
                break
    drop(st, p, worst)


@within_kernels
def _shed(st: State, b: int, weight: Floats, how: Floats) -> None:
    """Bring a broker down to the number of replicas that it may hold."""
    width = st.now.shape[1]
    tried = 0.0  # smallest first: nothing of this size or less is tried again
    while st.holder[b, COUNT] > st.holder[b, ROOM]:
        chosen, smallest = -1, HUGE
        for i in range(st.holder[b, COUNT]):
            slot = st.items[b, i]
            p = slot // width
            if st.rule[p, MOVABLE] and tried < st.part[p, SIZE] + 1e-15 < smallest:
                chosen, smallest = slot, st.part[p, SIZE] + 1e-15
        if chosen < 0:
            return
        p, k = chosen // width, chosen % width
        to, _ = best_place(st, p, k == 0, b, HUGE, weight, how)
        if to >= 0:
            shift(st, p, k, to)
        else:
            tried = smallest


@compiled
def place_misfits(st: State) -> int:
    """Bring replicas that are too large for their broker to one that could carry them at all.

    Such a broker may be full of others: they leave later. Says how many found a place.
    """
    width = st.now.shape[1]
    placed = 0
    least = np.full(4, HUGE)
    for b in range(len(st.holder)):
        for r in range(4):
            if st.holder[b, COUNT] > 0 and st.broker[b, INVERSE + r] > 0:
                least[r] = min(least[r], st.broker[b, TARGET + r])
    for p in range(len(st.now)):
        fits = True  # everywhere: so do nearly all
        for r in range(4):
            fits = fits and max(st.part[p, LEADER + r], st.part[p, FOLLOWER + r]) <= least[r]
        if fits:
            continue
        for k in range(width):
            b = st.now[p, k]
            if (
                b >= 0
                and st.rule[p, MOVABLE]
                and st.rule[p, ELECTABLE]
                and _too_large(st, p, k == 0, b)
            ):
                placed += _place_misfit(st, p, k, b)
    return placed


@within_kernels
def _too_large(st: State, p: int, leads: bool, b: int) -> bool:
    """The replica alone is beyond the target of a broker."""
    for r in range(4):
        x = st.part[p, LEADER + r] if leads else st.part[p, FOLLOWER + r]
        if st.broker[b, INVERSE + r] > 0 and x > st.broker[b, TARGET + r]:
            return True
    return False


@within_kernels
def _place_misfit(st: State, p: int, k: int, b: int) -> int:
    """Hand over where another replica can lead, else move to the emptiest broker that can."""
    width = st.now.shape[1]
    best, least = -1, HUGE
    if k == 0 and not _too_large(st, p, False, b):
        for j in range(1, width):
            at = st.now[p, j]
            if at >= 0 and not st.holder[at, EMPTY] and not _too_large(st, p, True, at):
                pushed = _beyond(st, p, at, 1.0)
                if pushed < least:
                    best, least = j, pushed
        if best >= 0:
            put_first(st, p, best)
            return 1
    if is_home(st, p, b) and not st.holder[b, GIVES]:
        return 0
    for to in range(len(st.holder)):
        if allowed(st, p, b, to) and affordable(st, p, b, to) and not _too_large(st, p, k == 0, to):
            pushed = _beyond(st, p, to, 1.0 if k == 0 else 0.0)
            if pushed < least:
                best, least = to, pushed
    if best < 0:
        return 0
    shift(st, p, k, best)
    return 1


@within_kernels
def _beyond(st: State, p: int, to: int, leads: float) -> float:
    """How far a broker would be beyond its target, single giants that it has counted fully."""
    most = 0.0
    for r in range(4):
        x = leads * st.part[p, LEADER + r] + (1 - leads) * st.part[p, FOLLOWER + r]
        most += max(
            0.0,
            (st.broker[to, LOAD + r] + x - st.broker[to, TARGET + r]) * st.broker[to, INVERSE + r],
        )
    width = st.now.shape[1]
    for i in range(st.holder[to, COUNT]):
        slot = st.items[to, i]
        q = slot // width
        for r in range(4):
            y = st.part[q, LEADER + r] if slot == q * width else st.part[q, FOLLOWER + r]
            x = leads * st.part[p, LEADER + r] + (1 - leads) * st.part[p, FOLLOWER + r]
            if x > 0 and y > 0.3 * st.broker[to, TARGET + r]:
                most += 100.0 * y * st.broker[to, INVERSE + r]
    return most
