"""Local search: anneal the assignment where the cluster is small and bytes can still be saved.

Small clusters have few replicas on each broker, and greedy choices do not fit exactly. Where no
budget applies, annealing draws only what costs little at the prices of the bound (`price_anneal`),
twice with different temperatures, each attempt on a core of its own; the better one is kept. Else
it draws any step. Medium clusters are annealed for a shorter time, and only if draining needed more
bytes or moves than usual. Brokers that exceed their target by a rounding error after all that are
repaired last.

The number of steps is fixed by the size of the cluster, so the same seed gives the same assignment.
When the caller's time is over, the steps end early and the best state so far is kept. A caller that
sets a limit for small clusters gets longer and longer attempts until then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple

import numpy as np

from kedge.balance.goals.problem import Floats, is_small
from kedge.balance.search.kernels.state import EPSILON, HUGE, State, copied
from kedge.balance.search.price_anneal import (
    CHEAP_MOVE,
    COLDEST,
    Candidates,
    Setting,
    anneal_by_price,
    candidates_of,
    pairs,
)
from kedge.balance.search.search_run import MOVE_PRICE, SearchRun

STEPS_PER_PAIR = 250  # of `anneal_long`, for each pair of replica and broker
STAGES = ((3e-4, 3e-5), (3e-5, 1e-6))  # temperatures of annealing, half of the steps each
PENALTY = 0.7  # overload costs less than the bytes that cure it: draining does the rest
HIGHER_PENALTY = 1.5  # where draining could not
HIGHEST_PENALTY = 1e3  # where only rounding errors are left
MEDIUM = 300_000  # replicas up to which annealing, and a second undo, is worth its time
SHORT_STEPS = 3_000_000  # of `anneal_short`
UNUSUAL_BYTES, UNUSUAL_MOVES = 1.01, 0.06  # times the bound; of all replicas
REPAIR_TURNS, REPAIR_STEPS = 10, 200_000
RESIDUAL = 5e-3  # of a broker's load, all brokers together: as much is worth any move
NEAR_ENOUGH = 1.025  # of the bytes bound: not worth two more attempts
GOOD_ENOUGH = 1.003  # of the bytes bound: nothing to gain by annealing


ATTEMPTS = (
    (Setting(1e-4, 0.2, 10), Setting(4e-5, 0.3, 10)),
    (Setting(2e-4, 0.3, 10), Setting(5e-5, 0.5, 10)),  # where those did not come near the bound
)
LONGER = 3  # times the steps of the first attempts, then twice as many each time
LAST_ATTEMPT = Setting(1e-5, 2.0, 10)  # where a broker is still overloaded


class Merit(NamedTuple):
    """What a state is worth: the less the better; the first figure that differs decides."""

    brokers_over_limit: int
    overload: float
    cost: float


def local_search(run: SearchRun, seed: int, left: int) -> None:
    """Leave the best state found in the run; `left` brokers are overloaded before."""
    if not is_small(run.problem):
        if left:
            run.repair()
            left = repair_residual_violations(run, seed)
        if run.state.current.size <= MEDIUM and (left or _is_unusual(run)):
            _keep_better(run, left, partial(anneal_short, run, seed))
    elif run.ratio() < GOOD_ENOUGH and not left:
        pass
    elif _is_unrestricted(run):
        _anneal_by_price(run, seed, left)
    else:
        _keep_better(run, left, partial(anneal_long, run, seed))
    repair_residual_violations(run, seed)


def _keep_better(run: SearchRun, left: int, anneal: Callable[[], int]) -> None:
    """Anneal, unless the time is over; go back to the state before if that was better."""
    if run.must_stop():
        return
    before = _merit(run, left), copied(run.state)
    left = anneal()
    if before[0] < _merit(run, left):
        run.state = before[1]


def _is_unusual(run: SearchRun) -> bool:
    """Whether draining took more bytes or moves than usual: partitions too large for brokers."""
    moves = run.state.totals["moves"][0] - run.bounds.mandatory_moves
    return run.ratio() > UNUSUAL_BYTES or moves > UNUSUAL_MOVES * run.state.current.size


def anneal_short(run: SearchRun, seed: int) -> int:
    """Anneal the drained assignment for a second or two; how many brokers are overloaded then.

    Load is priced as in the bound.
    """
    run.set_targets(0.0)
    run.anneal(
        seed,
        STAGES[1],
        steps=SHORT_STEPS,
        penalty=PENALTY,
        move_price=MOVE_PRICE,
        load_price=run.scaled(run.bounds.multipliers),
    )
    return run.repair()


def anneal_long(run: SearchRun, seed: int) -> int:
    """Anneal the drained assignment; how many brokers are overloaded then.

    This is for problems without a linear program to start from.
    """
    steps = pairs(run.state) * STEPS_PER_PAIR // len(STAGES)
    for temperatures in STAGES:
        run.anneal(seed, temperatures, steps=steps, penalty=PENALTY, move_price=MOVE_PRICE)
    left = run.repair()
    if left and not run.must_stop():
        run.anneal(seed, STAGES[0], steps=steps, penalty=HIGHER_PENALTY, move_price=MOVE_PRICE)
        left = run.repair()
    return left


def repair_residual_violations(run: SearchRun, seed: int) -> int:
    """Anneal the replicas of the brokers that are slightly overloaded, until none is.

    No single move relieves these brokers, but some of the many exchanges do, or pass the rest on to
    a broker with more choice. A larger overload is left alone. Returns how many are overloaded.
    """
    run.set_targets(0.0)
    overload = _overload(run)
    for turn in range(REPAIR_TURNS):
        over = np.flatnonzero((overload > 0).any(axis=1)).astype(np.int32)
        if not len(over) or overload.sum() > RESIDUAL:
            return len(over)
        run.anneal(
            seed + turn,
            (COLDEST, COLDEST),
            steps=REPAIR_STEPS,
            penalty=HIGHEST_PENALTY,
            move_price=MOVE_PRICE,
            focus=over,
        )
        before, overload = overload, _overload(run)
        if overload.sum() >= before.sum():
            break
    return int((overload > 0).any(axis=1).sum())


def _overload(run: SearchRun) -> Floats:
    """float64[B, 4]: load beyond the target, as a share of a broker's load at the best level."""
    broker = run.state.broker
    load, target = broker["load"], broker["target"]
    beyond = load > target * (1 + EPSILON) + EPSILON
    overload = np.where(beyond, (load - target) * broker["scale"], 0.0)
    overload[run.problem.must_empty] = 0.0
    return overload


