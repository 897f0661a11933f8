"""The functions that change the search's state, and the tests that a change must pass.

Only `move`, `add_replica`, `remove_replica` and `make_leader` change replicas: they keep loads,
lists and totals consistent.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kedge.balance.goals.problem import Int32s
from kedge.balance.search.kernels.state import EPSILON, HUGE, TINY_SIZE, Load, State
from kedge.jit import compiled, inlined, within_kernels


@inlined
def as_index(number: Any) -> int:
    """The number as 64 bits, whatever array it is from: functions are compiled for one width."""
    return np.int64(number)  # pyright: ignore[reportReturnType]


@compiled
def fill_lists(st: State) -> None:
    """List the replicas of each broker and sum its load, from `current` alone."""
    for b in range(len(st.status)):
        st.status[b].replicas = 0
        for r in range(4):
            st.broker[b].load[r] = 0.0
    width = st.current.shape[1]
    for p in range(len(st.current)):
        for k in range(width):
            b = as_index(st.current[p, k])
            if b >= 0:
                _append(st, b, p * width + k)
                _add_load(st, p, k, b, 1.0)
    refresh_all_slack(st)


@compiled
def refresh_all_slack(st: State) -> None:
    """Compute anew what each broker may still receive, after a change of targets."""
    for b in range(len(st.status)):
        _refresh_slack(st, b)


@within_kernels
def _refresh_slack(st: State, b: int) -> None:
    receives = st.status[b].may_receive
    for r in range(4):
        left = max(0.0, st.broker[b].target[r] - st.broker[b].load[r])
        counted = st.broker[b].scale[r] > 0
        st.slack[b, r] = (left if counted else HUGE) if receives else -1.0


@within_kernels
def _append(st: State, b: int, slot: int) -> None:
    """Add a slot to the list of a broker."""
    at = as_index(st.status[b].replicas)
    st.slots[b, at] = slot
    st.slot_position[slot] = at
    st.status[b].replicas += 1
    _cache_replica(st, b, at)


@within_kernels
def _cache_replica(st: State, b: int, at: int) -> None:
    """Write load and copy cost of a listed replica into the cache."""
    slot = as_index(st.slots[b, at])
    p = slot // st.current.shape[1]
    leads = slot == p * st.current.shape[1]
    unmoved = is_initial(st, p, b)
    for r in range(4):
        st.replica_cache[b, at].load[r] = (
            st.partition[p].leader[r] if leads else st.partition[p].follower[r]
        )
    cost = max(TINY_SIZE, st.partition[p].size) if unmoved else 0.0
    may = st.rule[p].movable and (st.rule[p].leader_movable or not leads)
    if not may or (unmoved and not st.status[b].may_give):
        cost = HUGE
    st.replica_cache[b, at].copy_cost = cost


@within_kernels
def _delete(st: State, b: int, slot: int) -> None:
    """Remove a slot from the list of a broker; the last one takes its position."""
    st.status[b].replicas -= 1
    end, at = as_index(st.status[b].replicas), as_index(st.slot_position[slot])
    last = as_index(st.slots[b, end])
    st.slots[b, at] = last
    st.slot_position[last] = at
    for r in range(4):
        st.replica_cache[b, at].load[r] = st.replica_cache[b, end].load[r]
    st.replica_cache[b, at].copy_cost = st.replica_cache[b, end].copy_cost


@within_kernels
def _add_load(st: State, p: int, k: int, b: int, sign: float) -> None:
    for r in range(4):
        st.broker[b].load[r] += sign * (
            st.partition[p].leader[r] if k == 0 else st.partition[p].follower[r]
        )


@inlined
def is_initial(st: State, p: int, b: int) -> bool:
    """Whether the partition had a replica on the broker before the plan: it needs no copy."""
    found = False
    for k in range(st.initial.shape[1]):
        found = found or st.initial[p, k] == b
    return found


@within_kernels
def _count_copy(st: State, p: int, b: int, by: int) -> None:
    """Count a replica that comes to (+1) or leaves (−1) a broker; copies cost bytes."""
    if is_initial(st, p, b):
        st.status[b].moved_out -= by
    else:
        st.status[b].moved_in += by
        st.totals[0].bytes += by * st.partition[p].size
        st.totals[0].moves += by


@within_kernels
def move(st: State, p: int, k: int, to: int) -> None:
    """Move the replica in a column to another broker."""
    remove_replica(st, p, k)
    add_replica(st, p, k, to)


@within_kernels
def add_replica(st: State, p: int, k: int, to: int) -> None:
    """Put a replica into an empty column."""
    st.current[p, k] = to
    _append(st, to, p * st.current.shape[1] + k)
    _add_load(st, p, k, to, 1.0)
    _refresh_slack(st, to)
    _count_copy(st, p, to, 1)


@within_kernels
def remove_replica(st: State, p: int, k: int) -> None:
    """Take the replica out of a column and leave the column empty."""
    b = as_index(st.current[p, k])
    _delete(st, b, p * st.current.shape[1] + k)
    _add_load(st, p, k, b, -1.0)
    _refresh_slack(st, b)
    _count_copy(st, p, b, -1)
    st.current[p, k] = -1


@within_kernels
def make_leader(st: State, p: int, k: int) -> None:
    """Make the replica in a column the leader; the old leader takes that column."""
    width = st.current.shape[1]
    old, new = as_index(st.current[p, 0]), as_index(st.current[p, k])
    for r in range(4):
        extra = st.partition[p].leader[r] - st.partition[p].follower[r]
        if old >= 0:
            st.broker[old].load[r] -= extra
        st.broker[new].load[r] += extra
    _refresh_slack(st, new)
    if old >= 0:
        _refresh_slack(st, old)
    first, other = p * width, p * width + k
    st.current[p, 0], st.current[p, k] = new, old
    st.slot_position[first], st.slot_position[other] = (
        st.slot_position[other],
        st.slot_position[first],
    )
    st.slots[new, st.slot_position[first]] = first
    _cache_replica(st, new, as_index(st.slot_position[first]))
    if old >= 0:
        st.slots[old, st.slot_position[other]] = other
        _cache_replica(st, old, as_index(st.slot_position[other]))


@inlined
def replica_load(st: State, p: int, leads: bool) -> Load:
    """The load of a replica as leader or as follower."""
    if leads:
        return (
            st.partition[p].leader[0],
            st.partition[p].leader[1],
            st.partition[p].leader[2],
            st.partition[p].leader[3],
        )
    return (
        st.partition[p].follower[0],
        st.partition[p].follower[1],
        st.partition[p].follower[2],
        st.partition[p].follower[3],
    )


@inlined
def difference(x: Load, y: Load) -> Load:
    """The change of load where x takes the place of y."""
    return x[0] - y[0], x[1] - y[1], x[2] - y[2], x[3] - y[3]


@within_kernels
def within_budgets(st: State, p: int, b: int, to: int) -> bool:
    """Whether the budgets allow the replica of p on b to go to another broker."""
    leaves, returns = is_initial(st, p, b), is_initial(st, p, to)
    if leaves and not returns:
        if st.totals[0].bytes + st.partition[p].size > st.totals[0].max_bytes:
            return False
        if st.totals[0].moves + 1 > st.totals[0].max_moves:
            return False
    most = st.totals[0].max_moves_per_broker
    if leaves and st.status[b].moved_in + st.status[b].moved_out + 1 > most:
        return False
    return returns or st.status[to].moved_in + st.status[to].moved_out + 1 <= most


@within_kernels
def allowed(st: State, p: int, b: int, to: int) -> bool:
    """Whether hard goals other than load allow the replica of p on b (-1: a new one) on `to`."""
    if st.status[to].must_empty or st.status[to].replicas >= st.status[to].max_replicas:
        return False
    if not st.status[to].may_receive and not is_initial(st, p, to):
        return False
    rack, same = st.status[to].rack, 0
    for k in range(st.current.shape[1]):
        at = as_index(st.current[p, k])
        if at == to:
            return False
        if at >= 0 and at != b and st.status[at].rack == rack:
            same += 1
    return same < st.rule[p].rack_limit or (b >= 0 and st.status[b].rack == rack)


@within_kernels
def excess(st: State, b: int) -> float:
    """How far a broker is beyond its target, in the resource in which it is furthest."""
    most = 0.0
    for r in range(4):
        most = max(most, (st.broker[b].load[r] - st.broker[b].target[r]) * st.broker[b].scale[r])
    return most if most > EPSILON else 0.0


@compiled
def set_assignment(st: State, assignment: Int32s) -> None:
    """Move all replicas to where an assignment has them; column 0 leads."""
    for p in range(len(st.current)):
        for k in range(st.current.shape[1]):
            if st.current[p, k] >= 0:
                remove_replica(st, p, k)
        for k in range(assignment.shape[1]):
            if assignment[p, k] >= 0:
                add_replica(st, p, k, as_index(assignment[p, k]))
