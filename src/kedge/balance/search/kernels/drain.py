"""Drain: move the cheapest replicas off the most overloaded broker until none is overloaded.

Of a broker's replicas those are tried that relieve most per byte. Relief counts only what is beyond
the target, weighed by the multipliers of the bytes bound; the shape of the load counts a little,
so that a broker gives away what it has too much of. Each candidate is offered to every broker that
would stay within its own target, and the best pair of replica and broker is carried out.
"""

from __future__ import annotations

import numpy as np

from kedge.balance.search.kernels.replica_moves import (
    allowed,
    as_index,
    excess,
    make_leader,
    move,
    replica_load,
    within_budgets,
)
from kedge.balance.search.kernels.state import EPSILON, HUGE, NO_OVERLOAD, DrainParams, State
from kedge.jit import compiled, within_kernels


@compiled
def drain(st: State, params: DrainParams, rounds: int) -> int:
    """Relieve brokers, the most overloaded first; the number that are still overloaded."""
    brokers = len(st.status)
    beyond = np.full(brokers, -1.0)  # −1: nothing (more) can be done for it
    for b in range(brokers):
        if not st.status[b].must_empty:
            beyond[b] = excess(st, b)
    for _ in range(rounds):
        worst = int(np.argmax(beyond))
        if beyond[worst] <= 0:
            break
        to = _transfer_leadership(st, worst)
        if to < 0:
            to = _move_best_replica(st, worst, params)
        if to < 0:
            beyond[worst] = -1.0
            continue
        beyond[worst] = excess(st, worst)
        if beyond[to] >= 0:
            beyond[to] = excess(st, to)
    left = 0
    for b in range(brokers):
        if excess(st, b) > 0 and not st.status[b].must_empty:
            left += 1
    return left


@within_kernels
def _transfer_leadership(st: State, b: int) -> int:
    """Make another replica the leader where that relieves the broker and overloads no other.

    Returns the broker of the new leader, -1 for none.
    """
    width = st.current.shape[1]
    best_p, best_k, best = -1, -1, 0.0
    over = np.zeros(4)
    for r in range(4):
        gap = (st.broker[b].load[r] - st.broker[b].target[r]) * st.broker[b].scale[r]
        over[r] = max(0.0, gap)
    if over[2] <= EPSILON and over[3] <= EPSILON:
        return -1
    for i in range(st.status[b].replicas):
        slot = as_index(st.slots[b, i])
        p = slot // width
        if slot != p * width:
            continue
        most = 0.0  # of the cached load leading is a part: this bound excludes most replicas
        for r in range(4):
            most += min(st.replica_cache[b, i].load[r] * st.broker[b].scale[r], over[r])
        if most <= best * 0.5 or not st.rule[p].leader_movable:
            continue
        relief = 0.0
        for r in range(4):
            if over[r] > 0:
                extra = st.partition[p].leader[r] - st.partition[p].follower[r]
                relief += min(extra * st.broker[b].scale[r], over[r])
        if relief <= best * 0.5:
            continue
        for k in range(1, width):
            to = as_index(st.current[p, k])
            if to < 0 or st.status[to].must_empty:
                continue
            fits, fill = _leadership_fill(st, p, b, to)
            if fits and relief - fill > best:
                best_p, best_k, best = p, k, relief - fill
    if best_p < 0:
        return -1
    to = as_index(st.current[best_p, best_k])
    make_leader(st, best_p, best_k)
    return to


@within_kernels
def _leadership_fill(st: State, p: int, b: int, to: int) -> tuple[bool, float]:
    """Whether `to` can lead in place of b within its target, and the cost of the load there."""
    fits, fill = True, 0.0
    for r in range(4):
        extra = st.partition[p].leader[r] - st.partition[p].follower[r]
        if st.broker[to].load[r] + extra > min(
            st.broker[to].target[r], st.broker[to].hard_limit[r]
        ):
            fits = fits and extra <= 0
        x = extra * st.broker[to].scale[r]
        fill += x * (
            2 * (st.broker[to].load[r] - st.broker[to].target[r]) * st.broker[to].scale[r] + x
        )
        fill += x * st.broker[to].price[r] - extra * st.broker[b].price[r] * st.broker[b].scale[r]
    return fits, fill


