"""Polish: more time where the cluster is small and there is something to gain.

Small clusters have few replicas on each broker, and greedy choices do not fit exactly. With prices
of the bound to go by, annealing starts from the cheapest mixture of placements (`mixing`), twice
with different heat, each try on a core of its own; the better one is kept. Without, it starts from
what was drained. So it does in middling clusters, if draining took more than it usually does.
Whoever is beyond a target after all that, by a hair, is insisted on.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple

import numpy as np

from kedge.balance.layout import (
    BYTES,
    HAIR,
    HARD,
    HUGE,
    INVERSE,
    LOAD,
    MAX_BYTES,
    MOVES,
    TARGET,
    State,
)
from kedge.balance.problem import Floats, is_small
from kedge.balance.steps import MOVE_PRICE, Run, copied

STEPS_EACH = 250
STAGES = ((3e-4, 3e-5), (3e-5, 1e-6))  # how hot annealing is, from and to, half of its time each
STEEP = 0.7  # load beyond a target costs less than the bytes that cure it: draining does the rest
STEEPER = 1.5  # where draining could not
STEEPEST = 1e3  # where only a hair is left
COLDEST = 1e-6
CHEAP_MOVE = 2e-4  # small clusters have few moves: one less is worth this share of a broker's bytes
MIDDLING = 300_000  # replicas up to which a walk, and a second look homewards, is worth its time
SMOOTHING = 3_000_000  # steps of it
CLUMSY_BYTES, CLUMSY_MOVES = 1.01, 0.06  # times the bound, of all replicas
INSIST_TURNS, INSIST_STEPS = 10, 200_000  # where somebody is beyond a target after all
BY_A_HAIR = 5e-3  # of what a broker can bear: as much is worth any move
NEAR_ENOUGH = 1.025  # of the bytes bound: not worth two more tries
GOOD_ENOUGH = 1.003  # of the bytes bound: nothing to gain by annealing


class Setting(NamedTuple):
    """How a try goes about it."""

    hot: float  # the heat to start from
    steep: float  # what load beyond a target costs
    each: int  # steps for each replica and broker


GUIDED = (Setting(1e-4, 0.2, 36), Setting(4e-5, 0.3, 36))
ONCE_MORE = (Setting(2e-4, 0.3, 20), Setting(2e-5, 0.5, 20))  # where those were not lucky
INSISTING = Setting(1e-5, 2.0, 25)  # where somebody is beyond a target still


class Merit(NamedTuple):
    """What a state is worth: the less, the better, the first figure that differs decides."""

    brokers_over_limit: int
    beyond: float
    cost: float


def polish(run: Run, seed: int, left: int) -> None:
    """Leave the best state found in the run; `left` brokers are beyond their targets before."""
    if not is_small(run.problem):
        if left:
            run.repair(run.aimed)
            left = insist(run, seed)
        if run.state.now.size <= MIDDLING and (left or _is_clumsy(run)):
            _smooth(run, seed)
    elif run.ratio() < GOOD_ENOUGH and not left:
        pass
    elif _is_plain(run):
        _mix(run, seed, left)
    else:
        _wander(run, seed)
    insist(run, seed)


def _is_clumsy(run: Run) -> bool:
    """More bytes or more moves than draining usually takes: partitions too large for brokers."""
    moves = run.state.tally[MOVES] - run.bounds.forced_moves
    return run.ratio() > CLUMSY_BYTES or moves > CLUMSY_MOVES * run.state.now.size


def _smooth(run: Run, seed: int) -> None:
    """A walk of a second or two from what was drained, load priced as the bound has it."""
    run.aim(np.zeros(4))
    toll = run.scaled(run.bounds.lam)
    run.anneal(seed, STAGES[1], STEEP, toll, MOVE_PRICE, SMOOTHING)
    run.repair(run.aimed)


def insist(run: Run, seed: int) -> int:
    """A walk among what the brokers hold that are beyond their targets, until none is.

    Says how many still are.

    They are beyond by a hair, all together, or it is not for want of luck: no move relieves them,
    but some exchange of the millions that there are does, or shifts what is left to a broker that
    has more to choose from.
    """
    run.aim(np.zeros(4))
    nothing, heat = np.zeros((run.problem.brokers, 4)), (COLDEST, COLDEST)
    beyond = _beyond(run)
    for turn in range(INSIST_TURNS):
        over = np.flatnonzero((beyond > 0).any(axis=1)).astype(np.int32)
        if not len(over) or beyond.sum() > BY_A_HAIR:
            return len(over)
        run.anneal(seed + turn, heat, STEEPEST, nothing, MOVE_PRICE, INSIST_STEPS, over)
        before, beyond = beyond, _beyond(run)
        if beyond.sum() >= before.sum():
            break
    return int((beyond > 0).any(axis=1).sum())


def _beyond(run: Run) -> Floats:
    """float64[B, 4]: how far each broker that stays is beyond its targets, in shares of its all."""
    load, target, inverse = map(run.state.of_brokers, (LOAD, TARGET, INVERSE))
    beyond = np.where(load > target * (1 + HAIR) + HAIR, (load - target) * inverse, 0.0)
    beyond[run.problem.must_empty] = 0.0
    return beyond


def _wander(run: Run, seed: int) -> None:
    """A long walk from what was drained, where there is no mixture to start from."""
    nothing = np.zeros((run.problem.brokers, 4))
    steps = _paces(run) * STEPS_EACH // len(STAGES)
    for heat in STAGES:
        run.anneal(seed, heat, STEEP, nothing, MOVE_PRICE, steps)
    if run.repair(run.aimed):
        run.anneal(seed, STAGES[0], STEEPER, nothing, MOVE_PRICE, steps)
        run.repair(run.aimed)


def _paces(run: Run) -> int:
    """What steps are counted in: one for each replica and broker."""
    return run.state.now.size * len(run.state.holder)


def _is_plain(run: Run) -> bool:
    """Every broker that stays may give what it holds, and no budget or count is in the way."""
    problem = run.problem
    stays = ~problem.must_empty
    budgets = run.state.tally[MAX_BYTES:]
    return bool(
        (budgets >= HUGE).all()
        and problem.may_give[stays].all()
        and (problem.room >= len(problem.home)).all()
    )


def _mix(run: Run, seed: int, left: int) -> None:
    """Start from the cheapest mixture of placements and go by its prices; keep the best."""
    from kedge.balance.mixing import mixed
    from kedge.balance.prices import near_placements
    from kedge.balance.state import adopt

    prices = run.bounds.proof.prices
    market, kept = near_placements(run.problem, run.bounds.target, run.unit, prices)
    start = mixed(market, kept, run.scaled(prices), CHEAP_MOVE)
    if ((start >= 0).sum(axis=1) != run.problem.wanted).any():
        return  # somebody's replicas have no place: what was drained is all there is
    first = copied(run.state)
    adopt(first, start)
    best = _merit(run, left), run.state
    with ThreadPoolExecutor(len(GUIDED)) as pool:
        for settings in (GUIDED, ONCE_MORE):
            tries = pool.map(partial(_attempt, run, seed, first), settings)
            best = min(best, *tries, key=lambda one: one[0])
            run.state = best[1]
            if best[0].beyond == 0 and run.ratio() < NEAR_ENOUGH:
                break
    if best[0].beyond > 0:
        run.state = min(best, _attempt(run, seed, best[1], INSISTING), key=lambda one: one[0])[1]
    run.tell("polish", 0.0, 0)


def _attempt(run: Run, seed: int, first: State, setting: Setting) -> tuple[Merit, State]:
    """Anneal a copy of a state by the prices of the bound; what it is worth, and the copy."""
    own = run.fork(first)
    own.aim(np.zeros(4))
    toll = run.scaled(run.bounds.proof.prices)
    own.anneal(
        seed, (setting.hot, COLDEST), setting.steep, toll, CHEAP_MOVE, setting.each * _paces(run)
    )
    left = own.repair(run.aimed)
    return _merit(own, left), own.state


def _merit(run: Run, left: int) -> Merit:
    state = run.state
    load = state.of_brokers(LOAD)
    passed = load > state.of_brokers(HARD) * (1 + HAIR) + HAIR
    beyond = np.maximum(load - state.of_brokers(TARGET), 0.0)[~run.problem.must_empty]
    cost = state.tally[BYTES] + CHEAP_MOVE * state.tally[MOVES]
    over_limit = int(passed.any(axis=1).sum())
    return Merit(over_limit, float(beyond.sum()) if left else 0.0, float(cost))
