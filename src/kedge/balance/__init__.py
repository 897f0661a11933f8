"""Even out what brokers carry, at the least movement of data, and prove how near that is.

Goal. From a snapshot (where replicas are, what they weigh) and goals (what to reach, what to leave
alone, what it may cost) to a plan. Operators fear bytes moved and moves made; so among assignments
that are even enough the cheapest wins, and beside its cost stands what no plan could undercut.

    goals          what is asked, as a value
    aim            the snapshot as the goals want it: brokers that leave, factors to reach
    from_snapshot  both as flat arrays (`problem`); `feasible` refuses what cannot be
    bounds         the best level of each resource, of all together, and the fewest bytes
    search         a better assignment, within the tolerance of those levels
    to_plan        that assignment as a plan: places, order (`waves`), `reasons`, figures
    certificate    what proves the bounds, inside the plan
    check          a plan held against its snapshot, sharing no code with bounds and search

Rules.

- Hard goals are kept or the demand is refused, in a sentence that names the goal in the way and
  the least change that would help. Nothing is half done.
- Tolerances count from the best *possible* maximum, not from the mean: a rack that must hold a
  copy of everything, or one huge partition, is no fault of the plan.
- Everything follows from the arguments: the same snapshot, goals and seed give the same plan.
- Putting another replica first moves no data, so leadership evens out what it can first.

Worked example, three equal brokers in three racks, replication factor 1, tolerance 10 %:

    broker   holds            disk   best level 40 → target 44
    1        a 50, b 20       70     26 over
    2        c 30             30
    3        d 20             20
    bytes    at least 26 must leave broker 1: proved by λ = 1, for λ·over = 26
    found    b → 3            50, 30, 40: 20 bytes are not enough, and no other set of replicas
                              of broker 1 is between 26 and 50; pigeonhole says 50 is the best level

    plan_of(snapshot, Goals(tolerance=0.1), seed=0)     the plan
    figures_of(snapshot, goals, seed)                   only what it would come to

Numba is imported when something is solved; goals and checks do without.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from kedge.balance.goals import Goals, NewBroker, goals_from_json

if TYPE_CHECKING:
    from kedge.balance.aim import aimed
    from kedge.balance.bounds import Bounds, bounds_of
    from kedge.balance.check import check_plan
    from kedge.balance.from_snapshot import Task, task_of
    from kedge.balance.holding import findings_of
    from kedge.balance.missing import missing_text
    from kedge.balance.planner import PlanFigures, Solved, figures_of, plan_of, solve
    from kedge.balance.problem import Problem
    from kedge.balance.solution import CurvePoint, Progress, Solution

_FETCHED_ON_USE = {
    "aimed": "aim",
    "Bounds": "bounds",
    "bounds_of": "bounds",
    "check_plan": "check",
    "missing_text": "missing",
    "Task": "from_snapshot",
    "task_of": "from_snapshot",
    "PlanFigures": "planner",
    "Solved": "planner",
    "figures_of": "planner",
    "findings_of": "holding",
    "plan_of": "planner",
    "solve": "planner",
    "Problem": "problem",
    "CurvePoint": "solution",
    "Progress": "solution",
    "Solution": "solution",
}


def __getattr__(name: str) -> Any:
    if name not in _FETCHED_ON_USE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"kedge.balance.{_FETCHED_ON_USE[name]}"), name)
    globals()[name] = value
    return value


__all__ = [
    "Bounds",
    "CurvePoint",
    "Goals",
    "NewBroker",
    "PlanFigures",
    "Problem",
    "Progress",
    "Solution",
    "Solved",
    "Task",
    "aimed",
    "bounds_of",
    "check_plan",
    "figures_of",
    "findings_of",
    "goals_from_json",
    "missing_text",
    "plan_of",
    "solve",
    "task_of",
]
