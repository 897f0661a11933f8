"""What a placement costs at least when load has a price on every broker: the bound with racks.

Ask every broker b a price m_br ≥ 0 for each unit of load. In any placement that leaves all brokers
within their targets, brokers together earn at most Σ m·target. Each partition pays for the load of
its replicas where they are and for the bytes copied to get there, so

    bytes copied  ≥  Σ_p  min over placements of p (bytes + m·load)  −  Σ m·target

whatever the prices. A placement of p is a set of as many brokers as replicas are wanted, no more
than so many in one rack, one of them leading: the minimum knows of racks, of missing replicas and
of brokers that must end empty, which bounds by single brokers do not. It takes every broker for
every partition, so it is for clusters that are not large.

The cheapest placement is found exactly. Sets with at most m brokers of one rack are a matroid, so
taking followers in order of price gives the cheapest set; who leads comes in for the dearest
one that may go for it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kedge.balance.bytes_bound import open_to_all
from kedge.balance.problem import Bools, Floats, Int32s, Problem
from kedge.jit import compiled, within_kernels

Int64s = npt.NDArray[np.int64]

NEVER = 1e30  # the price of a place that is not allowed


class Market(NamedTuple):
    """Arrays of one bound; B brokers, P partitions, K columns of home."""

    leader: Floats  # [P, 4], scaled
    follower: Floats  # [P, 4]
    bytes: Floats  # [P]: of one copy, scaled like disk
    home: Int32s  # [P, K]
    wanted: Int32s  # [P]
    limit: Int32s  # [P]: replicas in one rack
    free: Bools  # [P, 2]: may change brokers, may change leaders
    rack: Int32s  # [B]
    open: Bools  # [B]: may be given replicas
    closed: Bools  # [B]: must end empty
    target: Floats  # [B, 4], scaled; 0 where nothing is asked


def market_of(problem: Problem, target: Floats, unit: Floats, copy: float = 1.0) -> Market:
    """What is for sale: a problem in the units of the search, bytes counted `copy` times."""
    asked = np.where(np.isfinite(target) & (problem.weight > 0), target / unit, 0.0)
    return Market(
        leader=np.ascontiguousarray(problem.leader_load / unit),
        follower=np.ascontiguousarray(problem.follower_load / unit),
        bytes=np.ascontiguousarray(copy * problem.size / unit[0]),
        home=np.ascontiguousarray(problem.home),
        wanted=np.ascontiguousarray(problem.wanted),
        limit=rack_limits(problem),
        free=np.stack(
            [
                problem.movable | lacking(problem),
                # a rack that must give a replica up may have to give the leader up
                problem.leader_movable | (crowds(problem) > problem.rack_limit),
            ],
            axis=1,
        ),
        rack=np.ascontiguousarray(problem.rack),
        open=np.ascontiguousarray(problem.may_receive & ~problem.must_empty),
        closed=np.ascontiguousarray(problem.must_empty),
        target=np.ascontiguousarray(np.where(problem.must_empty[:, None], 0.0, asked)),
    )


def lacking(problem: Problem) -> Bools:
    """bool[P]: partitions with fewer replicas than they are to have. What is missing is placed even
    where nothing else may change, so a bound must let all brokers be asked."""
    stays = (problem.home >= 0) & ~problem.must_empty[problem.home]
    return stays.sum(axis=1) < problem.wanted


def rack_limits(problem: Problem, *, strict: bool = False) -> Int32s:
    """Replicas in one rack: what is wanted, or what is there and nobody can be made to take.

    A bound must allow for the latter; who looks for placements to use is strict.
    """
    crowd = crowds(problem)
    forced = problem.movable & (strict or open_to_all(problem))
    limit = np.where(forced, problem.rack_limit, np.maximum(problem.rack_limit, crowd))
    return limit.astype(np.int32)


def crowds(problem: Problem) -> Int32s:
    """int32[P]: the most replicas of a partition that are in one rack now."""
    nowhere = -1 - np.arange(problem.home.shape[1], dtype=np.int32)
    racks = np.where(problem.home >= 0, problem.rack[problem.home], nowhere)
    same = (racks[:, :, None] == racks[:, None, :]).sum(axis=2)
    return same.max(axis=1, initial=0).astype(np.int32)


@compiled
def cheapest(market: Market, price: Floats, loads: Floats, chosen: Int32s) -> float:
    """What all partitions pay at least, less what targets are worth.

    `loads` [B, 4] becomes what brokers carry then, `chosen` [P, K] where replicas are, the leader
    first.
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
        _quote(market, price, p, lead, follow)
        count = _cheapest_set(market, p, follow, best_of, held, picked)
        total += _choose_leader(market, p, lead, follow, held, picked, count)
        for k in range(longest):
            chosen[p, k] = picked[k] if k < count else -1
        for k in range(count):
            b = picked[k]
            for r in range(4):
                loads[b, r] += market.leader[p, r] if k == 0 else market.follower[p, r]
    return total


@within_kernels
def _quote(market: Market, price: Floats, p: int, lead: Floats, follow: Floats) -> None:
    """What each broker asks for a leader and for a follower of a partition."""
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
        more = size if market.open[b] and moves else NEVER
        m0, m1, m2, m3 = price[b, 0], price[b, 1], price[b, 2], price[b, 3]
        lead[b] = l0 * m0 + l1 * m1 + l2 * m2 + l3 * m3 + more
        follow[b] = f0 * m0 + f1 * m1 + f2 * m2 + f3 * m3 + more
    for k in range(market.home.shape[1]):
        b = market.home[p, k]
        if b < 0 or market.closed[b]:
            continue
        m0, m1, m2, m3 = price[b, 0], price[b, 1], price[b, 2], price[b, 3]
        lead[b] = l0 * m0 + l1 * m1 + l2 * m2 + l3 * m3
        follow[b] = f0 * m0 + f1 * m1 + f2 * m2 + f3 * m3
    if not elects:
        for b in range(len(lead)):
            if b != market.home[p, 0]:
                lead[b] = NEVER


@within_kernels
def _cheapest_set(
    market: Market, p: int, follow: Floats, best_of: Int64s, held: Int64s, picked: Int64s
) -> int:
    """The cheapest brokers for followers only, as many as are wanted; says how many there are."""
    limit, wanted = min(market.limit[p], market.wanted[p]), market.wanted[p]
    for g in range(len(held)):
        held[g] = 0
    for b in range(len(follow)):
        if follow[b] >= NEVER:
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
    """Put the leader with which the set is cheapest first; says what the placement costs."""
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
        if lead[b] >= NEVER or lead[b] - follow[picked[count - 1]] >= least:
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
                    goes = i  # they stand in order: the last of its rack is the dearest
        if lead[b] - follow[picked[goes]] < least:
            best, least, out = b, lead[b] - follow[picked[goes]], goes
    if best < 0:
        return float(whole)
    for i in range(out, 0, -1):
        picked[i] = picked[i - 1]
    picked[0] = best
    return float(whole + least)
