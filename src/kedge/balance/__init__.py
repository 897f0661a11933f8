"""Balance the load of brokers at the least movement of data, and prove how near that is to best.

From a snapshot (where replicas are, their sizes and rates) and goals (what to reach, what to leave
alone, what it may cost) to a plan. Bytes moved and moves made are what operators pay; so among
assignments that are even enough the cheapest wins, and its cost is shown beside a lower bound.

    goals      what is asked, and the arrays of the optimisation problem; refuses what cannot be met
    bounds     the best level of each resource, of all together, and the fewest bytes
    search     an assignment within the tolerance of those levels that moves few bytes
    output     that assignment as a plan: log directories, waves, reasons, figures, certificate
    check      a plan against its snapshot, sharing no code with bounds and search
    planner    all of it: snapshot and goals in, plan out

Rules.

- Hard goals are kept, or the request is refused in a sentence that names the goal that blocks it
  and the least change that would help. Nothing is half done.
- Tolerances are relative to the best *possible* maximum, not to the mean: a rack that must hold a
  copy of everything, or one huge partition, is no fault of the plan.
- The result is a function of the arguments: the same snapshot, goals and seed give the same plan.
- Putting another replica first moves no data, so leadership is balanced first.

Worked example, three equal brokers in three racks, replication factor 1, tolerance 10 %:

    broker   holds            disk   best level 40 → target 44
    1        a 50, b 20       70     26 over
    2        c 30             30
    3        d 20             20
    bytes    at least 26 must leave broker 1: proved by λ = 1, for λ·over = 26
    found    b → 3            50, 30, 40: 20 bytes are not enough, and no other set of replicas
                              of broker 1 is between 26 and 50; pigeonhole says 50 is the best level

    plan_of(snapshot, Goals(tolerance=0.1), seed=0)     the plan
    figures_of(snapshot, goals, seed)                   only its figures

Numba is imported when a problem is solved; goals and checks do without.
"""

from typing import TYPE_CHECKING

from kedge.balance.goals.goals import Goals, NewBroker, goals_from_json
from kedge.lazy_names import imported_on_use

if TYPE_CHECKING:
    from kedge.balance.bounds import Bounds, bounds_of
    from kedge.balance.check.plan_check import check_plan
    from kedge.balance.check.verify import verify_against
    from kedge.balance.goals.apply_goals import apply_goals
    from kedge.balance.goals.missing_loads import missing_loads_text
    from kedge.balance.goals.problem import Problem
    from kedge.balance.goals.task import Task, task_of
    from kedge.balance.planner import PlanFigures, Solved, figures_of, plan_of, solve
    from kedge.balance.search.solution import CurvePoint, Progress, Solution

_IMPORTED_ON_USE = {
    "apply_goals": "goals.apply_goals",
    "Bounds": "bounds",
    "bounds_of": "bounds",
    "check_plan": "check.plan_check",
    "missing_loads_text": "goals.missing_loads",
    "Task": "goals.task",
    "task_of": "goals.task",
    "PlanFigures": "planner",
    "Solved": "planner",
    "figures_of": "planner",
    "verify_against": "check.verify",
    "plan_of": "planner",
    "solve": "planner",
    "Problem": "goals.problem",
    "CurvePoint": "search.solution",
    "Progress": "search.solution",
    "Solution": "search.solution",
}


__getattr__ = imported_on_use(__name__, _IMPORTED_ON_USE)


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
    "apply_goals",
    "bounds_of",
    "check_plan",
    "figures_of",
    "goals_from_json",
    "missing_loads_text",
    "plan_of",
    "solve",
    "task_of",
    "verify_against",
]
