"""Leaders by price: where resources conflict, let each partition be led where it suits the broker.

Which replica leads costs no bytes, and it decides most of what goes out and much of the cpu. Each
partition in turn is led by the replica for which the prices of the joint bound, what lies beyond
targets, and the evenness of what is left come to least.

A change of leaders costs no bytes, and it is a change all the same: in the end, whoever led before
leads again wherever that leaves every broker within its targets.
"""

from __future__ import annotations

from kedge.balance.layout import (
    ELECTABLE,
    EMPTY,
    FOLLOWER,
    HAIR,
    HARD,
    INVERSE,
    LEADER,
    LOAD,
    PRICE,
    TARGET,
    State,
)
from kedge.balance.problem import Int32s
from kedge.balance.state import put_first
from kedge.jit import compiled, within_kernels


@compiled
def sweep_leaders(st: State, order: Int32s, steep: float, even: float) -> int:
    """Look at every partition once; says how many are led by another replica now."""
    changed = 0
    for i in range(len(order)):
        p = order[i]
        if not st.rule[p, ELECTABLE] or st.now[p, 0] < 0:
            continue
        stay = _costs(st, p, st.now[p, 0], -1.0, steep, even)
        best, least = -1, -1e-9
        for k in range(1, st.now.shape[1]):
            to = st.now[p, k]
            if to >= 0 and not st.holder[to, EMPTY]:
                cost = stay + _costs(st, p, to, 1.0, steep, even)
                if cost < least:
                    best, least = k, cost
        if best > 0:
            put_first(st, p, best)
            changed += 1
    return changed


@compiled
def restore_leaders(st: State, order: Int32s) -> int:
    """Let partitions be led as before where loads allow it; says how many are."""
    restored = 0
    for i in range(len(order)):
        p = order[i]
        first = st.home[p, 0]
        if not st.rule[p, ELECTABLE] or st.now[p, 0] < 0 or st.now[p, 0] == first or first < 0:
            continue
        for k in range(1, st.now.shape[1]):
            if st.now[p, k] == first and not st.holder[first, EMPTY] and _can_lead(st, p, first):
                put_first(st, p, k)
                restored += 1
                break
    return restored


@within_kernels
def _can_lead(st: State, p: int, b: int) -> bool:
    """Leading as well leaves the broker of a follower within its targets and limits."""
    for r in range(4):
        extra = st.part[p, LEADER + r] - st.part[p, FOLLOWER + r]
        most = min(st.broker[b, TARGET + r], st.broker[b, HARD + r])
        if extra > HAIR and st.broker[b, LOAD + r] + extra > most:
            return False
    return True


@within_kernels
def _costs(st: State, p: int, b: int, sign: float, steep: float, even: float) -> float:
    """What taking on (+1) or giving up (−1) leadership costs on a broker."""
    cost = 0.0
    for r in range(4):
        extra = sign * (st.part[p, LEADER + r] - st.part[p, FOLLOWER + r])
        x = extra * st.broker[b, INVERSE + r]
        gap = (st.broker[b, LOAD + r] - st.broker[b, TARGET + r]) * st.broker[b, INVERSE + r]
        cost += steep * (max(0.0, gap + x) - max(0.0, gap)) + even * x * (2 * gap + x)
        cost += x * st.broker[b, PRICE + r]
    return cost
