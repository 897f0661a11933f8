"""The fewest bytes that overloaded brokers must lose, and the multipliers that prove it.

A broker b that is over its target must lose replicas or leaderships. Whatever else happens, the
replicas that leave it (x_p = 1) and those that only stop leading there (y_p = 1) satisfy

    Σ_p a_pr·x_p + e_pr·y_p ≥ over_br   for each resource r,   x_p + y_p ≤ 1

with a the load of the replica there and e what its leadership adds. Bytes s_p leave with each x_p,
none with y_p. For any λ ≥ 0, weak duality gives a bound that needs no solver to be checked:

    bytes leaving b  ≥  λ · over_b  −  Σ_p max(0, λ·a_p − s_p, λ·e_p)

A replica leaves exactly one broker, so brokers add up. Mandatory moves are added: replicas on
brokers that must end empty, missing replicas, and replicas beyond the limit of a rack (where every
broker is open to them). A partition with mandatory moves in a rack, or with replicas to drop, costs
nothing in the sums above: it is counted once.

Good multipliers come from the ellipsoid method, with one dimension for each overloaded resource.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kedge.balance.goals.problem import Bools, Floats, Problem, broker_loads
from kedge.jit import compiled, within_kernels

Int64s = npt.NDArray[np.int64]

STEPS = (0, 40, 70, 110, 150)  # of the ellipsoid method, by number of overloaded resources
RADIUS = 2.5  # of the first ball of multipliers, in bytes per byte
CLOSE = 1e-4  # of the bound: where the steps end


def mandatory_copies(problem: Problem) -> tuple[Floats, Floats]:
    """float64[P] each: replicas that must be copied; bytes that leaving a broker costs."""
    initial = problem.initial
    there = initial >= 0
    leaving = there & problem.must_empty[initial]
    staying = there & ~leaving
    racks = np.where(staying, problem.rack[initial], -1)
    crowded = np.zeros(len(initial))
    for column in range(initial.shape[1]):
        before = (racks[:, :column] == racks[:, column : column + 1]).sum(axis=1)
        crowded += staying[:, column] & (before >= problem.rack_limit)
    crowded[~problem.movable] = 0
    held = there.sum(axis=1)
    gone = leaving.sum(axis=1) + (crowded if all_brokers_open(problem) else 0)
    copies = np.maximum(gone + problem.wanted - held, 0.0)
    price = np.where((crowded > 0) | (held > problem.wanted), 0.0, problem.size)
    return copies, price


def all_brokers_open(problem: Problem) -> bool:
    """Whether every broker that stays can take any replica: then a crowded rack can give one up."""
    staying = ~problem.must_empty
    return bool(
        problem.may_receive[staying].all()
        and (problem.max_replicas[staying] >= len(problem.initial)).all()
        and np.isinf(problem.hard_limit).all()
    )


def best_multipliers(problem: Problem, target: Floats, unit: Floats) -> tuple[Floats, Floats]:
    """λ float64[B, R] in bytes per unit of each resource, and float64[B] the bytes that it proves.

    `unit` float64[R] scales the resources to about one another, which the ellipsoid method needs.
    """
    loads = broker_loads(problem, problem.initial)
    over = np.where(problem.must_empty[:, None], 0.0, loads - target) / unit
    over[:, problem.weight <= 0] = 0.0
    over[over < 1e-9] = 0.0  # a rounding error of sums
    active: Bools = np.asarray((over > 0).any(axis=1))
    starts, slots = _by_broker(problem, active)
    _, cost = mandatory_copies(problem)
    replicas = Replicas(
        starts=starts,
        slots=slots,
        width=problem.initial.shape[1],
        leader=np.ascontiguousarray(problem.leader_load / unit),
        follower=np.ascontiguousarray(problem.follower_load / unit),
        cost=cost / unit[0],
    )
    multipliers = np.zeros_like(over)
    value = np.zeros(problem.brokers)
    _maximise_all(over, replicas, multipliers, value)
    return multipliers * unit[0] / unit, value * unit[0]


def _by_broker(problem: Problem, active: Bools) -> tuple[Int64s, Int64s]:
    """Initial replicas listed by broker: where each list starts, and partition × K + column."""
    flat = problem.initial.reshape(-1).astype(np.int64)
    slot = np.nonzero((flat >= 0) & active[flat])[0]
    by_broker = np.argsort(flat[slot], kind="stable")
    starts = np.searchsorted(flat[slot][by_broker], np.arange(problem.brokers + 1))
    return starts.astype(np.int64), slot[by_broker].astype(np.int64)


class Replicas(NamedTuple):
    """The initial replicas of overloaded brokers, scaled."""

    starts: Int64s  # [B + 1]
    slots: Int64s  # [N]: partition × width + column, broker by broker
    width: int
    leader: Floats  # [P, 4]
    follower: Floats  # [P, 4]
    cost: Floats  # [P]: bytes that leaving costs


class OneBroker(NamedTuple):
    """The dual problem of one broker, in the dimensions of its overloaded resources."""

    dims: int
    axes: Int64s  # [4]: the resource of each dimension
    over: Floats  # [4]: load beyond the target, by resource
    replicas: int
    gain: Floats  # [M, 4]: load of each replica
    lead: Floats  # [M, 4]: the part of it that leadership adds
    cost: Floats  # [M]


@compiled
def _maximise_all(over: Floats, replicas: Replicas, multipliers: Floats, value: Floats) -> None:
    """Fill the multipliers and the proved value of every overloaded broker."""
    longest = 1
    for b in range(len(over)):
        longest = max(longest, replicas.starts[b + 1] - replicas.starts[b])
    gain = np.empty((longest, 4))
    lead = np.empty((longest, 4))
    cost = np.empty(longest)
    axes = np.empty(4, np.int64)
    for b in range(len(over)):
        dims = 0
        for r in range(4):
            if over[b, r] > 0:
                axes[dims] = r
                dims += 1
        if dims == 0:
            continue
        first = replicas.starts[b]
        count = replicas.starts[b + 1] - first
        for i in range(count):
            slot = replicas.slots[first + i]
            p, leads = slot // replicas.width, slot % replicas.width == 0
            cost[i] = replicas.cost[p]
            for d in range(dims):
                r = axes[d]
                leader, follower = replicas.leader[p, r], replicas.follower[p, r]
                gain[i, d] = leader if leads else follower
                lead[i, d] = leader - follower if leads else 0.0
        one = OneBroker(dims, axes, over[b], count, gain, lead, cost)
        value[b] = _maximise(one, multipliers[b])


@within_kernels
def _maximise(one: OneBroker, best: Floats) -> float:
    """Maximise the dual of one broker by the ellipsoid method; the value, its λ in `best`."""
    dims, axes = one.dims, one.axes
    centre = np.zeros(4)
    shape = np.zeros((4, 4))
    slope = np.zeros(4)
    step = np.zeros(4)
    value = 0.0
    # λ = 1 byte per byte of disk alone: most optima are near it
    centre[0] = 1.0
    if axes[0] == 0:
        alone = _dual(one, centre, slope)
        if alone > 0:  # where leaving costs nothing it proves less than no multiplier at all
            value = alone
            best[0] = 1.0
    for d in range(dims):
        centre[d] = 0.7 if axes[d] == 0 else 0.3
        shape[d, d] = RADIUS * RADIUS
    for _ in range(STEPS[dims]):
        outside = 0
        for d in range(1, dims):
            if centre[d] < centre[outside]:
                outside = d
        if centre[outside] < 0:
            slope[:] = 0.0
            slope[outside] = 1.0
            missing = -centre[outside]
        else:
            now = _dual(one, centre, slope)
            if now > value:
                value = now
                for d in range(dims):
                    best[axes[d]] = centre[d]
            missing = value - now
        length = _stretch(shape, slope, step, dims)
        if centre[outside] >= 0 and length - missing <= CLOSE * value:
            break  # nothing in this ellipsoid is worth more than what was found
        if not length > 1e-12 or not missing < length:
            break
        _shrink(centre, shape, step, dims, length, missing / length)
    return value


@within_kernels
def _dual(one: OneBroker, at: Floats, slope: Floats) -> float:
    """The bound that multipliers give, and the direction in which it grows."""
    dims = one.dims
    total = 0.0
    for d in range(4):
        slope[d] = 0.0
    for d in range(dims):
        total += at[d] * one.over[one.axes[d]]
        slope[d] = one.over[one.axes[d]]
    for i in range(one.replicas):
        leaves, stops = -one.cost[i], 0.0
        for d in range(dims):
            leaves += at[d] * one.gain[i, d]
            stops += at[d] * one.lead[i, d]
        if leaves > stops and leaves > 0:
            total -= leaves
            for d in range(dims):
                slope[d] -= one.gain[i, d]
        elif stops > 0:
            total -= stops
            for d in range(dims):
                slope[d] -= one.lead[i, d]
    return total


@within_kernels
def _stretch(shape: Floats, slope: Floats, step: Floats, dims: int) -> float:
    """Half the width of the ellipsoid along a slope, in the slope's own units."""
    length = 0.0
    for d in range(dims):
        step[d] = 0.0
        for e in range(dims):
            step[d] += shape[d, e] * slope[e]
        length += slope[d] * step[d]
    return np.sqrt(max(length, 0.0))


@within_kernels
def _shrink(
    centre: Floats, shape: Floats, step: Floats, dims: int, length: float, depth: float
) -> None:
    """The smallest ellipsoid around the part of this one beyond a cut at a depth in [0, 1)."""
    n = float(dims)
    if dims == 1:  # an interval is cut
        half = np.sqrt(shape[0, 0])
        side = 1.0 if step[0] > 0 else -1.0
        centre[0] += side * half * (1 + depth) / 2
        shape[0, 0] = (half * (1 - depth) / 2) ** 2
        return
    for d in range(dims):
        centre[d] += step[d] / length * (1 + n * depth) / (n + 1)
    part = 2 * (1 + n * depth) / ((n + 1) * (1 + depth)) / (length * length)
    grown = n * n * (1 - depth * depth) / (n * n - 1)
    for d in range(dims):
        for e in range(dims):
            shape[d, e] = grown * (shape[d, e] - part * step[d] * step[e])
