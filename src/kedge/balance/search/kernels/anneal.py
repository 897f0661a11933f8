"""Simulated annealing: random steps, kept if they help or, at high temperature, cost only a little.

For small clusters, where a broker has few replicas and greedy choices do not fit exactly. The cost
is bytes moved, plus a price for each move, plus a penalty for load beyond a target; so the search
may pass through assignments that are slightly overloaded and end in a better one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kedge.balance.goals.problem import Floats
from kedge.balance.search.kernels.replica_moves import (
    allowed,
    as_index,
    difference,
    is_initial,
    make_leader,
    move,
    replica_load,
    within_budgets,
)
from kedge.balance.search.kernels.state import AnnealParams, Load, State
from kedge.jit import compiled, inlined, within_kernels

UInt64s = npt.NDArray[np.uint64]


class Limits(NamedTuple):
    """What holds for one step: the most that it may cost, and the penalty of overload."""

    cost: float
    penalty: float


class Replica(NamedTuple):
    """One replica: its partition, its column, and its broker."""

    partition: int
    column: int
    broker: int


@inlined
def draw(rng: UInt64s) -> float:
    """The next number in [0, 1) of an xorshift generator: the seed determines all of them."""
    x = rng[0]
    x ^= x << np.uint64(13)
    x ^= x >> np.uint64(7)
    x ^= x << np.uint64(17)
    rng[0] = x
    return (x >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@within_kernels
def _draw_broker(st: State, rng: UInt64s, params: AnnealParams, b: int) -> int:
    """A random broker: three in four times of the same rack, where every replica may go."""
    if draw(rng) < 0.25:
        return int(draw(rng) * len(st.status))
    rack = st.status[b].rack
    first, end = params.rack_starts[rack], params.rack_starts[rack + 1]
    return as_index(params.rack_brokers[first + int(draw(rng) * (end - first))])


@compiled
def anneal(
    st: State, rng: UInt64s, params: AnnealParams, schedule: Floats, first: int, last: int
) -> int:
    """Take the steps from `first` up to `last` of `params.steps`; how many were kept.

    `schedule` holds the temperature and the penalty, which change from step to step: the
    temperature falls from hot to cold, and the penalty of overload grows tenfold, so that the last
    steps leave none.
    """
    partitions, width = st.current.shape
    focus = params.focus
    cooling = (params.cold / params.hot) ** (1.0 / max(1, params.steps // 256))
    growth = 10.0 ** (1.0 / max(1, params.steps // 256))
    temperature, penalty, kept = schedule[0], schedule[1], 0
    for step in range(first, last):
        if step % 256 == 255:
            temperature *= cooling
            penalty *= growth
        if len(focus) == 0:
            p = int(draw(rng) * partitions)
            k = int(draw(rng) * width)
        else:
            drawn_from = focus[int(draw(rng) * len(focus))]
            drawn = as_index(st.slots[drawn_from, int(draw(rng) * st.status[drawn_from].replicas)])
            p, k = drawn // width, drawn % width
        b = as_index(st.current[p, k])
        if b < 0 or not st.rule[p].movable:
            continue
        kind = draw(rng)
        limits = Limits(-temperature * np.log(1.0 - draw(rng)), penalty)
        if k == 0 and not st.rule[p].leader_movable:
            continue
        unmoved = is_initial(st, p, b)
        if kind < 0.2:
            kept += _try_leader(st, params, limits, p, k)
        elif kind < 0.6 or not unmoved:
            to = _draw_broker(st, rng, params, b)
            if not unmoved and kind < 0.5:
                to = as_index(st.initial[p, int(draw(rng) * width)])
            kept += _try_move(st, params, limits, Replica(p, k, b), to)
        else:
            to = _draw_broker(st, rng, params, b)
            if to != b and st.status[to].replicas > 0 and not st.status[to].must_empty:
                slot = as_index(st.slots[to, int(draw(rng) * st.status[to].replicas)])
                other = Replica(slot // width, slot % width, to)
                kept += _try_exchange(st, params, limits, Replica(p, k, b), other)
    schedule[0], schedule[1] = temperature, penalty
    return kept


@inlined
def load_cost(st: State, load_price: Floats, penalty: float, b: int, change: Load) -> float:
    """What a change of load costs: its price, and how much further the broker is overloaded."""
    cost = 0.0
    for r in range(4):
        x = change[0] if r == 0 else change[1] if r == 1 else change[2] if r == 2 else change[3]
        before = (st.broker[b].load[r] - st.broker[b].target[r]) * st.broker[b].scale[r]
        overload = max(0.0, before + x * st.broker[b].scale[r]) - max(0.0, before)
        cost += penalty * overload + load_price[b, r] * x
    return cost


@within_kernels
def _try_leader(st: State, params: AnnealParams, limits: Limits, p: int, k: int) -> int:
    """Make a follower the leader, if the cost allows it."""
    if k == 0 or not st.rule[p].leader_movable:
        return 0
    b, first = as_index(st.current[p, k]), as_index(st.current[p, 0])
    follows, leads = replica_load(st, p, False), replica_load(st, p, True)
    cost = load_cost(st, params.load_price, limits.penalty, b, difference(leads, follows))
    cost += load_cost(st, params.load_price, limits.penalty, first, difference(follows, leads))
    if cost > limits.cost:
        return 0
    make_leader(st, p, k)
    return 1


@within_kernels
def _try_move(st: State, params: AnnealParams, limits: Limits, one: Replica, to: int) -> int:
    """Move a replica, if the cost allows it."""
    p, b = one.partition, one.broker
    if to < 0 or to == b:
        return 0
    unmoved = is_initial(st, p, b)
    cost = (st.partition[p].size + params.move_price) * (
        unmoved * 1.0 - is_initial(st, p, to) * 1.0
    )
    if unmoved and (cost > limits.cost + 0.2 or not st.status[b].may_give):
        return 0
    x0, x1, x2, x3 = load = replica_load(st, p, one.column == 0)
    cost += load_cost(st, params.load_price, limits.penalty, b, (-x0, -x1, -x2, -x3))
    if cost > limits.cost:  # the load costs at least 0 on its new broker
        return 0
    cost += load_cost(st, params.load_price, limits.penalty, to, load)
    if cost > limits.cost or not allowed(st, p, b, to) or not within_budgets(st, p, b, to):
        return 0
    if not within_hard_limits(st, to, load):
        return 0
    move(st, p, one.column, to)
    return 1


@within_kernels
def _try_exchange(
    st: State, params: AnnealParams, limits: Limits, one: Replica, other: Replica
) -> int:
    """Let two replicas change brokers, if the cost allows it."""
    p, b, q, to = one.partition, one.broker, other.partition, other.broker
    if p == q or not st.status[b].may_give or not st.status[to].may_give:
        return 0
    if not st.rule[q].movable or (other.column == 0 and not st.rule[q].leader_movable):
        return 0
    cost = (st.partition[p].size + params.move_price) * (
        is_initial(st, p, b) * 1.0 - is_initial(st, p, to) * 1.0
    )
    cost += (st.partition[q].size + params.move_price) * (
        is_initial(st, q, to) * 1.0 - is_initial(st, q, b) * 1.0
    )
    x = replica_load(st, p, one.column == 0)
    y = replica_load(st, q, other.column == 0)
    cost += load_cost(st, params.load_price, limits.penalty, b, difference(y, x))
    cost += load_cost(st, params.load_price, limits.penalty, to, difference(x, y))
    if cost > limits.cost or not within_hard_limits(st, to, difference(x, y)):
        return 0
    if not within_hard_limits(st, b, difference(y, x)):
        return 0
    if not allowed(st, p, b, to) or not allowed(st, q, to, b):
        return 0
    if not within_budgets(st, p, b, to) or not within_budgets(st, q, to, b):
        return 0
    move(st, p, one.column, to)
    move(st, q, other.column, b)
    return 1


@inlined
def within_hard_limits(st: State, b: int, change: Load) -> bool:
    """Whether a change of load exceeds no hard limit."""
    broker = st.broker[b]
    return (
        (change[0] <= 0 or broker.load[0] + change[0] <= broker.hard_limit[0])
        and (change[1] <= 0 or broker.load[1] + change[1] <= broker.hard_limit[1])
        and (change[2] <= 0 or broker.load[2] + change[2] <= broker.hard_limit[2])
        and (change[3] <= 0 or broker.load[3] + change[3] <= broker.hard_limit[3])
    )
