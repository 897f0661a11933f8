"""Mandatory moves: what must move whatever the balance, largest first, each to where it fits best.

Surplus replicas are removed; replicas leave brokers that must end empty; a rack with more than its
limit of a partition gives one up; missing replicas are added; and a broker with more replicas than
it may hold gives away its smallest. `move_oversized_replicas` then moves replicas that are larger
than the target of their broker to brokers that can carry them.
"""

from __future__ import annotations

import numpy as np

from kedge.balance.goals.problem import Int32s
from kedge.balance.search.kernels.drain import best_destination
from kedge.balance.search.kernels.replica_moves import (
    add_replica,
    allowed,
    as_index,
    is_initial,
    make_leader,
    move,
    remove_replica,
    within_budgets,
)
from kedge.balance.search.kernels.state import HUGE, DrainParams, State
from kedge.jit import compiled, within_kernels

LARGE = 0.3  # of a broker's target: a replica from this size on is counted in full


@compiled
def make_mandatory_moves(st: State, partitions: Int32s, wanted: Int32s, params: DrainParams) -> int:
    """Make all of them, in the given sequence; how many wanted replicas no broker may take."""
    unplaced = 0
    for i in range(len(partitions)):
        p = as_index(partitions[i])
        held = _remove_surplus(st, p, as_index(wanted[p]))
        _leave_emptied_brokers(st, p, params)
        _leave_crowded_racks(st, p, params)
        unplaced += _add_missing(st, p, as_index(wanted[p]) - held, params)
    for b in range(len(st.status)):
        _shrink_to_max_replicas(st, b, params)
    return unplaced


@within_kernels
def _remove_surplus(st: State, p: int, wanted: int) -> int:
    """Remove replicas until no more than wanted are left; how many there are then."""
    held = 0
    for k in range(st.current.shape[1]):
        if st.current[p, k] >= 0:
            held += 1
    while held > wanted:
        _remove_worst(st, p)
        held -= 1
    return held


@within_kernels
def _leave_emptied_brokers(st: State, p: int, params: DrainParams) -> None:
    for k in range(st.current.shape[1]):
        b = as_index(st.current[p, k])
        if b >= 0 and st.status[b].must_empty:
            to, _ = best_destination(st, p, k == 0, b, HUGE, params)
            if to >= 0:
                move(st, p, k, to)


@within_kernels
def _leave_crowded_racks(st: State, p: int, params: DrainParams) -> None:
    for k in range(st.current.shape[1]):
        b = as_index(st.current[p, k])
        if b >= 0 and st.rule[p].movable and _is_crowded(st, p, b):
            # -1: as for a new replica, since its own rack is no destination
            to, _ = best_destination(st, p, k == 0, -1, HUGE, params)
            if to >= 0:
                move(st, p, k, to)


@within_kernels
def _add_missing(st: State, p: int, missing: int, params: DrainParams) -> int:
    """Add missing replicas; how many no broker may take."""
    unplaced = 0
    for k in range(st.current.shape[1]):
        if missing > 0 and st.current[p, k] < 0:
            to, _ = best_destination(st, p, k == 0, -1, HUGE, params)
            if to < 0:
                unplaced += 1
            else:
                add_replica(st, p, k, to)
            missing -= 1
    return unplaced


@within_kernels
def _is_crowded(st: State, p: int, b: int) -> bool:
    """Whether the rack of a broker holds more replicas of the partition than its limit."""
    same = 0
    for k in range(st.current.shape[1]):
        at = as_index(st.current[p, k])
        if at >= 0 and not st.status[at].must_empty and st.status[at].rack == st.status[b].rack:
            same += 1
    return same > st.rule[p].rack_limit


@within_kernels
def _remove_worst(st: State, p: int) -> None:
    """Remove the replica on a broker that must end empty, in a crowded rack, or on the fullest
    broker; the leader last."""
    worst, most = -1, -1.0
    for k in range(st.current.shape[1]):
        b = as_index(st.current[p, k])
        if b < 0:
            continue
        fullest = 0.0
        for r in range(4):
            fullest = max(fullest, st.broker[b].load[r] * st.broker[b].scale[r])
        score = min(fullest, 50.0) + (0.0 if k == 0 else 100.0)
        if st.status[b].must_empty:
            score += 1000.0
        elif _is_crowded(st, p, b):
            score += 500.0
        if score > most:
            worst, most = k, score
    if worst == 0:
        for k in range(1, st.current.shape[1]):
            if st.current[p, k] >= 0:
                make_leader(st, p, k)
                worst = k
                break
    remove_replica(st, p, worst)


