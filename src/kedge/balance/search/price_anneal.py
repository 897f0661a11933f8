"""Annealing by the prices of the bytes bound: its candidates, and one attempt."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kedge.balance.goals.problem import Bools, Floats, Int32s
from kedge.balance.search.kernels.state import HUGE, PriceAnnealParams, State
from kedge.balance.search.search_run import SearchRun, first_random_state

CANDIDATE_COST = 5e-3  # beyond the cheapest placement, of a broker's bytes
RACK_SLACK = 2e-3  # of a rack's targets: what its brokers need to be filled one by one
COLDEST = 1e-6
CHEAP_MOVE = 2e-4  # of a broker's bytes: what one move less is worth in a small cluster


class Setting(NamedTuple):
    """How one attempt anneals."""

    hot: float  # the first temperature
    penalty: float  # of load beyond a target
    steps_per_pair: int  # of replica and broker


class Candidates(NamedTuple):
    """The pairs of partition and broker that steps are drawn from."""

    partition: Int32s  # [N]
    broker: Int32s  # [N]
    is_candidate: Bools  # [P, B]


def candidates_of(run: SearchRun) -> Candidates:
    """The candidates at the prices of the bytes bound."""
    from kedge.balance.bounds.candidate_brokers import costs_beyond_cheapest

    bounds = run.bounds
    beyond = costs_beyond_cheapest(run.problem, bounds.target, run.unit, bounds.proof.prices)
    is_candidate = beyond <= CANDIDATE_COST
    partition, broker = np.nonzero(is_candidate)
    return Candidates(partition.astype(np.int32), broker.astype(np.int32), is_candidate)


def anneal_by_price(run: SearchRun, seed: int, setting: Setting, candidates: Candidates) -> None:
    """Anneal the run's state within its candidates."""
    from kedge.balance.search.kernels.price_anneal import anneal_by_price as kernel

    if not len(candidates.partition):
        return
    rack_load, rack_target, rack_scale = _racks(run)
    params = PriceAnnealParams(
        pair_partition=candidates.partition,
        pair_broker=candidates.broker,
        is_candidate=candidates.is_candidate,
        load_price=run.scaled(run.bounds.proof.prices),
        rack_load=rack_load,
        rack_target=rack_target,
        rack_scale=rack_scale,
        steps=setting.steps_per_pair * pairs(run.state),
        hot=setting.hot,
        cold=COLDEST,
        move_price=CHEAP_MOVE,
        penalty=setting.penalty,
    )
    rng, schedule = first_random_state(seed), np.array([params.hot, params.penalty])
    for first, last in run.slices(params.steps):
        kernel(run.state, rng, params, schedule, first, last)


def pairs(state: State) -> int:
    """Pairs of replica and broker, by which the number of steps is counted."""
    return state.current.size * len(state.status)


def _racks(run: SearchRun) -> tuple[Floats, Floats, Floats]:
    """Load and target of each rack [G, 4], and the scale of their overload [4].

    A rack of one broker has no target of its own: that of the broker says it all.
    """
    problem, broker = run.problem, run.state.broker
    stays, racks = ~problem.must_empty, int(problem.rack.max()) + 1
    load, target = np.zeros((racks, 4)), np.zeros((racks, 4))
    np.add.at(load, problem.rack, broker["load"])
    np.add.at(target, problem.rack[stays], np.minimum(broker["target"][stays], HUGE / racks**2))
    counted = (broker["scale"] > 0).any(axis=0)
    several = np.bincount(problem.rack[stays], minlength=racks) > 1
    target = np.where(several[:, None] & counted, target * (1 - RACK_SLACK), HUGE)
    finite = stays[:, None] & (broker["target"] < HUGE)
    mean = np.where(finite, broker["target"], 0.0).sum(axis=0) / np.maximum(finite.sum(axis=0), 1)
    return load, target, np.where(counted & (mean > 0), 1 / np.where(mean > 0, mean, 1.0), 0.0)
