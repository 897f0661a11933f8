"""Choose leaders by the prices of the joint bound, and restore the initial leaders in the end.

Which replica leads costs no bytes, and it decides most of bytes out and much of cpu. Each partition
in turn gets the leader for which the price of load, the load beyond targets and the evenness of
the rest cost least.

A change of leader costs no bytes, and it is a change for the operator to review: in the end, the
initial leader leads again wherever that leaves every broker within its targets.
"""

from __future__ import annotations

from kedge.balance.goals.problem import Int32s
from kedge.balance.search.kernels.replica_moves import as_index, make_leader
from kedge.balance.search.kernels.state import EPSILON, State
from kedge.jit import compiled, within_kernels

OVERLOAD_PENALTY, EVENNESS = 3.0, 3.0  # what load beyond a target and uneven load cost


@compiled
def choose_leaders(st: State, partitions: Int32s) -> int:
    """Choose the cheapest leader of every partition once; how many have changed."""
    changed = 0
    for i in range(len(partitions)):
        p = as_index(partitions[i])
        if not st.rule[p].leader_movable or st.current[p, 0] < 0:
            continue
        stay = _leading_cost(st, p, as_index(st.current[p, 0]), -1.0)
        best, least = -1, -1e-9
        for k in range(1, st.current.shape[1]):
            to = as_index(st.current[p, k])
            if to >= 0 and not st.status[to].must_empty:
                cost = stay + _leading_cost(st, p, to, 1.0)
                if cost < least:
                    best, least = k, cost
        if best > 0:
            make_leader(st, p, best)
            changed += 1
    return changed


@compiled
def restore_leaders(st: State, partitions: Int32s) -> int:
    """Make initial leaders lead again where loads allow it; how many do."""
    restored = 0
    for i in range(len(partitions)):
        p = as_index(partitions[i])
        first = as_index(st.initial[p, 0])
        if (
            not st.rule[p].leader_movable
            or st.current[p, 0] < 0
            or st.current[p, 0] == first
            or first < 0
        ):
            continue
        for k in range(1, st.current.shape[1]):
            if (
                st.current[p, k] == first
                and not st.status[first].must_empty
                and _can_lead(st, p, first)
            ):
                make_leader(st, p, k)
                restored += 1
                break
    return restored


@within_kernels
def _can_lead(st: State, p: int, b: int) -> bool:
    """Whether a follower's broker stays within its targets and limits as leader."""
    for r in range(4):
        extra = st.partition[p].leader[r] - st.partition[p].follower[r]
        most = min(st.broker[b].target[r], st.broker[b].hard_limit[r])
        if extra > EPSILON and st.broker[b].load[r] + extra > most:
            return False
    return True


@within_kernels
def _leading_cost(st: State, p: int, b: int, sign: float) -> float:
    """What taking on (+1) or giving up (−1) leadership costs on a broker."""
    cost = 0.0
    for r in range(4):
        extra = sign * (st.partition[p].leader[r] - st.partition[p].follower[r])
        x = extra * st.broker[b].scale[r]
        gap = (st.broker[b].load[r] - st.broker[b].target[r]) * st.broker[b].scale[r]
        overload = max(0.0, gap + x) - max(0.0, gap)
        cost += OVERLOAD_PENALTY * overload + EVENNESS * x * (2 * gap + x)
        cost += x * st.broker[b].price[r]
    return cost
