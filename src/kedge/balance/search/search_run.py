"""One search: its state, and the steps that change it.

Budgets are kept by the kernels: with one used up, only what is free still happens.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Self

import numpy as np
import numpy.typing as npt

from kedge.balance.bounds import CONFLICT, Bounds, load_units, target_for
from kedge.balance.goals.problem import Floats, Int32s, Problem
from kedge.balance.search.kernels.state import (
    NO_OVERLOAD,
    AnnealParams,
    DrainParams,
    State,
    copied,
)
from kedge.balance.search.solution import CurvePoint, Progress

SOME_OVERLOAD = 2.0  # as `overload_penalty`: a broker may take half of the relief as overload
LITTLE_OVERLOAD = 10.0
BASE_RELIEF = 0.1  # value of relief that the multipliers of the bound give no price for
MOVE_PRICE = 3e-4  # of a broker's bytes: what one move less is worth
ROUNDS = 10_000_000
DRAIN_RETRIES = 4
REPAIRS = 4  # rounds of draining and undoing where a broker is still overloaded
LEADER_SWEEPS = 3
STEPS_AT_ONCE = 500_000  # of annealing: about a tenth of a second

UInt64s = npt.NDArray[np.uint64]
ProgressListener = Callable[[Progress], None]
OutOfTime = Callable[[], bool]


def drain_params(tolerance: float, relief_value: Floats) -> DrainParams:
    """The parameters of `drain` for a tolerance: the finer it is, the more shapes have to match.

    At a wide tolerance, few large replicas suffice; close to the bound each broker's resources must
    be filled together, or some are full of one resource and cannot take what is left. A fine
    tolerance needs many moves, so each has a higher price; many brokers make up for few candidates.
    """
    fine = max(tolerance, 1e-3)
    shape = min(max(0.008 / fine**2, 1.0), 12.0)
    return DrainParams(
        relief_value=relief_value,
        move_price=1.4e-3 * min(max(0.02 / fine, 1.0), 2.0) ** 1.5,
        shape_weight=shape,
        fill_weight=min(max(shape / 10, 1.0), 2.0),
        candidates=min(max(4_000 // max(len(relief_value), 1), 10), 8 + 0.6 * shape),
        overload_penalty=NO_OVERLOAD,
    )


class SearchRun:
    """The state of a search with the steps that it is made of."""

    def __init__(
        self,
        problem: Problem,
        bounds: Bounds,
        listener: ProgressListener | None = None,
        out_of_time: OutOfTime | None = None,
        *,
        use_all_time: bool = False,
    ) -> None:
        from kedge.balance.search.initial_state import initial_state

        self.problem, self.bounds, self.listener = problem, bounds, listener
        self.out_of_time = out_of_time or _never
        self.use_all_time = use_all_time
        self.interrupted = False
        self.unit = load_units(problem, bounds.level)
        self.state = initial_state(problem, bounds)
        self.tolerance = float(problem.tolerance[problem.weight > 0].min(initial=1.0))
        relief_value = self.scaled(bounds.multipliers) + BASE_RELIEF
        self.drain_params = drain_params(self.tolerance, relief_value)
        self.largest_first = np.argsort(-problem.size, kind="stable").astype(np.int32)
        self.curve: list[CurvePoint] = []
        self.unplaced = 0

    def scaled(self, prices: Floats) -> Floats:
        """Prices [B, 4] in bytes per unit of load, in the units of the search."""
        return np.ascontiguousarray(prices * self.unit / self.unit[0])

    def fork(self, state: State) -> Self:
        """The same search on a copy of a state, for an attempt on a thread of its own."""
        other = copy.copy(self)
        other.state, other.curve, other.listener = copied(state), [], None
        return other

    def set_budgets(
        self, max_bytes: float | None, max_moves: int | None, max_moves_per_broker: int | None
    ) -> None:
        """Set the budgets; None is no limit."""
        totals = self.state.totals
        if max_bytes is not None:
            totals["max_bytes"] = max_bytes / self.unit[0]
        if max_moves is not None:
            totals["max_moves"] = max_moves
        if max_moves_per_broker is not None:
            totals["max_moves_per_broker"] = max_moves_per_broker

    def freeze_replicas(self) -> None:
        """Let no replica move: leaders alone change."""
        from kedge.balance.search.kernels.replica_moves import fill_lists

        self.state.rule["movable"] = 0
        fill_lists(self.state)

    def make_mandatory_moves(self) -> None:
        """Move what must move whatever the balance."""
        from kedge.balance.search.kernels.mandatory_moves import make_mandatory_moves

        params = self.drain_params._replace(overload_penalty=LITTLE_OVERLOAD)
        wanted = self.problem.wanted.astype(np.int32)
        self.unplaced = int(make_mandatory_moves(self.state, self.largest_first, wanted, params))
        self.report("mandatory", 0.0, 0)

    def move_oversized_replicas(self) -> None:
        """Move replicas that exceed their broker's target even alone."""
        from kedge.balance.search.kernels.mandatory_moves import move_oversized_replicas

        self.set_targets(0.0)
        move_oversized_replicas(self.state)

    def drain_to(self, tolerance: float, *, retries: int = 1) -> int:
        """Bring all brokers within a tolerance; how many are not."""
        from kedge.balance.search.kernels.drain import drain

        state, params = self.state, self.drain_params
        self.set_targets(tolerance)
        self.choose_leaders()
        left = int(drain(state, params, ROUNDS))
        params = params._replace(overload_penalty=SOME_OVERLOAD)
        for _ in range(retries):
            if not left:
                break
            left = int(drain(state, params, 100 * len(state.status)))
            params = params._replace(candidates=params.candidates * 1.5)
        self.curve.append(self.point(tolerance))
        self.report("drain", tolerance, left)
        return left

    def set_targets(self, tolerance: float) -> None:
        """Set the targets to a tolerance, or to the one of the goals where that is wider."""
        from kedge.balance.search.initial_state import scaled_target
        from kedge.balance.search.kernels.replica_moves import refresh_all_slack

        wider = np.maximum(tolerance, self.problem.tolerance)
        target = target_for(self.problem, self.bounds.level, self.bounds.floor, wider)
        # the caller's bounds may have wider targets than these tolerances give
        self.state.broker["target"] = scaled_target(
            np.maximum(target, self.bounds.target), self.unit
        )
        refresh_all_slack(self.state)

    def choose_leaders(self) -> None:
        """Where resources conflict, choose leaders by the prices of the joint bound."""
        from kedge.balance.search.kernels.leadership import choose_leaders

        if self.bounds.joint > CONFLICT:
            for _ in range(LEADER_SWEEPS):
                choose_leaders(self.state, self.largest_first)

    def undo_unneeded_moves(self, times: int) -> None:
        """Return moved replicas to their initial brokers where targets allow it."""
        from kedge.balance.search.kernels.undo_moves import undo_unneeded_moves

        for _ in range(times):
            if not undo_unneeded_moves(
                self.state, self.largest_first, self.drain_params, MOVE_PRICE
            ):
                break
        self.report("undo", 0.0, 0)

    def restore_leaders(self) -> None:
        """Undo changes of leaders that no target needs, the smallest partitions first."""
        from kedge.balance.search.kernels.leadership import restore_leaders

        self.set_targets(0.0)
        smallest_first = self.largest_first[::-1].copy()
        while restore_leaders(self.state, smallest_first):
            pass  # each makes room for others

    def repair(self) -> int:
        """Drain and undo in turn; how many brokers are still overloaded."""
        left = 1
        for _ in range(REPAIRS):
            left = self.drain_to(self.tolerance, retries=DRAIN_RETRIES)
            self.curve.pop()
            self.undo_unneeded_moves(1)
            if not left:
                break
        return left

    def anneal(
        self,
        seed: int,
        temperatures: tuple[float, float],
        *,
        steps: int,
        penalty: float,
        move_price: float,
        load_price: Floats | None = None,
        focus: Int32s | None = None,
    ) -> None:
        """Take so many random steps while the temperature falls from the first to the second."""
        from kedge.balance.search.kernels.anneal import anneal

        state, rack = self.state, self.problem.rack
        by_rack = np.argsort(rack, kind="stable").astype(np.int32)
        numbers = np.arange(int(rack.max()) + 2, dtype=np.int32)
        params = AnnealParams(
            rack_brokers=by_rack,
            rack_starts=np.searchsorted(rack[by_rack], numbers).astype(np.int32),
            focus=np.zeros(0, np.int32) if focus is None else focus,
            load_price=np.zeros((self.problem.brokers, 4)) if load_price is None else load_price,
            steps=steps,
            hot=temperatures[0],
            cold=temperatures[1],
            move_price=move_price,
            penalty=penalty,
        )
        totals = state.totals
        budgets = totals.copy()
        # an exchange checks its two moves one by one: the second needs its share of the budget too
        totals["max_bytes"] -= state.partition["size"].max(initial=0.0)
        totals["max_moves"] -= 1
        totals["max_moves_per_broker"] -= 1
        rng, schedule = first_random_state(seed), np.array([params.hot, params.penalty])
        for first, last in self.slices(steps):
            anneal(state, rng, params, schedule, first, last)
        for budget in ("max_bytes", "max_moves", "max_moves_per_broker"):
            totals[budget] = budgets[budget]

    def slices(self, steps: int) -> Iterator[tuple[int, int]]:
        """First and last of a few steps of annealing at a time, until the time is over."""
        for first in range(0, steps, STEPS_AT_ONCE):
            yield first, min(first + STEPS_AT_ONCE, steps)
            self.report("anneal", 0.0, 0)
            if self.must_stop():
                return

    def must_stop(self) -> bool:
        """Whether the time is over: what is optional is left out from then on."""
        self.interrupted = self.interrupted or self.out_of_time()
        return self.interrupted

    @property
    def bytes_moved(self) -> float:
        """Bytes that the assignment found so far copies."""
        return float(self.state.totals["bytes"][0] * self.unit[0])

    @property
    def moves(self) -> int:
        """Replicas that the assignment found so far copies."""
        return round(self.state.totals["moves"][0])

    def ratio(self) -> float:
        """Bytes moved ÷ bound."""
        least = max(self.bounds.bytes_lower_bound, 1e-9 * self.unit[0])
        return float(self.bytes_moved / least)

    def point(self, tolerance: float) -> CurvePoint:
        """The assignment found so far as a point of the curve."""
        state = self.state
        filled = state.broker["load"] * state.broker["scale"]
        return CurvePoint(
            epsilon=tolerance,
            bytes_moved=self.bytes_moved,
            replica_moves=self.moves,
            leader_changes=int((state.current[:, 0] != state.initial[:, 0]).sum()),
            reached=filled[~self.problem.must_empty].max(axis=0, initial=0.0),
        )

    def report(self, phase: str, tolerance: float, over: int) -> None:
        """Tell the listener how far the search is."""
        if self.listener is not None:
            least, curve = self.bounds.bytes_lower_bound, tuple(self.curve)
            moved, moves = self.bytes_moved, self.moves
            self.listener(Progress(phase, tolerance, moved, least, moves, over, curve))


def first_random_state(seed: int) -> UInt64s:
    """The state of the random numbers of annealing at its first step."""
    return np.array([seed * 2654435761 + 88172645463325252], np.uint64)


def _never() -> bool:
    return False
