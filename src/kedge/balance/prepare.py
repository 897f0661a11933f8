"""From a problem to the arrays that the kernels work on, and back."""

from __future__ import annotations

import numpy as np

from kedge.balance.bounds import CONFLICT, Bounds, load_units
from kedge.balance.layout import HUGE, State
from kedge.balance.problem import Floats, Int32s, Problem
from kedge.balance.state import fill_lists


def state_of(problem: Problem, bounds: Bounds) -> State:
    """The search's state with every replica at home."""
    unit = load_units(problem, bounds.level)
    width = max(problem.home.shape[1], int(problem.wanted.max(initial=1)))
    home = np.full((len(problem.home), width), -1, np.int32)
    home[:, : problem.home.shape[1]] = problem.home
    counts = np.bincount(home[home >= 0], minlength=problem.brokers)
    # lists have room for what a broker may grow to; a full one takes no more
    longest = int(max(2 * counts.max(initial=0), 4 * problem.wanted.sum() // problem.brokers)) + 64
    state = State(
        broker=_brokers(problem, bounds, unit),
        holder=_holders(problem, longest),
        part=np.concatenate(
            [
                problem.leader_load / unit,
                problem.follower_load / unit,
                problem.size[:, None] / unit[0],
            ],
            axis=1,
        ),
        rule=np.stack([problem.rack_limit, problem.movable, problem.leader_movable], axis=1).astype(
            np.int32
        ),
        home=home,
        now=home.copy(),
        items=np.zeros((problem.brokers, longest), np.int32),
        cargo=np.zeros((problem.brokers, longest, 5)),
        spare=np.zeros((problem.brokers, 4)),
        pos=np.zeros(home.size, np.int32),
        tally=np.array([0.0, 0.0, HUGE, HUGE, HUGE]),
    )
    fill_lists(state)
    return state


def scaled_target(target: Floats, unit: Floats) -> Floats:
    """Targets as the kernels want them: finite."""
    return np.minimum(target / unit, HUGE)


def _brokers(problem: Problem, bounds: Bounds, unit: Floats) -> Floats:
    """The floats of each broker, scaled; see `State`."""
    scaled = np.maximum(problem.capacity * bounds.level / unit, 1e-12)
    return np.concatenate(
        [
            np.zeros_like(scaled),
            scaled_target(bounds.target, unit),
            np.minimum(problem.hard_limit / unit, HUGE),
            np.where(bounds.level > 0, 1 / scaled, 0.0),
            _prices(bounds, unit),
        ],
        axis=1,
    )


def _prices(bounds: Bounds, unit: Floats) -> Floats:
    """What load costs on each kind of broker where kinds matter, above or below the average."""
    if bounds.joint <= CONFLICT:
        return np.zeros_like(bounds.target)
    used = bounds.kind[:, None] >= 0
    prices = bounds.prices[bounds.kind] * unit * 4 * len(bounds.kind)
    return np.where(used, prices - prices.mean(axis=0, where=used), 0.0)


def _holders(problem: Problem, longest: int) -> Int32s:
    """The whole numbers and the permissions of each broker; see `State`."""
    none = np.zeros(problem.brokers, np.int32)
    room = np.minimum(problem.room, longest)
    receives = problem.may_receive & ~problem.must_empty
    rows = [problem.rack, none, room, none, none, problem.must_empty, receives, problem.may_give]
    return np.stack(rows, axis=1).astype(np.int32)
