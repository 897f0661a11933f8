"""The arrays of the search, built from a problem and its bounds."""

from __future__ import annotations

import numpy as np

from kedge.balance.bounds import CONFLICT, Bounds, load_units
from kedge.balance.goals.problem import Floats, Problem
from kedge.balance.search.kernels.replica_moves import fill_lists
from kedge.balance.search.kernels.state import (
    BROKER,
    BROKER_STATUS,
    CACHED_REPLICA,
    HUGE,
    PARTITION,
    PARTITION_RULE,
    TOTALS,
    Records,
    State,
)


def initial_state(problem: Problem, bounds: Bounds) -> State:
    """The state of the search with every replica on its initial broker."""
    unit = load_units(problem, bounds.level)
    width = max(problem.initial.shape[1], int(problem.wanted.max(initial=1)))
    initial = np.full((len(problem.initial), width), -1, np.int32)
    initial[:, : problem.initial.shape[1]] = problem.initial
    counts = np.bincount(initial[initial >= 0], minlength=problem.brokers)
    # lists have room for what a broker may grow to; a full one takes no more
    longest = int(max(2 * counts.max(initial=0), 4 * problem.wanted.sum() // problem.brokers)) + 64
    totals = np.zeros(1, TOTALS)
    for budget in ("max_bytes", "max_moves", "max_moves_per_broker"):
        totals[budget] = HUGE
    state = State(
        broker=_brokers(problem, bounds, unit),
        status=_status(problem, longest),
        partition=_partitions(problem, unit),
        rule=_rules(problem),
        initial=initial,
        current=initial.copy(),
        slots=np.zeros((problem.brokers, longest), np.int32),
        replica_cache=np.zeros((problem.brokers, longest), CACHED_REPLICA),
        slack=np.zeros((problem.brokers, 4)),
        slot_position=np.zeros(initial.size, np.int32),
        totals=totals,
    )
    fill_lists(state)
    return state


def scaled_target(target: Floats, unit: Floats) -> Floats:
    """Targets in the units of the search, finite."""
    return np.minimum(target / unit, HUGE)


def _brokers(problem: Problem, bounds: Bounds, unit: Floats) -> Records:
    scaled = np.maximum(problem.capacity * bounds.level / unit, 1e-12)
    made = np.zeros(problem.brokers, BROKER)
    made["target"] = scaled_target(bounds.target, unit)
    made["hard_limit"] = np.minimum(problem.hard_limit / unit, HUGE)
    made["scale"] = np.where(bounds.level > 0, 1 / scaled, 0.0)
    made["price"] = _prices(bounds, unit)
    return made


def _prices(bounds: Bounds, unit: Floats) -> Floats:
    """The joint bound's price of load on each broker less the mean; 0 where nothing conflicts."""
    if bounds.joint <= CONFLICT:
        return np.zeros_like(bounds.target)
    used = bounds.kind[:, None] >= 0
    prices = bounds.prices[bounds.kind] * unit * 4 * len(bounds.kind)
    return np.where(used, prices - prices.mean(axis=0, where=used), 0.0)


def _status(problem: Problem, longest: int) -> Records:
    made = np.zeros(problem.brokers, BROKER_STATUS)
    made["rack"] = problem.rack
    made["max_replicas"] = np.minimum(problem.max_replicas, longest)
    made["must_empty"] = problem.must_empty
    made["may_receive"] = problem.may_receive & ~problem.must_empty
    made["may_give"] = problem.may_give
    return made


def _partitions(problem: Problem, unit: Floats) -> Records:
    made = np.zeros(len(problem.initial), PARTITION)
    made["leader"] = problem.leader_load / unit
    made["follower"] = problem.follower_load / unit
    made["size"] = problem.size / unit[0]
    return made


def _rules(problem: Problem) -> Records:
    made = np.zeros(len(problem.initial), PARTITION_RULE)
    made["rack_limit"] = problem.rack_limit
    made["movable"] = problem.movable
    made["leader_movable"] = problem.leader_movable
    return made
