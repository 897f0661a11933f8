"""The steps that a search is made of, on one state.

Budgets are kept by the kernels: with one used up, only what is free still happens.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Self

import numpy as np

from kedge.balance.bounds import CONFLICT, Bounds, load_units, target_for
from kedge.balance.layout import (
    HARMFUL,
    INVERSE,
    LOAD,
    MAX_BYTES,
    MOVABLE,
    NO_HARM,
    SIZE,
    TARGET,
    TOP,
    State,
)
from kedge.balance.problem import Floats, Int32s, Problem
from kedge.balance.solution import CurvePoint, Progress

SOME_HARM = 2.0  # a broker may be pushed beyond its target by less than half of what is relieved
BASE = 0.1  # relief that the multipliers give no price for is worth this much
MOVE_PRICE = 3e-4  # a move less is worth this share of a broker's bytes
ROUNDS = 10_000_000
TRIES = 4
REPAIRS = 4  # rounds of draining and bringing home where a broker is still beyond its target
SWEEPS, SWEEP_STEEP, SWEEP_EVEN = 3, 3.0, 3.0

Watch = Callable[[Progress], None]


def how_for(aim: float, brokers: int) -> Floats:
    """The drain's setting for a tolerance: the finer it is, the more shapes have to match.

    With room to spare, few large replicas do; close to the bound each broker's resources must be
    filled together, or some are full of one thing and none can take what is left. A fine aim
    needs many moves, so each is priced higher; many brokers make up for few candidates.
    """
    shape = min(max(0.008 / max(aim, 1e-3) ** 2, 1.0), 12.0)
    price = 1.4e-3 * min(max(0.02 / max(aim, 1e-3), 1.0), 2.0) ** 1.5
    place = min(max(shape / 10, 1.0), 2.0)
    candidates = min(max(4_000 // max(brokers, 1), 10), 8 + 0.6 * shape)
    return np.array([price, shape, place, candidates, NO_HARM, 1.0])


class Run:
    """One search on its way."""

    def __init__(self, problem: Problem, bounds: Bounds, watch: Watch | None) -> None:
        from kedge.balance.prepare import state_of

        self.problem, self.bounds, self.watch = problem, bounds, watch
        self.unit = load_units(problem, bounds.level)
        self.state = state_of(problem, bounds)
        self.weight = self.scaled(bounds.lam) + BASE
        self.aimed = float(problem.tolerance[problem.weight > 0].min(initial=1.0))
        self.how = how_for(self.aimed, problem.brokers)
        self.order = np.argsort(-problem.size, kind="stable").astype(np.int32)
        self.curve: list[CurvePoint] = []
        self.unplaced = 0

    def scaled(self, prices: Floats) -> Floats:
        """Bytes per unit of load [B, 4] in the units of the search."""
        return np.ascontiguousarray(prices * self.unit / self.unit[0])

    def fork(self, state: State) -> Self:
        """The same search on a copy of a state, for a try on a thread of its own."""
        other = copy.copy(self)
        other.state, other.how, other.curve, other.watch = copied(state), self.how.copy(), [], None
        return other

    def set_budget(self, *limits: float | None) -> None:
        """Bytes, moves and moves per broker that may not be passed."""
        for place, limit in enumerate(limits):
            if limit is not None:
                self.state.tally[MAX_BYTES + place] = limit / (self.unit[0] if place == 0 else 1.0)

    def leave_all(self) -> None:
        """No replica may move: leaders alone change."""
        from kedge.balance.state import fill_lists

        self.state.rule[:, MOVABLE] = 0
        fill_lists(self.state)

    def forced(self) -> None:
        """Do what must be done."""
        from kedge.balance.forced import do_forced

        self.how[HARMFUL] = 10.0
        wanted = self.problem.wanted.astype(np.int32)
        self.unplaced = int(do_forced(self.state, self.order, wanted, self.weight, self.how))
        self.tell("forced", 0.0, 0)

    def misfits(self) -> None:
        """Move what its broker could not carry even alone."""
        from kedge.balance.forced import place_misfits

        self.aim(np.zeros(4))
        place_misfits(self.state)

    def drain_to(self, epsilon: float, *, tries: int = 1) -> int:
        """Bring all brokers within a tolerance; says how many are not."""
        from kedge.balance.drain import drain

        state, how = self.state, self.how
        self.aim(np.full(4, epsilon))
        self.sweep()
        how[:] = how_for(self.aimed, self.problem.brokers)
        left = int(drain(state, self.weight, how, ROUNDS))
        for _ in range(tries):
            if not left:
                break
            how[HARMFUL] = SOME_HARM
            left = int(drain(state, self.weight, how, 100 * len(state.holder)))
            how[TOP] *= 1.5
        self.curve.append(self.point(epsilon))
        self.tell("drain", epsilon, left)
        return left

    def aim(self, epsilon: Floats) -> None:
        """Set the targets to a tolerance, or to the one asked for where that is wider."""
        from kedge.balance.prepare import scaled_target
        from kedge.balance.state import renew_spares

        tolerance = np.maximum(epsilon, self.problem.tolerance)
        target = target_for(self.problem, self.bounds.level, self.bounds.floor, tolerance)
        # whoever made the bounds may have asked for less than these tolerances
        self.state.of_brokers(TARGET)[:] = scaled_target(
            np.maximum(target, self.bounds.target), self.unit
        )
        renew_spares(self.state)

    def sweep(self) -> None:
        """Where resources conflict, choose leaders by price."""
        from kedge.balance.leaders import sweep_leaders

        if self.bounds.joint > CONFLICT:
            for _ in range(SWEEPS):
                sweep_leaders(self.state, self.order, SWEEP_STEEP, SWEEP_EVEN)

    def bring_home(self, times: int) -> None:
        """Undo what is not needed."""
        from kedge.balance.home import bring_home

        self.how[HARMFUL] = NO_HARM
        for _ in range(times):
            if not bring_home(self.state, self.order, self.weight, self.how, MOVE_PRICE):
                break
        self.tell("home", 0.0, 0)

    def restore_leaders(self) -> None:
        """Undo changes of leaders that nothing needs, those that weigh least first."""
        from kedge.balance.leaders import restore_leaders

        self.aim(np.zeros(4))
        lightest_first = self.order[::-1].copy()
        while restore_leaders(self.state, lightest_first):
            pass  # each makes room for others

    def repair(self, aim: float) -> int:
        """Drain and bring home in turn; says how many are still beyond their targets."""
        left = 1
        for _ in range(REPAIRS):
            left = self.drain_to(aim, tries=TRIES)
            self.curve.pop()
            self.bring_home(1)
            if not left:
                break
        return left

    def anneal(
        self,
        seed: int,
        heat: tuple[float, float],
        steep: float,
        toll: Floats,
        price: float,
        steps: int,
        focus: Int32s | None = None,
    ) -> None:
        """So many random steps while the heat falls from one to the other."""
        from kedge.balance.anneal import anneal

        state = self.state
        luck = np.array([seed * 2654435761 + 88172645463325252], np.uint64)
        rack = self.problem.rack
        racks = np.argsort(rack, kind="stable").astype(np.int32)
        numbers = np.arange(int(rack.max()) + 2, dtype=np.int32)
        starts = np.searchsorted(rack[racks], numbers).astype(np.int32)
        budget = state.tally[MAX_BYTES:].copy()
        # an exchange asks for its two moves one by one: the second needs room as well
        state.tally[MAX_BYTES:] -= [state.part[:, SIZE].max(initial=0.0), 1, 1]
        of = np.zeros(0, np.int32) if focus is None else focus
        anneal(state, luck, racks, starts, of, toll, steps, heat[0], heat[1], price, steep)
        state.tally[MAX_BYTES:] = budget
        self.tell("polish", 0.0, 0)

    def ratio(self) -> float:
        """Bytes moved ÷ bound."""
        least = max(self.bounds.bytes_lower_bound, 1e-9 * self.unit[0])
        return float(self.state.tally[0] * self.unit[0] / least)

    def point(self, epsilon: float) -> CurvePoint:
        """Where the search stands, as a point of the curve."""
        state = self.state
        filled = state.of_brokers(LOAD) * state.of_brokers(INVERSE)
        return CurvePoint(
            epsilon=epsilon,
            bytes_moved=float(state.tally[0] * self.unit[0]),
            replica_moves=round(state.tally[1]),
            leader_changes=int((state.now[:, 0] != state.home[:, 0]).sum()),
            reached=filled[~self.problem.must_empty].max(axis=0, initial=0.0),
        )

    def tell(self, phase: str, epsilon: float, over: int) -> None:
        """Let the caller know."""
        if self.watch is not None:
            moved = float(self.state.tally[0] * self.unit[0])
            least = self.bounds.bytes_lower_bound
            moves = round(self.state.tally[1])
            self.watch(Progress(phase, epsilon, moved, least, moves, over))


def copied(state: State) -> State:
    """The same state; what steps change is in arrays of its own."""
    return state._replace(
        broker=state.broker.copy(),
        holder=state.holder.copy(),
        now=state.now.copy(),
        items=state.items.copy(),
        cargo=state.cargo.copy(),
        spare=state.spare.copy(),
        pos=state.pos.copy(),
        tally=state.tally.copy(),
    )