@within_kernels
def _move_best_replica(st: State, b: int, params: DrainParams) -> int:
    """Move the replica whose leaving is worth most per byte to the broker where it fits best.

    Returns the broker that takes it, -1 for none.
    """
    width = st.current.shape[1]
    move_price = params.move_price * max(0.1, min(1.0, params.relief_value[b, 0]))
    top = int(params.candidates)
    rows = np.full(top, -1, np.int64)
    scores = np.full(top, -1e300)
    gains = np.zeros(top)
    reliefs = np.zeros(top)
    over, value, shape, scale = np.zeros(4), np.zeros(4), np.zeros(4), np.zeros(4)
    for r in range(4):
        scale[r] = st.broker[b].scale[r]
        gap = (st.broker[b].load[r] - st.broker[b].target[r]) * scale[r]
        over[r] = max(0.0, gap)
        value[r] = params.relief_value[b, r]
        shape[r] = params.shape_weight * max(-0.3, gap) + st.broker[b].price[r]
    for i in range(st.status[b].replicas):
        price = move_price + st.replica_cache[b, i].copy_cost
        if price >= HUGE:
            continue
        gain, relief = 0.0, 0.0
        for r in range(4):
            x = st.replica_cache[b, i].load[r] * scale[r]
            relieved = min(x, over[r])
            relief += relieved
            gain += value[r] * relieved + x * shape[r]
        if relief <= 0 or gain <= scores[top - 1] * price:
            continue
        score = gain / price
        at = top - 1
        while at > 0 and scores[at - 1] < score:
            scores[at], rows[at] = scores[at - 1], rows[at - 1]
            gains[at], reliefs[at] = gains[at - 1], reliefs[at - 1]
            at -= 1
        scores[at], rows[at], gains[at], reliefs[at] = score, i, gain, relief
    best_slot, best_to, best = -1, -1, -1e300
    for i in range(top):
        if rows[i] < 0:
            break
        slot = as_index(st.slots[b, rows[i]])
        p = slot // width
        to, fill = best_destination(st, p, slot == p * width, b, reliefs[i], params)
        if to < 0:
            continue
        score = (gains[i] - fill) / (move_price + st.replica_cache[b, rows[i]].copy_cost)
        if score > best:
            best_slot, best_to, best = slot, to, score
    if best_slot >= 0:
        move(st, best_slot // width, best_slot % width, best_to)
    return best_to


@within_kernels
def best_destination(
    st: State, p: int, leads: bool, b: int, relief: float, params: DrainParams
) -> tuple[int, float]:
    """The broker with the most slack of what the replica brings, and the cost of the load there.

    With an overload penalty below NO_OVERLOAD a broker may be pushed beyond its own target, if the
    penalty of that is less than `relief`.
    """
    x0, x1, x2, x3 = replica_load(st, p, leads)
    penalty = params.overload_penalty
    strict = penalty >= NO_OVERLOAD
    slack = st.slack
    best, least = -1, 1e300
    for to in range(len(st.status)):
        # most brokers are full of something: this test comes before the cost is computed
        if strict:
            if x0 > slack[to, 0] or x1 > slack[to, 1] or x2 > slack[to, 2] or x3 > slack[to, 3]:
                continue
        elif not st.status[to].may_receive:
            continue
        fill, pushed, priced = 0.0, 0.0, 0.0
        for r in range(4):
            x = x0 if r == 0 else x1 if r == 1 else x2 if r == 2 else x3
            scale = st.broker[to].scale[r]
            gap = (st.broker[to].load[r] - st.broker[to].target[r]) * scale
            x *= scale
            pushed += max(0.0, min(gap + x, x))
            fill += x * (2 * gap + x)
            priced += x * (params.relief_value[to, r] + st.broker[to].price[r])
        if not strict and pushed * penalty > relief:
            continue
        fill = params.fill_weight * fill + priced + (0.0 if strict else penalty * pushed)
        if fill >= least:
            continue
        if not allowed(st, p, b, to) or not within_budgets(st, p, b, to):
            continue
        if (
            st.broker[to].load[0] + x0 <= st.broker[to].hard_limit[0]
            and st.broker[to].load[1] + x1 <= st.broker[to].hard_limit[1]
            and st.broker[to].load[2] + x2 <= st.broker[to].hard_limit[2]
            and st.broker[to].load[3] + x3 <= st.broker[to].hard_limit[3]
        ):
            best, least = to, fill
    return best, least
