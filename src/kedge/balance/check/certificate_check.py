"""Check a certificate against the snapshot: whether each bound is really proved.

This shares no code with the bounds and the search. It starts from the problem as it was set (loads,
capacities, where replicas are) and evaluates the proofs that the certificate names, with formulas
short enough to be read in one sitting:

- *racks*: filled to the level, racks can just hold everything, each no more than it may;
- *pigeonhole*: k + 1 of the heaviest replicas meet on some broker, and none is larger than the
  largest;
- *joint*: at these prices, all brokers filled to their best levels pay 1 together, and all
  replicas, each where it is cheapest, pay `level`;
- *bytes* by brokers: multipliers ≥ 0 give λ·over − Σ max(0, λ·a − s, λ·e) bytes for every broker;
- *bytes* by placements: every partition pays at least for its cheapest placement (bytes copied and
  λ·load), and brokers within their targets earn λ·target together at most (`check_placements`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from kedge.balance.check.placement_costs import least_costs
from kedge.balance.goals.problem import Bools, Floats, Problem
from kedge.balance.goals.task import Task

CLOSE = 1e-6  # relative: certificates have twelve digits, sums of floats fewer


class Fault(NamedTuple):
    """A false claim: its place in the certificate, and what is wrong."""

    place: str
    what: str


def bound_faults(task: Task, claims: Mapping[str, Any], after: Floats) -> Iterator[Fault]:
    """Every claim of a certificate that the snapshot contradicts; `after` are loads."""
    if claims["columns"] != list(task.columns):
        yield Fault("columns", f"says {claims['columns']}, the snapshot has {list(task.columns)}")
        return
    problem, counted = task.problem, _counted(task)
    floor = _floor(problem)
    best = np.array(claims["best"], np.float64)
    for column, name in enumerate(task.columns):
        place = f"best[{column}] ({name})"
        if not counted[column]:
            if best[column] != 0:
                yield Fault(place, f"says {best[column]:.6g} of a load that does not count")
            continue
        racks, holes = _racks(problem, floor, column), _holes(problem, column)
        if not same(best[column], max(racks, holes)):
            yield Fault(place, f"says {best[column]:.6g}, {max(racks, holes):.6g} is provable")
        proof = "pigeonhole" if holes >= racks else "racks"
        if claims["proof"][column] != proof and not same(racks, holes):
            yield Fault(f"proof[{column}]", f"says {claims['proof'][column]!r}, it is {proof}")
    yield from _joint_faults(problem, claims["joint"], best)
    yield from _bytes_faults(task, claims, floor, after)


def same(a: float, b: float) -> bool:
    """Whether two figures are the same as far as floats go."""
    return bool(np.isclose(a, b, rtol=CLOSE, atol=1e-9))


def _counted(task: Task) -> Bools:
    counted = task.problem.weight > 0
    if task.goals.above is not None:
        counted &= np.isfinite(task.problem.hard_limit).any(axis=0)
    carried = task.problem.leader_load.sum(axis=0) > 0
    return counted & carried & np.array([bool(name) for name in task.columns])


# ---- levels -------------------------------------------------------------------------------------


def _stuck(problem: Problem) -> Bools:
    """Replicas that have to stay where they are."""
    there = problem.initial >= 0
    kept = there & (~problem.movable[:, None] | ~problem.may_give[problem.initial])
    kept &= ~problem.must_empty[problem.initial]
    kept[there.sum(axis=1) > problem.wanted] = False
    return kept


def _at_brokers(problem: Problem, chosen: Bools, load: Floats) -> Floats:
    sums = np.zeros((problem.brokers, 4))
    row, column = np.nonzero(chosen)
    np.add.at(sums, problem.initial[row, column], load[row])
    return sums


def _floor(problem: Problem) -> Floats:
    """What each broker cannot lose."""
    kept = _stuck(problem)
    follower = np.minimum(problem.follower_load, problem.leader_load)
    led = np.zeros_like(kept)
    led[:, 0] = kept[:, 0] & ~problem.leader_movable
    return _at_brokers(problem, kept, follower) + _at_brokers(
        problem, led, problem.leader_load - follower
    )


def _racks(problem: Problem, floor: Floats, column: int) -> float:
    """The level at which racks can just hold everything."""
    leader, follower = problem.leader_load[:, column], problem.follower_load[:, column]
    total = float((leader + (problem.wanted - 1) * follower).sum())
    limit = np.minimum(np.maximum(problem.rack_limit, _crowded(problem)), problem.wanted)
    rack_most = float((leader + (limit - 1) * follower).sum())
    capacity = problem.capacity[:, column]
    most = np.full(problem.brokers, np.inf)
    held = _at_brokers(
        problem, problem.initial >= 0, np.maximum(problem.leader_load, problem.follower_load)
    )
    most[~problem.may_receive] = held[~problem.may_receive, column]
    most[problem.must_empty] = 0.0

    def held_at(level: float) -> float:
        filled = np.minimum(np.maximum(level * capacity, floor[:, column]), most)
        return float(np.minimum(np.bincount(problem.rack, filled), rack_most).sum())

    low, high = 0.0, total / float(capacity[~problem.must_empty].min())
    if held_at(high) < total:
        return total / float(capacity[~problem.must_empty].sum())
    for _ in range(64):
        middle = (low + high) / 2
        low, high = (middle, high) if held_at(middle) < total else (low, middle)
    return low


def _crowded(problem: Problem) -> Any:
    """Copies in one rack of partitions of which a replica must stay; 0 for others."""
    found = np.zeros(len(problem.initial), np.int32)
    for row in np.flatnonzero(_stuck(problem).any(axis=1)).tolist():
        racks = problem.rack[problem.initial[row][problem.initial[row] >= 0]]
        found[row] = np.unique(racks, return_counts=True)[1].max(initial=0)
    return found


def _holes(problem: Problem, column: int) -> float:
    """The pigeonhole bound, for the k that gives most."""
    moves = problem.movable
    others = np.repeat(
        problem.follower_load[moves, column], np.maximum(problem.wanted[moves] - 1, 0)
    )
    heaviest = -np.sort(-np.r_[problem.leader_load[moves, column], others])
    brokers = int((~problem.must_empty).sum())
    together = [(k + 1) * heaviest[k * brokers] for k in range(-(-len(heaviest) // brokers))]
    return float(max(together, default=0.0) / problem.capacity[~problem.must_empty, column].max())


def _joint_faults(problem: Problem, claims: Mapping[str, Any], best: Floats) -> Iterator[Fault]:
    """Prices that do not prove the joint level."""
    level = float(claims["level"])
    if level <= 1:
        if level < 1 or claims["prices"]:
            yield Fault("joint.level", f"says {level:.6g}, 1 is always provable")
        return
    kind, prices = np.array(claims["kind"]), np.array(claims["prices"], np.float64)
    stays = ~problem.must_empty
    if len(kind) != problem.brokers or (kind[stays] < 0).any() or kind.max() >= len(prices):
        yield Fault("joint.kind", "does not name a kind of price for every broker")
        return
    if (prices < 0).any():
        yield Fault("joint.prices", "a price is below 0")
    paid = float((prices[kind] * best * problem.capacity)[stays].sum())
    if not same(paid, 1.0):
        yield Fault("joint.prices", f"brokers at their best levels pay {paid:.6g}, not 1")
    if claims.get("by", "kinds") == "placements":
        proved = float(least_costs(problem, prices[kind], copy=0.0).sum())
    else:
        leader = (problem.leader_load @ prices.T).min(axis=1)
        follower = (problem.follower_load @ prices.T).min(axis=1)
        proved = float((leader + (problem.wanted - 1) * follower).sum())
    if not same(level, proved):
        yield Fault("joint.level", f"says {level:.6g}, the prices prove {proved:.6g}")


# ---- bytes --------------------------------------------------------------------------------------


def _bytes_faults(
    task: Task, claims: Mapping[str, Any], floor: Floats, after: Floats
) -> Iterator[Fault]:
    """Multipliers that do not prove the bytes, or a target that the plan does not keep."""
    problem = task.problem
    counted = _counted(task)
    level = np.array([np.inf if value is None else value for value in claims["target"]], np.float64)
    target = np.where(counted, np.maximum(level * problem.capacity, floor), np.inf)
    stays = ~problem.must_empty
    limited = np.maximum(np.minimum(target, problem.hard_limit), floor)
    if not (after > limited * (1 + CLOSE) + CLOSE)[stays].any():
        target = np.where(counted, limited, np.inf)
    over = (after > target * (1 + CLOSE) + CLOSE)[stays].any(axis=0)
    for column in np.flatnonzero(over).tolist():
        what = f"says {level[column]:.6g}, the plan leaves a broker above it"
        yield Fault(f"target[{column}] ({task.columns[column]})", what)
    index = {str(broker.id): place for place, broker in enumerate(task.snapshot.brokers)}
    multipliers = np.zeros((problem.brokers, 4))
    for broker, values in claims["multipliers"].items():
        if broker not in index:
            yield Fault("multipliers", f"broker {broker} is not in the snapshot")
            return
        multipliers[index[broker]] = values
    if (multipliers < 0).any():
        yield Fault("multipliers", "one is below 0")
        return
    mandatory, price = _mandatory(problem)
    if not same(claims["forced"], mandatory):
        yield Fault("forced", f"says {claims['forced']:.0f} bytes, it is {mandatory:.0f}")
    limited = np.where(stays[:, None], target, np.inf)
    by = claims.get("bytes_by", "brokers")
    if by not in ("brokers", "placements"):
        yield Fault("bytes_by", f"says {by!r}, which is no proof")
    if by == "placements":
        earned = float((multipliers * np.where(np.isfinite(limited), limited, 0.0)).sum())
        proved = float(least_costs(problem, multipliers, copy=1.0).sum()) - earned
        if (multipliers[~np.isfinite(limited)] > 0).any():
            yield Fault("multipliers", "a price for load that has no target")
    else:
        proved = mandatory + _dual(problem, limited, multipliers, price)
    if not np.isclose(claims["bytes"], proved, rtol=CLOSE, atol=CLOSE * problem.size.sum() / 1e3):
        yield Fault("bytes", f"says {claims['bytes']:.0f}, the multipliers prove {proved:.0f}")


def _mandatory(problem: Problem) -> tuple[float, Floats]:
    """Bytes that must be copied whatever the balance, and what leaving a broker costs."""
    there = problem.initial >= 0
    leaving = there & problem.must_empty[problem.initial]
    racks = np.where(there & ~leaving, problem.rack[problem.initial], -1)
    crowd = np.zeros(len(racks), np.int64)
    for rack in range(int(problem.rack.max(initial=-1)) + 1):
        crowd += np.maximum((racks == rack).sum(axis=1) - problem.rack_limit, 0)
    crowd[~problem.movable] = 0
    # a surplus replica of a rack must move only where every broker can take it
    stays = ~problem.must_empty
    roomy = problem.may_receive & (problem.max_replicas >= len(racks))
    opens = bool(roomy[stays].all() and np.isinf(problem.hard_limit).all())
    missing = leaving.sum(axis=1) + crowd * opens + problem.wanted - there.sum(axis=1)
    price = np.where((crowd > 0) | (there.sum(axis=1) > problem.wanted), 0.0, problem.size)
    return float((np.maximum(missing, 0) * problem.size).sum()), price


def _dual(problem: Problem, target: Floats, multipliers: Floats, price: Floats) -> float:
    """Σ over brokers of λ·over − Σ max(0, λ·a − s, λ·e)."""
    proved, loads = 0.0, np.zeros((problem.brokers, 4))
    for column in range(problem.initial.shape[1]):
        row = np.flatnonzero(problem.initial[:, column] >= 0)
        broker = problem.initial[row, column]
        load = (problem.leader_load if column == 0 else problem.follower_load)[row]
        led = load - problem.follower_load[row]
        np.add.at(loads, broker, load)
        leaves = (multipliers[broker] * load).sum(axis=1) - price[row]
        stops = (multipliers[broker] * led).sum(axis=1)
        proved -= float(np.maximum(np.maximum(leaves, stops), 0.0).sum())
    over = np.where(np.isfinite(target), loads - target, 0.0)
    return proved + float((multipliers * over).sum())
