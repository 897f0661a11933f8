"""Simulated annealing over the pairs of partition and broker that cost little at given prices.

For small clusters with the prices of the bytes bound. Steps are drawn from candidate pairs alone: a
partition gets a replica on a broker, in place of one that it has, alone or in exchange for a
replica of that broker; or the replica there becomes the leader. The cost is that of `anneal`, plus
a penalty for racks: where the brokers of a rack together carry more than their targets, no step
within the rack can help.
"""

from __future__ import annotations

import numpy as np

from kedge.balance.goals.problem import Floats
from kedge.balance.search.kernels.anneal import (
    Limits,
    Replica,
    UInt64s,
    draw,
    load_cost,
    within_hard_limits,
)
from kedge.balance.search.kernels.replica_moves import (
    allowed,
    as_index,
    difference,
    is_initial,
    make_leader,
    move,
    replica_load,
)
from kedge.balance.search.kernels.state import Load, PriceAnnealParams, State
from kedge.jit import compiled, inlined

RACK_PENALTY = 3.0  # times the penalty of a broker
TRIES = 4  # to draw a replica that may come in exchange


@compiled
def anneal_by_price(
    st: State, rng: UInt64s, params: PriceAnnealParams, schedule: Floats, first: int, last: int
) -> int:
    """Take the steps from `first` up to `last` of `params.steps`; how many were kept.

    `schedule` holds the temperature and the penalty, as for `anneal`.
    """
    pairs = len(params.pair_partition)
    cooling = (params.cold / params.hot) ** (1.0 / max(1, params.steps // 256))
    growth = 10.0 ** (1.0 / max(1, params.steps // 256))
    temperature, penalty, kept = schedule[0], schedule[1], 0
    for step in range(first, last):
        if step % 256 == 255:
            temperature *= cooling
            penalty *= growth
        pair = int(draw(rng) * pairs)
        p, to = as_index(params.pair_partition[pair]), as_index(params.pair_broker[pair])
        limits = Limits(-temperature * np.log(1.0 - draw(rng)), penalty)
        k, leads = _draw_column(st, rng, p, to)
        if k < 0:
            continue
        one = Replica(p, k, as_index(st.current[p, k]))
        if leads:
            kept += _try_leader(st, params, limits, one)
        elif not st.rule[p].movable or (k == 0 and not st.rule[p].leader_movable):
            continue
        elif draw(rng) < 0.5:
            kept += _try_move(st, params, limits, one, to)
        else:
            slot = _draw_exchange(st, rng, params, one, to)
            if slot >= 0:
                width = st.current.shape[1]
                other = Replica(slot // width, slot % width, to)
                kept += _try_exchange(st, params, limits, one, other)
    schedule[0], schedule[1] = temperature, penalty
    return kept


@inlined
def _draw_column(st: State, rng: UInt64s, p: int, to: int) -> tuple[int, bool]:
    """A column of the partition that may change for a broker, and whether it is to lead.

    Where the broker has a replica, that one is to lead, or another one if it leads already. Else
    the replica in the column is to be replaced, one of the same rack if that is full. -1 is none.
    """
    width, rack = st.current.shape[1], st.status[to].rack
    count, same, in_rack = 0, 0, -1
    for k in range(width):
        b = as_index(st.current[p, k])
        if b < 0:
            continue
        count += 1
        if b == to:
            other = 1 + int(draw(rng) * (width - 1)) if k == 0 else k
            return (other if other < width and st.current[p, other] >= 0 else -1), True
        if st.status[b].rack == rack:
            same += 1
            if draw(rng) * same < 1.0:
                in_rack = k
    if same >= st.rule[p].rack_limit:
        return in_rack, False
    k = int(draw(rng) * count)
    return (k if count > 0 and st.current[p, k] >= 0 else -1), False


@inlined
def _draw_exchange(
    st: State, rng: UInt64s, params: PriceAnnealParams, one: Replica, to: int
) -> int:
    """The slot of a replica of `to` that is a candidate for the broker of another; -1 for none."""
    width = st.current.shape[1]
    for _ in range(TRIES if st.status[to].replicas > 0 else 0):
        slot = as_index(st.slots[to, int(draw(rng) * st.status[to].replicas)])
        q = slot // width
        if q == one.partition or not params.is_candidate[q, one.broker]:
            continue
        if st.rule[q].movable and (slot != q * width or st.rule[q].leader_movable):
            return slot
    return -1


@inlined
def _rack_cost(params: PriceAnnealParams, penalty: float, rack: int, change: Load) -> float:
    """What a change of load costs by how much further a whole rack is overloaded."""
    cost = 0.0
    for r in range(4):
        x = change[0] if r == 0 else change[1] if r == 1 else change[2] if r == 2 else change[3]
        before = params.rack_load[rack, r] - params.rack_target[rack, r]
        cost += (max(0.0, before + x) - max(0.0, before)) * params.rack_scale[r]
    return RACK_PENALTY * penalty * cost


@inlined
def _between_racks(
    st: State, params: PriceAnnealParams, penalty: float, b: int, to: int, x: Load
) -> float:
    """What it costs the racks of two brokers that load x goes from one to the other."""
    here, there = as_index(st.status[b].rack), as_index(st.status[to].rack)
    if here == there:
        return 0.0
    away = _rack_cost(params, penalty, here, (-x[0], -x[1], -x[2], -x[3]))
    return away + _rack_cost(params, penalty, there, x)


@inlined
def _shift_racks(st: State, params: PriceAnnealParams, b: int, to: int, x: Load) -> None:
    """Count load x with the rack of `to` instead of that of b."""
    here, there = as_index(st.status[b].rack), as_index(st.status[to].rack)
    for r in range(4):
        change = x[0] if r == 0 else x[1] if r == 1 else x[2] if r == 2 else x[3]
        params.rack_load[here, r] -= change
        params.rack_load[there, r] += change


@inlined
def _try_leader(st: State, params: PriceAnnealParams, limits: Limits, one: Replica) -> int:
    """Make a follower the leader, if the cost allows it."""
    p, b, penalty = one.partition, one.broker, limits.penalty
    first = as_index(st.current[p, 0])
    if first < 0 or not st.rule[p].leader_movable:
        return 0
    follows, leads = replica_load(st, p, False), replica_load(st, p, True)
    cost = load_cost(st, params.load_price, penalty, b, difference(leads, follows))
    cost += load_cost(st, params.load_price, penalty, first, difference(follows, leads))
    if cost > limits.cost or not within_hard_limits(st, b, difference(leads, follows)):
        return 0
    cost += _between_racks(st, params, penalty, first, b, difference(leads, follows))
    if cost > limits.cost:
        return 0
    make_leader(st, p, one.column)
    _shift_racks(st, params, first, b, difference(leads, follows))
    return 1


@inlined
def _try_move(st: State, params: PriceAnnealParams, limits: Limits, one: Replica, to: int) -> int:
    """Move a replica, if the cost allows it."""
    p, b, penalty = one.partition, one.broker, limits.penalty
    x0, x1, x2, x3 = load = replica_load(st, p, one.column == 0)
    cost = (st.partition[p].size + params.move_price) * (
        is_initial(st, p, b) * 1.0 - is_initial(st, p, to) * 1.0
    )
    cost += load_cost(st, params.load_price, penalty, b, (-x0, -x1, -x2, -x3))
    cost += _between_racks(st, params, penalty, b, to, load)
    if cost > limits.cost:  # the load costs at least 0 on its new broker
        return 0
    cost += load_cost(st, params.load_price, penalty, to, load)
    if cost > limits.cost or not allowed(st, p, b, to) or not within_hard_limits(st, to, load):
        return 0
    move(st, p, one.column, to)
    _shift_racks(st, params, b, to, load)
    return 1


@inlined
def _try_exchange(
    st: State, params: PriceAnnealParams, limits: Limits, one: Replica, other: Replica
) -> int:
    """Let two replicas change brokers, if the cost allows it."""
    p, b, q, to, penalty = one.partition, one.broker, other.partition, other.broker, limits.penalty
    cost = (st.partition[p].size + params.move_price) * (
        is_initial(st, p, b) * 1.0 - is_initial(st, p, to) * 1.0
    )
    cost += (st.partition[q].size + params.move_price) * (
        is_initial(st, q, to) * 1.0 - is_initial(st, q, b) * 1.0
    )
    x, y = replica_load(st, p, one.column == 0), replica_load(st, q, other.column == 0)
    cost += load_cost(st, params.load_price, penalty, b, difference(y, x))
    cost += load_cost(st, params.load_price, penalty, to, difference(x, y))
    if cost > limits.cost:
        return 0
    cost += _between_racks(st, params, penalty, b, to, difference(x, y))
    if cost > limits.cost or not within_hard_limits(st, to, difference(x, y)):
        return 0
    if not within_hard_limits(st, b, difference(y, x)):
        return 0
    if not allowed(st, p, b, to) or not allowed(st, q, to, b):
        return 0
    move(st, p, one.column, to)
    move(st, q, other.column, b)
    _shift_racks(st, params, b, to, difference(x, y))
    return 1
