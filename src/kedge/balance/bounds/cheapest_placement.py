"""The cheapest placement of every partition when load has a price on each broker.

The bytes bound with racks follows from it. Let every broker b charge a price m_br ≥ 0 for each unit
of load. In any assignment that leaves all brokers within their targets, brokers together earn at
most Σ m·target. Each partition pays for the load of its replicas and for the bytes copied, so

    bytes copied  ≥  Σ_p  min over placements of p (bytes + m·load)  −  Σ m·target

whatever the prices. A placement of p is a set of as many brokers as replicas are wanted, with at
most the rack's limit in one rack, one of them leading: the minimum accounts for racks, missing
replicas and brokers that must end empty, which the bound by single brokers does not. It evaluates
every pair of partition and broker, so it is used for small clusters only.

The cheapest placement is found exactly. Sets with at most m brokers of one rack are a matroid, so
taking followers in order of price gives the cheapest set; the leader replaces the dearest broker
that may leave the set for it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kedge.balance.bounds.bytes_per_broker import all_brokers_open
from kedge.balance.goals.problem import Bools, Floats, Int32s, Problem
from kedge.jit import compiled, within_kernels

Int64s = npt.NDArray[np.int64]

FORBIDDEN = 1e30  # the price of a broker that is not allowed


class Market(NamedTuple):
    """Arrays of one bound; B brokers, P partitions, K initial columns."""

    leader: Floats  # [P, 4], scaled
    follower: Floats  # [P, 4]
    bytes: Floats  # [P]: of one copy, scaled like disk
    initial: Int32s  # [P, K]
    wanted: Int32s  # [P]
    limit: Int32s  # [P]: replicas in one rack
    free: Bools  # [P, 2]: may change brokers, may change leaders
    rack: Int32s  # [B]
    open: Bools  # [B]: may receive replicas
    closed: Bools  # [B]: must end empty
    target: Floats  # [B, 4], scaled; 0 where there is none


def market_of(problem: Problem, target: Floats, unit: Floats, copy: float = 1.0) -> Market:
    """A problem as the arrays of the bound, scaled; each copied byte costs `copy`."""
    limited = np.where(np.isfinite(target) & (problem.weight > 0), target / unit, 0.0)
    return Market(
        leader=np.ascontiguousarray(problem.leader_load / unit),
        follower=np.ascontiguousarray(problem.follower_load / unit),
        bytes=np.ascontiguousarray(copy * problem.size / unit[0]),
        initial=np.ascontiguousarray(problem.initial),
        wanted=np.ascontiguousarray(problem.wanted),
        limit=rack_limits(problem),
        free=np.stack(
            [
                problem.movable | has_missing_replicas(problem),
                # a rack that must give a replica up may have to give the leader up
                problem.leader_movable | (replicas_in_fullest_rack(problem) > problem.rack_limit),
            ],
            axis=1,
        ),
        rack=np.ascontiguousarray(problem.rack),
        open=np.ascontiguousarray(problem.may_receive & ~problem.must_empty),
        closed=np.ascontiguousarray(problem.must_empty),
        target=np.ascontiguousarray(np.where(problem.must_empty[:, None], 0.0, limited)),
    )


def has_missing_replicas(problem: Problem) -> Bools:
    """bool[P]: partitions with fewer replicas than wanted. Missing replicas are added even where
    nothing else may change, so the bound must consider all brokers."""
    stays = (problem.initial >= 0) & ~problem.must_empty[problem.initial]
    return stays.sum(axis=1) < problem.wanted


def rack_limits(problem: Problem, *, strict: bool = False) -> Int32s:
    """Most replicas in one rack: the limit, or what is there where no broker need take a replica.

    A bound must allow for the latter; `strict` gives the limit, for placements that are to be used.
    """
    crowd = replicas_in_fullest_rack(problem)
    must_keep = problem.movable & (strict or all_brokers_open(problem))
    limit = np.where(must_keep, problem.rack_limit, np.maximum(problem.rack_limit, crowd))
    return limit.astype(np.int32)


def replicas_in_fullest_rack(problem: Problem) -> Int32s:
    """int32[P]: the most replicas of a partition that are in one rack now."""
    padding = -1 - np.arange(problem.initial.shape[1], dtype=np.int32)
    racks = np.where(problem.initial >= 0, problem.rack[problem.initial], padding)
    same = (racks[:, :, None] == racks[:, None, :]).sum(axis=2)
    return same.max(axis=1, initial=0).astype(np.int32)


@compiled
def cheapest_placements(market: Market, price: Floats, loads: Floats, chosen: Int32s) -> float:
    """What all partitions pay at least, less what the targets are worth.

    Writes the loads of brokers at these placements into `loads` [B, 4], and the placements into
    `chosen` [P, K], the leader first.
    """
    brokers = len(market.rack)
    racks = 0
    for b in range(brokers):
        racks = max(racks, market.rack[b] + 1)
    longest = chosen.shape[1]
    lead, follow = np.empty(brokers), np.empty(brokers)
    best_of = np.empty((racks, longest), np.int64)
    held = np.empty(racks, np.int64)
    picked = np.empty(longest, np.int64)
    loads[:] = 0.0
    total = 0.0
    for b in range(brokers):
        for r in range(4):
            total -= price[b, r] * market.target[b, r]
    for p in range(len(market.wanted)):
        prices_on_brokers(market, price, p, lead, follow)
        count = cheapest_set(market, p, follow, best_of, held, picked)
        total += _choose_leader(market, p, lead, follow, held, picked, count)
        for k in range(longest):
            chosen[p, k] = picked[k] if k < count else -1
        for k in range(count):
            b = picked[k]
            for r in range(4):
                loads[b, r] += market.leader[p, r] if k == 0 else market.follower[p, r]
    return total


@within_kernels
def prices_on_brokers(market: Market, price: Floats, p: int, lead: Floats, follow: Floats) -> None:
    """The price of a leader and of a follower of a partition on each broker."""
    size = market.bytes[p]
    l0, l1, l2, l3 = (
        market.leader[p, 0],
        market.leader[p, 1],
        market.leader[p, 2],
        market.leader[p, 3],
    )
    f0, f1, f2, f3 = (
        market.follower[p, 0],
        market.follower[p, 1],
        market.follower[p, 2],
        market.follower[p, 3],
    )
    moves, elects = market.free[p, 0], market.free[p, 1]
    for b in range(len(lead)):
        more = size if market.open[b] and moves else FORBIDDEN
        m0, m1, m2, m3 = price[b, 0], price[b, 1], price[b, 2], price[b, 3]
        lead[b] = l0 * m0 + l1 * m1 + l2 * m2 + l3 * m3 + more
        follow[b] = f0 * m0 + f1 * m1 + f2 * m2 + f3 * m3 + more
    for k in range(market.initial.shape[1]):
        b = market.initial[p, k]
        if b < 0 or market.closed[b]:
            continue
        m0, m1, m2, m3 = price[b, 0], price[b, 1], price[b, 2], price[b, 3]
        lead[b] = l0 * m0 + l1 * m1 + l2 * m2 + l3 * m3
        follow[b] = f0 * m0 + f1 * m1 + f2 * m2 + f3 * m3
    if not elects:
        for b in range(len(lead)):
            if b != market.initial[p, 0]:
                lead[b] = FORBIDDEN


@within_kernels
def cheapest_set(
    market: Market, p: int, follow: Floats, best_of: Int64s, held: Int64s, picked: Int64s
) -> int:
    """The cheapest brokers for followers only, as many as are wanted; how many there are."""
    limit, wanted = min(market.limit[p], market.wanted[p]), market.wanted[p]
    for g in range(len(held)):
        held[g] = 0
    for b in range(len(follow)):
        if follow[b] >= FORBIDDEN:
            continue
        g = market.rack[b]
        at = held[g]
        if at == limit:
            if follow[b] >= follow[best_of[g, limit - 1]]:
                continue
            at -= 1
        else:
            held[g] += 1
        while at > 0 and follow[best_of[g, at - 1]] > follow[b]:
            best_of[g, at] = best_of[g, at - 1]
            at -= 1
        best_of[g, at] = b
    count = 0
    for g in range(len(held)):
        for i in range(held[g]):
            b = best_of[g, i]
            if count == wanted:
                if follow[b] >= follow[picked[count - 1]]:
                    break
                at = count - 1
            else:
                at = count
                count += 1
            while at > 0 and follow[picked[at - 1]] > follow[b]:
                picked[at] = picked[at - 1]
                at -= 1
            picked[at] = b
    return count


@within_kernels
def _choose_leader(
    market: Market, p: int, lead: Floats, follow: Floats, held: Int64s, picked: Int64s, count: int
) -> float:
    """Put the leader with which the set is cheapest first; what the placement costs."""
    limit = market.limit[p]
    whole = 0.0
    for g in range(len(held)):
        held[g] = 0
    for i in range(count):
        whole += follow[picked[i]]
        held[market.rack[picked[i]]] += 1
    best, out = -1, -1
    least = 1e300
    for b in range(len(lead)):
        if lead[b] >= FORBIDDEN or lead[b] - follow[picked[count - 1]] >= least:
            continue
        goes = count - 1
        inside = False
        full = held[market.rack[b]] >= limit
        for i in range(count):
            if picked[i] == b:
                inside, goes = True, i
        if not inside and full:
            for i in range(count):
                if market.rack[picked[i]] == market.rack[b]:
                    goes = i  # sorted by price: the last of its rack is the dearest
        if lead[b] - follow[picked[goes]] < least:
            best, least, out = b, lead[b] - follow[picked[goes]], goes
    if best < 0:
        return float(whole)
    for i in range(out, 0, -1):
        picked[i] = picked[i - 1]
    picked[0] = best
    return float(whole + least)
