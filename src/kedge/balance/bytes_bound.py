"""How many bytes must move at least, and the multipliers that prove it.

A broker b that is over its target must lose replicas or leaderships. Whatever else happens, the
replicas that leave it (x_p = 1) and those that only stop leading there (y_p = 1) satisfy

    Σ_p a_pr·x_p + e_pr·y_p ≥ over_br   for each resource r,   x_p + y_p ≤ 1

with a the load of the replica there and e what its leadership adds. Bytes s_p leave with each x_p,
none with y_p. For any λ ≥ 0, weak duality gives a bound that needs no solver to be checked:

    bytes leaving b  ≥  λ · over_b  −  Σ_p max(0, λ·a_p − s_p, λ·e_p)

A replica leaves exactly one broker, so brokers add up. What is forced is added: replicas on brokers
that must end empty, replicas that are missing, and replicas too many in a rack (where nothing
keeps them there). A partition with forced work in a rack, or with replicas to drop, costs nothing
in the sums above: it is counted once.

Good multipliers come from the ellipsoid method in as many dimensions as there are resources over.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from kedge.balance.problem import Bools, Floats, Problem
from kedge.jit import compiled, within_kernels

Int64s = npt.NDArray[np.int64]

STEPS = (0, 40, 70, 110, 150)  # of the ellipsoid, by number of resources over
RADIUS = 2.5  # of the first ball of multipliers, in bytes per byte
CLOSE = 1e-4  # of the bound: what the last steps may leave unproved


def forced_work(problem: Problem) -> tuple[Floats, Floats]:
    """float64[P] each: replicas that must be copied per partition; bytes that leaving costs."""
    home = problem.home
    there = home >= 0
    leaving = there & problem.must_empty[home]
    staying = there & ~leaving
    racks = np.where(staying, problem.rack[home], -1)
    crowded = np.zeros(len(home))
    for column in range(home.shape[1]):
        before = (racks[:, :column] == racks[:, column : column + 1]).sum(axis=1)
        crowded += staying[:, column] & (before >= problem.rack_limit)
    crowded[~problem.movable] = 0
    held = there.sum(axis=1)
    gone = leaving.sum(axis=1) + (crowded if open_to_all(problem) else 0)
    copies = np.maximum(gone + problem.wanted - held, 0.0)
    price = np.where((crowded > 0) | (held > problem.wanted), 0.0, problem.size)
    return copies, price


def open_to_all(problem: Problem) -> bool:
    """Every broker that stays can be given any replica, so that a crowded rack can give one up."""
    staying = ~problem.must_empty
    return bool(
        problem.may_receive[staying].all()
        and (problem.room[staying] >= len(problem.home)).all()
        and np.isinf(problem.hard_limit).all()
    )


def home_loads(problem: Problem) -> Floats:
    """float64[B, R]: what brokers carry now, each partition counted with its wanted replicas."""
    home = problem.home
    loads = np.zeros((problem.brokers, 4))
    for column in range(home.shape[1]):
        there = home[:, column] >= 0
        load = (problem.leader_load if column == 0 else problem.follower_load)[there]
        at = home[there, column]
        for r in range(4):
            loads[:, r] += np.bincount(at, load[:, r], problem.brokers)
    return loads


def multipliers(problem: Problem, target: Floats, unit: Floats) -> tuple[Floats, Floats]:
    """λ float64[B, R] in bytes per unit of each resource, and float64[B] the bytes that it proves.

    `unit` float64[R] scales the resources to about one another, which the ellipsoid likes.
    """
    loads = home_loads(problem)
    over = np.where(problem.must_empty[:, None], 0.0, loads - target) / unit
    over[:, problem.weight <= 0] = 0.0
    over[over < 1e-9] = 0.0  # rounding of sums is no excess
    active: Bools = np.asarray((over > 0).any(axis=1))
    starts, owner = _by_broker(problem, active)
    _, price = forced_work(problem)
    lam = np.zeros_like(over)
    value = np.zeros(problem.brokers)
    width = problem.home.shape[1]
    _ascend(
        over,
        starts,
        owner,
        width,
        np.ascontiguousarray(problem.leader_load / unit),
        np.ascontiguousarray(problem.follower_load / unit),
        price / unit[0],
        lam,
        value,
    )
    return lam * unit[0] / unit, value * unit[0]


def _by_broker(problem: Problem, active: Bools) -> tuple[Int64s, Int64s]:
    """Replicas at home listed per broker: where each list starts, and partition × K + column."""
    flat = problem.home.reshape(-1).astype(np.int64)
    slot = np.nonzero((flat >= 0) & active[flat])[0]
    order = np.argsort(flat[slot], kind="stable")
    starts = np.searchsorted(flat[slot][order], np.arange(problem.brokers + 1))
    return starts.astype(np.int64), slot[order].astype(np.int64)


@compiled
def _ascend(
    over: Floats,
    starts: Int64s,
    slots: Int64s,
    width: int,
    leader: Floats,
    follower: Floats,
    price: Floats,
    lam: Floats,
    value: Floats,
) -> None:
    """Fill λ and the value proved for every broker that is over somewhere."""
    longest = 1
    for b in range(len(over)):
        longest = max(longest, starts[b + 1] - starts[b])
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
        count = starts[b + 1] - starts[b]
        for i in range(count):
            slot = slots[starts[b] + i]
            p, leads = slot // width, slot % width == 0
            cost[i] = price[p]
            for d in range(dims):
                r = axes[d]
                gain[i, d] = leader[p, r] if leads else follower[p, r]
                lead[i, d] = leader[p, r] - follower[p, r] if leads else 0.0
        _ellipsoid(over, b, axes, dims, gain, lead, cost, count, lam, value)


@within_kernels
def _ellipsoid(
    over: Floats,
    b: int,
    axes: Int64s,
    dims: int,
    gain: Floats,
    lead: Floats,
    cost: Floats,
    count: int,
    lam: Floats,
    value: Floats,
) -> None:
    """Maximise a concave function of `dims` multipliers by shrinking ellipsoids around it."""
    centre = np.zeros(4)
    shape = np.zeros((4, 4))
    slope = np.zeros(4)
    step = np.zeros(4)
    # disk alone, at a byte per byte, is where most optima are near
    centre[0] = 1.0
    if axes[0] == 0:
        alone = _dual(over, b, axes, dims, gain, lead, cost, count, centre, slope)
        if alone > 0:  # where leaving costs nothing it proves less than no multiplier at all
            value[b] = alone
            lam[b, 0] = 1.0
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
            now = _dual(over, b, axes, dims, gain, lead, cost, count, centre, slope)
            if now > value[b]:
                value[b] = now
                for d in range(dims):
                    lam[b, axes[d]] = centre[d]
            missing = value[b] - now
        length = _stretch(shape, slope, step, dims)
        if centre[outside] >= 0 and length - missing <= CLOSE * value[b]:
            break  # nothing in this ellipsoid is worth more than what was found
        if not length > 1e-12 or not missing < length:
            break
        _shrink(centre, shape, step, dims, length, missing / length)


@within_kernels
def _dual(
    over: Floats,
    b: int,
    axes: Int64s,
    dims: int,
    gain: Floats,
    lead: Floats,
    cost: Floats,
    count: int,
    at: Floats,
    slope: Floats,
) -> float:
    """The bound that multipliers give, and in which direction it grows."""
    total = 0.0
    for d in range(4):
        slope[d] = 0.0
    for d in range(dims):
        total += at[d] * over[b, axes[d]]
        slope[d] = over[b, axes[d]]
    for i in range(count):
        leaves, stops = -cost[i], 0.0
        for d in range(dims):
            leaves += at[d] * gain[i, d]
            stops += at[d] * lead[i, d]
        if leaves > stops and leaves > 0:
            total -= leaves
            for d in range(dims):
                slope[d] -= gain[i, d]
        elif stops > 0:
            total -= stops
            for d in range(dims):
                slope[d] -= lead[i, d]
    return total


@within_kernels
def _stretch(shape: Floats, slope: Floats, step: Floats, dims: int) -> float:
    """How far the ellipsoid reaches along a slope, in the slope's own units."""
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