@within_kernels
def _shrink_to_max_replicas(st: State, b: int, params: DrainParams) -> None:
    """Move the smallest replicas away until the broker holds no more than it may."""
    width = st.current.shape[1]
    tried = 0.0  # replicas up to this size found no destination
    while st.status[b].replicas > st.status[b].max_replicas:
        chosen, smallest = -1, HUGE
        for i in range(st.status[b].replicas):
            slot = as_index(st.slots[b, i])
            p = slot // width
            if st.rule[p].movable and tried < st.partition[p].size + 1e-15 < smallest:
                chosen, smallest = slot, st.partition[p].size + 1e-15
        if chosen < 0:
            return
        p, k = chosen // width, chosen % width
        to, _ = best_destination(st, p, k == 0, b, HUGE, params)
        if to >= 0:
            move(st, p, k, to)
        else:
            tried = smallest


# ---- oversized replicas -------------------------------------------------------------------------


@compiled
def move_oversized_replicas(st: State) -> int:
    """Move replicas larger than their broker's target to brokers that can carry them; how many.

    Such a broker may be full of other replicas: they leave later.
    """
    moved = 0
    least = np.full(4, HUGE)
    for b in range(len(st.status)):
        for r in range(4):
            if st.status[b].replicas > 0 and st.broker[b].scale[r] > 0:
                least[r] = min(least[r], st.broker[b].target[r])
    for p in range(len(st.current)):
        fits = True  # on every broker, as nearly all partitions do
        for r in range(4):
            fits = fits and max(st.partition[p].leader[r], st.partition[p].follower[r]) <= least[r]
        if fits:
            continue
        for k in range(st.current.shape[1]):
            b = as_index(st.current[p, k])
            if (
                b >= 0
                and st.rule[p].movable
                and st.rule[p].leader_movable
                and _is_oversized(st, p, k == 0, b)
            ):
                moved += _place_oversized(st, p, k, b)
    return moved


@within_kernels
def _is_oversized(st: State, p: int, leads: bool, b: int) -> bool:
    """Whether the replica alone exceeds the target of a broker."""
    for r in range(4):
        x = st.partition[p].leader[r] if leads else st.partition[p].follower[r]
        if st.broker[b].scale[r] > 0 and x > st.broker[b].target[r]:
            return True
    return False


@within_kernels
def _place_oversized(st: State, p: int, k: int, b: int) -> int:
    """Transfer leadership where another replica can lead, else move to the emptiest broker."""
    best, least = -1, HUGE
    if k == 0 and not _is_oversized(st, p, False, b):
        for j in range(1, st.current.shape[1]):
            at = as_index(st.current[p, j])
            if at >= 0 and not st.status[at].must_empty and not _is_oversized(st, p, True, at):
                overload = _overload_with(st, p, at, 1.0)
                if overload < least:
                    best, least = j, overload
        if best >= 0:
            make_leader(st, p, best)
            return 1
    if is_initial(st, p, b) and not st.status[b].may_give:
        return 0
    for to in range(len(st.status)):
        if (
            allowed(st, p, b, to)
            and within_budgets(st, p, b, to)
            and not _is_oversized(st, p, k == 0, to)
        ):
            overload = _overload_with(st, p, to, 1.0 if k == 0 else 0.0)
            if overload < least:
                best, least = to, overload
    if best < 0:
        return 0
    move(st, p, k, best)
    return 1


@within_kernels
def _overload_with(st: State, p: int, to: int, leads: float) -> float:
    """How far a broker would be beyond its target; large replicas there count a hundredfold."""
    most = 0.0
    for r in range(4):
        x = leads * st.partition[p].leader[r] + (1 - leads) * st.partition[p].follower[r]
        most += max(
            0.0,
            (st.broker[to].load[r] + x - st.broker[to].target[r]) * st.broker[to].scale[r],
        )
    width = st.current.shape[1]
    for i in range(st.status[to].replicas):
        slot = as_index(st.slots[to, i])
        q = slot // width
        for r in range(4):
            y = st.partition[q].leader[r] if slot == q * width else st.partition[q].follower[r]
            x = leads * st.partition[p].leader[r] + (1 - leads) * st.partition[p].follower[r]
            if x > 0 and y > LARGE * st.broker[to].target[r]:
                most += 100.0 * y * st.broker[to].scale[r]
    return most
