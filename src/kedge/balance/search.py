"""The search: forced work, drain by shrinking tolerances, bring home, anneal what is small.

    forced   what must move, moves                                          (`forced`)
    drain    from a wide tolerance down to the one asked for, step by step   (`drain`)
    home     what turned out not to be needed is undone                     (`home`)
    anneal   random steps, where the cluster is small enough to gain by it  (`anneal`)

Every step of the tolerance is a point of the curve of balance reached against bytes moved. Budgets
are kept by the kernels: with one used up, only what is free still happens. One setting serves all
sizes, and a seed is all the luck there is.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kedge.balance.bounds import CONFLICT, Bounds, load_units, target_for
from kedge.balance.layout import (
    BYTES,
    HAIR,
    HARD,
    HUGE,
    INVERSE,
    LOAD,
    MAX_BYTES,
    MOVABLE,
    MOVES,
    NO_HARM,
    SIZE,
    TARGET,
    State,
)
from kedge.balance.problem import Floats, Int32s, Problem, is_small
from kedge.balance.solution import CurvePoint, Progress, Solution

STEPS = (0.5, 0.3, 0.18, 0.1, 0.07, 0.05, 0.04, 0.03, 0.025, 0.02, 0.015, 0.0125, 0.01)

# what `how` holds, see `drain`
MOVE, SHAPE, PLACE, CANDIDATES, HARM, TOLL = 0, 1, 2, 3, 4, 5
SOME_HARM = 2.0  # a broker may be pushed beyond its target by less than half of what is relieved
BASE = 0.1  # relief that the multipliers give no price for is worth this much
MOVE_PRICE = 3e-4  # a move less is worth this share of a broker's bytes
ROUNDS = 10_000_000
TRIES = 4
REPAIRS = 4  # rounds of draining and bringing home where a broker is still beyond its target
STEPS_EACH = 250
TWICE = 300_000  # slots up to which a second look at what was moved is worth its time
STAGES = ((3e-4, 3e-5), (3e-5, 1e-6))  # how hot annealing is, from and to, half of its time each
STEEP = 0.7  # load beyond a target costs less than the bytes that cure it: draining does the rest
STEEPER = 1.5  # where draining could not
# with prices to go by: the heat to start from, how steep, steps for each replica and broker
GUIDED = ((1e-4, 0.2, 80), (4e-5, 0.3, 70))
INSISTING = (1e-5, 2.0, 25)  # where somebody is beyond a target still
COLDEST = 1e-6
CHEAP_MOVE = 1e-4  # small clusters have few moves: one less is worth this share of a broker's bytes
NEAR_ENOUGH = 1.02  # of the bytes bound: not worth a second try
SWEEPS, SWEEP_STEEP, SWEEP_EVEN = 3, 3.0, 3.0
GOOD_ENOUGH = 1.003  # of the bytes bound: nothing to gain by annealing

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


class _Run:
    """One search on its way."""

    def __init__(self, problem: Problem, bounds: Bounds, watch: Watch | None) -> None:
        from kedge.balance.prepare import state_of

        self.problem, self.bounds, self.watch = problem, bounds, watch
        self.unit = load_units(problem, bounds.level)
        self.state = state_of(problem, bounds)
        self.weight = np.ascontiguousarray(bounds.lam * self.unit / self.unit[0] + BASE)
        self.aimed = float(problem.tolerance[problem.weight > 0].min(initial=1.0))
        self.how = how_for(self.aimed, problem.brokers)
        self.order = np.argsort(-problem.size, kind="stable").astype(np.int32)
        self.curve: list[CurvePoint] = []
        self.unplaced = 0

    def set_budget(self, *limits: float | None) -> None:
        """Bytes, moves and moves per broker that may not be passed."""
        for place, limit in enumerate(limits):
            if limit is not None:
                self.state.tally[MAX_BYTES + place] = limit / (self.unit[0] if place == 0 else 1.0)

    def forced(self) -> None:
        """Do what must be done."""
        from kedge.balance.forced import do_forced

        self.how[HARM] = 10.0
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
            how[HARM] = SOME_HARM
            left = int(drain(state, self.weight, how, 100 * len(state.holder)))
            how[CANDIDATES] *= 1.5
        self.curve.append(self.point(epsilon))
        self.tell("drain", epsilon, left)
        return left

    def aim(self, epsilon: Floats) -> None:
        """Set the targets to a tolerance, or to the one asked for where that is wider."""
        from kedge.balance.prepare import scaled_target

        tolerance = np.maximum(epsilon, self.problem.tolerance)
        target = target_for(self.problem, self.bounds.level, self.bounds.floor, tolerance)
        # whoever made the bounds may have asked for less than these tolerances
        self.state.of_brokers(TARGET)[:] = scaled_target(
            np.maximum(target, self.bounds.target), self.unit
        )

    def sweep(self) -> None:
        """Where resources conflict, choose leaders by price."""
        from kedge.balance.leaders import sweep_leaders

        if self.bounds.joint > CONFLICT:
            for _ in range(SWEEPS):
                sweep_leaders(self.state, self.order, SWEEP_STEEP, SWEEP_EVEN)

    def bring_home(self, times: int) -> None:
        """Undo what is not needed."""
        from kedge.balance.home import bring_home

        self.how[HARM] = NO_HARM
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

    def polish(self, seed: int, left: int) -> None:
        """Spend more time where the cluster is small and there is something to gain."""
        if not is_small(self.problem) or (self.ratio() < GOOD_ENOUGH and not left):
            if left:
                self.repair(self.aimed)
            return
        if self.is_plain():
            self.mix(seed, left)
            return
        nothing = np.zeros((self.problem.brokers, 4))
        for hot, cold in STAGES:
            self.anneal(seed, (hot, cold), STEEP, nothing, MOVE_PRICE, STEPS_EACH // len(STAGES))
        left = self.repair(self.aimed)
        if left:
            self.anneal(seed, STAGES[0], STEEPER, nothing, MOVE_PRICE, STEPS_EACH // len(STAGES))
            self.repair(self.aimed)

    def is_plain(self) -> bool:
        """Every broker that stays may give what it holds, and no budget or count is in the way."""
        problem = self.problem
        stays = ~problem.must_empty
        budgets = self.state.tally[MAX_BYTES:]
        return bool(
            (budgets >= HUGE).all()
            and problem.may_give[stays].all()
            and (problem.room >= len(problem.home)).all()
        )

    def mix(self, seed: int, left: int) -> None:
        """Start from the cheapest mixture of placements and go by its prices; keep the best."""
        from kedge.balance.mixing import mixed
        from kedge.balance.prices import near_placements
        from kedge.balance.state import adopt

        prices = self.bounds.proof.prices
        market, kept = near_placements(self.problem, self.bounds.target, self.unit, prices)
        start = mixed(market, kept, CHEAP_MOVE)
        if ((start >= 0).sum(axis=1) != self.problem.wanted).any():
            return  # somebody's replicas have no place: what was drained is all there is
        best = self.merit(left), self.state
        first = copied(self.state)
        adopt(first, start)
        for setting in GUIDED:
            tried = self.attempt(seed, first, setting)
            best = min(best, tried, key=lambda one: one[0])
            if tried[0][1] == 0 and self.ratio() < NEAR_ENOUGH:
                break
        if best[0][1] > 0:
            best = min(best, self.attempt(seed, best[1], INSISTING), key=lambda one: one[0])
        self.state = best[1]

    def attempt(
        self, seed: int, first: State, setting: tuple[float, float, int]
    ) -> tuple[tuple[int, float, float], State]:
        """Anneal a copy of a state by the prices of the bound; what it is worth, and the copy."""
        hot, steep, each = setting
        self.state = copied(first)
        self.aim(np.zeros(4))
        toll = np.ascontiguousarray(self.bounds.proof.prices * self.unit / self.unit[0])
        self.anneal(seed, (hot, COLDEST), steep, toll, CHEAP_MOVE, each)
        return self.merit(self.repair(self.aimed)), self.state

    def merit(self, left: int) -> tuple[int, float, float]:
        """The less, the better: limits passed, load beyond targets, then cost."""
        state = self.state
        load = state.of_brokers(LOAD)
        passed = load > state.of_brokers(HARD) * (1 + HAIR) + HAIR
        beyond = np.maximum(load - state.of_brokers(TARGET), 0.0)[~self.problem.must_empty]
        cost = state.tally[BYTES] + CHEAP_MOVE * state.tally[MOVES]
        return int(passed.any(axis=1).sum()), float(beyond.sum()) if left else 0.0, float(cost)

    def anneal(
        self,
        seed: int,
        heat: tuple[float, float],
        steep: float,
        toll: Floats,
        price: float,
        each: int,
    ) -> None:
        """Random steps while the heat falls from one to the other."""
        from kedge.balance.anneal import anneal

        state = self.state
        luck = np.array([seed * 2654435761 + 88172645463325252], np.uint64)
        rack = self.problem.rack
        racks = np.argsort(rack, kind="stable").astype(np.int32)
        numbers = np.arange(int(rack.max()) + 2, dtype=np.int32)
        starts = np.searchsorted(rack[racks], numbers).astype(np.int32)
        steps = state.now.size * len(state.holder) * each
        budget = state.tally[MAX_BYTES:].copy()
        # an exchange asks for its two moves one by one: the second needs room as well
        state.tally[MAX_BYTES:] -= [state.part[:, SIZE].max(initial=0.0), 1, 1]
        anneal(state, luck, racks, starts, toll, steps, heat[0], heat[1], price, steep)
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


def search(
    problem: Problem,
    bounds: Bounds,
    *,
    seed: int = 0,
    max_bytes: float | None = None,
    max_moves: int | None = None,
    max_moves_per_broker: int | None = None,
    leaders_only: bool = False,
    progress: Watch | None = None,
) -> Solution:
    """The best assignment found within the budgets; forced work is done whatever they are."""
    run = _Run(problem, bounds, progress)
    if leaders_only:
        run.state.rule[:, MOVABLE] = 0
    else:
        run.forced()
    run.set_budget(max_bytes, max_moves, max_moves_per_broker)
    run.misfits()
    aim = run.aimed
    for epsilon in STEPS:
        if epsilon > aim * 1.05:
            run.drain_to(epsilon)
    left = run.drain_to(aim, tries=TRIES)
    if not leaders_only:
        run.bring_home(2 if problem.home.size <= TWICE else 1)
        run.polish(seed, left)
    run.restore_leaders()
    run.curve[-1] = run.point(aim)
    return _solution(run)


def _solution(run: _Run) -> Solution:
    """The state as an answer, its loads summed anew in the units of the problem."""
    problem, bounds, state = run.problem, run.bounds, run.state
    replicas = packed(state.now)
    loads = loads_of(problem, replicas)
    full = bounds.level * problem.capacity
    ratio = np.divide(loads, full, out=np.zeros_like(loads), where=full > 0)
    ratio[problem.must_empty] = 0.0
    over = loads > bounds.target * (1 + 1e-9) + 1e-9 * run.unit
    there = replicas >= 0
    held = np.bincount(replicas[there], minlength=problem.brokers)
    return Solution(
        replicas=replicas,
        loads=loads,
        reached=ratio.max(axis=0),
        within=np.asarray(~over[~problem.must_empty].any(axis=0)),
        bytes_moved=run.curve[-1].bytes_moved,
        replica_moves=run.curve[-1].replica_moves,
        leader_changes=run.curve[-1].leader_changes,
        unplaced=run.unplaced,
        left_behind=int(held[problem.must_empty].sum()),
        over_room=int((held > problem.room).sum()),
        curve=tuple(run.curve),
    )


def copied(state: State) -> State:
    """The same state; what steps change is in arrays of its own."""
    return state._replace(
        broker=state.broker.copy(),
        holder=state.holder.copy(),
        now=state.now.copy(),
        items=state.items.copy(),
        pos=state.pos.copy(),
        tally=state.tally.copy(),
    )


def packed(rows: Int32s) -> Int32s:
    """Rows with what pads them at their ends."""
    order = np.argsort(rows < 0, axis=1, kind="stable")
    return np.take_along_axis(rows, order, axis=1).astype(np.int32)


def loads_of(problem: Problem, replicas: Int32s) -> Floats:
    """float64[B, R]: what brokers carry under an assignment, column 0 leading."""
    loads = np.zeros((problem.brokers, problem.capacity.shape[1]))
    for column in range(replicas.shape[1]):
        load = problem.leader_load if column == 0 else problem.follower_load
        there = np.nonzero(replicas[:, column] >= 0)[0]
        at = replicas[there, column]
        for r in range(loads.shape[1]):
            loads[:, r] += np.bincount(at, load[there, r], problem.brokers)
    return loads


def warm() -> None:
    """Compile every kernel, or load it from the cache, on a cluster of three brokers."""
    from kedge.balance.bounds import bounds_of

    home = np.array([[0, 1], [0, 1], [0, 2]], np.int32)
    load = np.array([[3.0, 1.0, 1.0, 1.0]] * 3)
    yes = np.ones(3, np.bool_)
    tiny = Problem(
        rack=np.arange(3, dtype=np.int32),
        capacity=np.ones((3, 4)),
        must_empty=~yes,
        may_receive=yes,
        may_give=yes.copy(),
        room=np.full(3, 9, np.int32),
        topic=np.zeros(3, np.int32),
        home=home,
        wanted=np.full(3, 2, np.int32),
        movable=yes.copy(),
        leader_movable=yes.copy(),
        leader_load=load,
        follower_load=load * 0.5,
        rack_limit=np.ones(3, np.int32),
        weight=np.ones(4),
        tolerance=np.full(4, 0.01),
        hard_limit=np.full((3, 4), np.inf),
    )
    search(tiny, bounds_of(tiny))