def _is_unrestricted(run: SearchRun) -> bool:
    """Whether every broker that stays may give its replicas, and no budget or count applies."""
    problem, totals = run.problem, run.state.totals[0]
    stays = ~problem.must_empty
    budgets = (totals["max_bytes"], totals["max_moves"], totals["max_moves_per_broker"])
    return bool(
        min(budgets) >= HUGE
        and problem.may_give[stays].all()
        and (problem.max_replicas >= len(problem.initial)).all()
    )


def _anneal_by_price(run: SearchRun, seed: int, left: int) -> None:
    """Anneal the drained assignment by the prices of the bound; keep the best state."""
    if run.must_stop():
        return
    candidates, first = candidates_of(run), run.state
    best = _merit(run, left), first
    near = GOOD_ENOUGH if run.use_all_time else NEAR_ENOUGH
    with ThreadPoolExecutor(len(ATTEMPTS[0])) as pool:
        for turn, settings in enumerate(_rounds(run.use_all_time)):
            if run.must_stop():
                break
            attempt = partial(_attempt, run, seed + turn // 2, first, candidates)
            best = min(best, *pool.map(attempt, settings), key=lambda one: one[0])
            run.state = best[1]
            run.report("anneal", 0.0, 0)
            if best[0].overload == 0 and run.ratio() < near:
                break
    if best[0].overload > 0 and not run.must_stop():
        last = _attempt(run, seed, best[1], candidates, LAST_ATTEMPT)
        run.state = min(best, last, key=lambda one: one[0])[1]
        run.report("anneal", 0.0, 0)


def _rounds(use_all_time: bool) -> Iterator[tuple[Setting, Setting]]:
    """The attempts, two at a time; without end where all of the time may be used."""
    yield from ATTEMPTS
    steps = LONGER * ATTEMPTS[0][0].steps_per_pair
    while use_all_time:
        one, other = ATTEMPTS[0]
        yield one._replace(steps_per_pair=steps), other._replace(steps_per_pair=steps)
        steps *= 2


def _attempt(
    run: SearchRun, seed: int, first: State, candidates: Candidates, setting: Setting
) -> tuple[Merit, State]:
    """Anneal a copy of a state by the prices of the bound; its merit, and the copy."""
    own = run.fork(first)
    own.set_targets(0.0)
    anneal_by_price(own, seed, setting, candidates)
    left = own.repair()
    return _merit(own, left), own.state


def _merit(run: SearchRun, left: int) -> Merit:
    broker, totals = run.state.broker, run.state.totals[0]
    load = broker["load"]
    passed = load > broker["hard_limit"] * (1 + EPSILON) + EPSILON
    overload = np.maximum(load - broker["target"], 0.0)[~run.problem.must_empty]
    cost = totals["bytes"] + CHEAP_MOVE * totals["moves"]
    over_limit = int(passed.any(axis=1).sum())
    return Merit(over_limit, float(overload.sum()) if left else 0.0, float(cost))
