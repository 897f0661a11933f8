"""The planner: snapshot and goals in, plan out.

`plan_of` makes the plan; `figures_of` only its figures, without reasons, waves and lists, for
comparing hundreds of scenarios. Both are functions of their arguments alone: time comes from a
`clock` that the caller may pass in, random numbers from a seed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import ceil

import numpy as np

from kedge.balance.bounds import Bounds, BytesProof, bounds_of, bytes_proof, target_for
from kedge.balance.goals.goals import RESOURCES, Goals
from kedge.balance.goals.infeasible import amount_text, raise_limit_hint
from kedge.balance.goals.problem import Floats, Int32s
from kedge.balance.goals.task import Task, task_of
from kedge.balance.output.certificate import certificate_of
from kedge.balance.output.figures import count_bounds
from kedge.balance.output.log_dirs import log_dirs_of
from kedge.balance.output.plan_builder import (
    Rows,
    changed_rows,
    count_moves,
    final_assignment,
    loads_and_imbalance,
    lower_bound_seconds,
    moves_of,
    peak_disk,
    plan_of_rows,
    plan_waves,
    reasons_of,
    replay_waves,
)
from kedge.balance.output.waves import over_limit
from kedge.balance.search.solution import CurvePoint, Progress, Solution
from kedge.balance.search.solver import search
from kedge.errors import InfeasibleGoals
from kedge.model.snapshot import Snapshot
from kedge.plan import Plan, Summary

Clock = Callable[[], float]
OutOfTime = Callable[[], bool]
ProgressListener = Callable[[Progress], None]


@dataclass(frozen=True, slots=True, eq=False)
class Solved:
    """A task with its bounds and the best that was found."""

    task: Task
    bounds: Bounds
    found: Solution
    after: Int32s  # int32[P, K]: broker indexes, in the sequence of the plan

    @property
    def curve(self) -> tuple[CurvePoint, ...]:
        """How even the cluster is for so many bytes."""
        return self.found.curve


@dataclass(frozen=True, slots=True)
class PlanFigures:
    """The figures of a plan."""

    replicas_moved: int
    leaders_moved: int
    bytes_moved: int | None
    bytes_moved_lower_bound: int | None
    imbalance_before: dict[str, float]
    imbalance_after: dict[str, float]
    imbalance_lower_bound: dict[str, float]
    balanced: bool


def plan_of(
    snapshot: Snapshot,
    goals: Goals | None = None,
    seed: int = 0,
    *,
    clock: Clock | None = None,
    progress: ProgressListener | None = None,
    out_of_time: OutOfTime | None = None,
    use_all_time: bool = False,
    on_solved: Callable[[Solved], None] | None = None,
) -> Plan:
    """The plan that brings a cluster to its goals; refused where no plan can.

    Once `out_of_time` returns True, the search ends with the best assignment so far; with
    `use_all_time` it does not end before, unless it has come near the bound. `on_solved` is called
    with what the plan is made of, which has the curve of bytes against balance.
    """
    began = clock() if clock else 0.0
    solved = solve(
        snapshot,
        goals or Goals(),
        seed,
        progress=progress,
        out_of_time=out_of_time,
        use_all_time=use_all_time,
    )
    if on_solved is not None:
        on_solved(solved)
    plan = plan_of_solved(solved)
    if clock is None or plan.summary is None:
        return plan
    took = round(clock() - began, 3)
    return replace(plan, summary=replace(plan.summary, planning_seconds=took))


def figures_of(snapshot: Snapshot, goals: Goals | None = None, seed: int = 0) -> PlanFigures:
    """The figures of the plan that `plan_of` would make."""
    solved = solve(snapshot, goals or Goals(), seed)
    rows = _bare_rows(solved)
    replicas, leaders = count_moves(rows)
    _, before, after = loads_and_imbalance(solved.task, solved.after)
    _, proof = proven_bytes(solved)
    return PlanFigures(
        replicas_moved=replicas,
        leaders_moved=leaders,
        bytes_moved=_bytes(solved.task, rows),
        bytes_moved_lower_bound=_whole(solved.task, proof.bytes),
        imbalance_before=before,
        imbalance_after=after,
        imbalance_lower_bound=lower_bounds(solved),
        balanced=solved.found.balanced,
    )


def solve(
    snapshot: Snapshot,
    goals: Goals,
    seed: int = 0,
    *,
    progress: ProgressListener | None = None,
    out_of_time: OutOfTime | None = None,
    use_all_time: bool = False,
) -> Solved:
    """Bounds and search."""
    task = task_of(snapshot, goals)
    bounds = bounds_of(task.problem)
    if goals.above is not None:
        task, bounds = _only_above(task, bounds, goals.above)
    _refuse_full(task, bounds)
    found = search(
        task.problem,
        bounds,
        seed=seed,
        max_bytes=None if goals.max_bytes is None else float(goals.max_bytes),
        max_moves=goals.max_moves,
        max_moves_per_broker=goals.max_moves_per_broker,
        leaders_only=goals.leaders_only,
        progress=None if progress is None else _naming_columns(progress, task),
        out_of_time=out_of_time,
        use_all_time=use_all_time,
    )
    _refuse_unmet(task, found)
    _refuse_spent(task, found)
    after = final_assignment(task.problem.initial, found.replicas)
    return Solved(task, bounds, found, after)


def _naming_columns(progress: ProgressListener, task: Task) -> ProgressListener:
    """The search knows four columns of load; the listener is told which loads they are."""
    return lambda reached: progress(replace(reached, columns=task.columns))


def _only_above(task: Task, bounds: Bounds, share: float) -> tuple[Task, Bounds]:
    """Tolerances that ask for no more than every broker under this share of its capacity.

    Counts have no capacity to be under: they are left out.
    """
    level = bounds.level
    counted = np.array([name in ("disk", "in", "out", "cpu") for name in task.columns])
    counted &= np.isfinite(task.problem.hard_limit).any(axis=0) & (level > 0)
    tolerance = np.where(counted, share / np.where(level > 0, level, 1.0) - 1, 0.0)
    problem = replace(
        task.problem,
        tolerance=np.maximum(tolerance, 0.0),
        weight=np.where(counted, task.problem.weight, 0.0),
    )
    if not counted.any():
        raise InfeasibleGoals(
            "--above needs capacities, and no broker has one",
            hint="add capacities to the snapshot, or leave --above out",
        )
    if bool((counted & (level > share)).any()):
        place = int(np.argmax(np.where(counted, level, 0)))
        raise InfeasibleGoals(
            f"--above {100 * share:.0f}% cannot be met: the {task.columns[place]} of some broker "
            f"stays at {100 * level[place]:.1f} % or more",
            hint=f"use --above {ceil(100 * level[place])}% or more, or add brokers",
        )
    return replace(task, problem=problem), bounds_of(problem)


def _refuse_full(task: Task, bounds: Bounds) -> None:
    """Limits of capacity that no placement keeps, racks and single replicas considered."""
    problem = task.problem
    limit = problem.hard_limit[~problem.must_empty]
    for column, name in enumerate(task.columns):
        share = task.goals.limit_of(name) if name in RESOURCES else None
        if share is None or np.isinf(limit[:, column]).any() or bounds.floor[:, column].any():
            continue
        least = float(bounds.best[column])
        if least > share * (1 + 1e-9):
            raise InfeasibleGoals(
                f"The {name} limit is {100 * share:.0f} % of capacity; the fullest broker needs at "
                f"least {100 * least:.1f} %",
                hint=f"add brokers, or {raise_limit_hint(name, least)}",
            )


def _refuse_unmet(task: Task, found: Solution) -> None:
    """Hard goals that the search could not meet."""
    if found.feasible:
        return
    goals = task.goals
    least = "allow more bytes or moves" if goals.max_bytes or goals.max_moves else "add a broker"
    if found.left_behind:
        leaving = [b.id for b in task.snapshot.brokers if not b.state.stays]
        raise InfeasibleGoals(
            f"No broker has most for {found.left_behind} replicas of the brokers to be emptied "
            f"({', '.join(map(str, leaving[:5]))})",
            hint=f"{least}, or keep one of them",
        )
    if found.unplaced:
        what = f"No broker in an allowed rack has most for {found.unplaced} new replicas"
        raise InfeasibleGoals(what, hint=f"{least}, or ask for fewer replicas")
    most = goals.max_replicas_per_broker
    raise InfeasibleGoals(
        f"{found.over_max_replicas} brokers cannot come under {most} replicas",
        hint="raise --max-replicas-per-broker",
    )


def _refuse_spent(task: Task, found: Solution) -> None:
    """Budgets that what must be done already passes."""
    moves, most = found.replica_moves, task.goals.max_moves
    if most is not None and moves > most:
        raise InfeasibleGoals(
            f"{moves} replicas must move; --max-moves allows {most}",
            hint=f"use --max-moves {moves}",
        )
    size, most = ceil(found.bytes_moved), task.goals.max_bytes
    if most is not None and task.columns[0] == "disk" and size > most * (1 + 1e-9):
        raise InfeasibleGoals(
            f"{amount_text(size, 'disk')} must move; "
            f"--max-bytes allows {amount_text(most, 'disk')}",
            hint=f"use --max-bytes {ceil(size / 1e6)}MB",
        )


# ---- from the solution to a plan ----------------------------------------------------------------


def plan_of_solved(solved: Solved) -> Plan:
    """The plan with its waves, its reasons and its certificate."""
    task = solved.task
    dirs = log_dirs_of(task.snapshot, task.goals.limit_of("disk"))
    rows = changed_rows(task, solved.after, dirs)
    loads, before, after = loads_and_imbalance(task, solved.after)
    moves = moves_of(task, rows, dirs)
    waves = plan_waves(task, rows, moves, _excess(task, loads))
    schedule = replay_waves(task, moves, waves)
    target, proof = proven_bytes(solved)
    replicas, leaders = count_moves(rows)
    sized = task.columns[0] == "disk"
    summary = Summary(
        replicas_moved=replicas,
        leaders_moved=leaders,
        bytes_moved=_bytes(task, rows),
        bytes_moved_lower_bound=_whole(task, proof.bytes),
        imbalance_before=before,
        imbalance_after=after,
        imbalance_lower_bound=lower_bounds(solved),
        eta_seconds=round(schedule.seconds, 3) if sized else None,
        eta_lower_bound_seconds=round(lower_bound_seconds(task, moves), 3) if sized else None,
        peak_disk=peak_disk(task, dirs, moves, schedule) if sized else {},
    )
    crowded = over_limit(moves, schedule)
    plan = plan_of_rows(
        task,
        rows,
        reasons=reasons_of(task, rows, loads),
        waves=waves,
        summary=summary,
        certificate=certificate_of(task, solved.bounds, target, proof),
    )
    return replace(plan, notes=(*plan.notes, *_notes(solved, summary, int(crowded.sum()))))


def proven_bytes(solved: Solved) -> tuple[Floats, BytesProof]:
    """Load ÷ capacity reached, and the bytes that this must cost at least.

    A plan that keeps to a budget may stop short of its tolerances: its bytes are then compared
    with what reaching as much as it did must cost.
    """
    task, bounds, found = solved.task, solved.bounds, solved.found
    level, tolerance = bounds.level, task.problem.tolerance
    target = (1 + tolerance) * level
    if found.balanced:
        return target, bounds.proof
    reached = np.where(found.within, 1 + tolerance, np.maximum(found.reached, 1 + tolerance))
    target = target_for(task.problem, level, bounds.floor, reached - 1)
    stays = ~task.problem.must_empty
    if bool((found.loads > target * (1 + 1e-9))[stays].any()):  # beyond a hard limit as before
        free = replace(task.problem, hard_limit=np.full_like(target, np.inf))
        target = target_for(free, level, bounds.floor, reached - 1)
    return reached * level, bytes_proof(task.problem, target, level, bounds.mandatory_bytes)


def lower_bounds(solved: Solved) -> dict[str, float]:
    """Per resource the least imbalance that any placement has."""
    task, bounds = solved.task, solved.bounds
    stays = int((~task.problem.must_empty).sum())
    least = count_bounds(len(task.fixed), int(task.problem.wanted.sum()), stays)
    for column, name in enumerate(task.columns):
        if name and bounds.mean[column] > 0 and bounds.best[column] > 0:
            least[name] = float(bounds.best[column] / bounds.mean[column])
    return least


def _excess(task: Task, loads: Floats) -> Floats:
    """Bytes by which each broker is over its share of disk; everything on one that leaves."""
    problem = task.problem
    capacity, stays = problem.capacity[:, 0], ~problem.must_empty
    share = loads[:, 0].sum() / max(float(capacity[stays].sum()), 1e-300) * capacity
    return np.where(stays, loads[:, 0] - share, loads[:, 0])


def _bare_rows(solved: Solved) -> Rows:
    initial = solved.task.problem.initial
    width = solved.after.shape[1]
    initial = np.pad(initial, ((0, 0), (0, width - initial.shape[1])), constant_values=-1)
    row = np.flatnonzero((solved.after != initial).any(axis=1))
    return Rows(row, initial[row], solved.after[row], ())


def _bytes(task: Task, rows: Rows) -> int | None:
    """Bytes copied, in whole numbers; None where a size is unknown."""
    new = ~(rows.after[:, :, None] == rows.before[:, None, :]).any(axis=2) & (rows.after >= 0)
    copies = new.sum(axis=1)
    size = task.snapshot.size[rows.row]
    if bool((size[copies > 0] < 0).any()):
        return None
    return sum(map(int, (size * copies)[copies > 0].tolist()))


def _whole(task: Task, least: float) -> int | None:
    return int(least * (1 - 1e-12)) if task.columns[0] == "disk" else None


def _notes(solved: Solved, summary: Summary, crowded: int) -> list[str]:
    notes: list[str] = []
    task, found = solved.task, solved.found
    if not found.balanced:
        missed = [
            f"{name} {100 * (found.reached[column] - 1):.1f} %"
            for column, name in enumerate(task.columns)
            if name and not found.within[column]
        ]
        notes.append(f"tolerance not reached: {', '.join(missed)} above the best possible level")
    if found.interrupted:
        notes.append(
            "the search was stopped before its end: this is the best plan found by then"
            f"{_gap_text(summary)}"
        )
    if crowded:
        notes.append(f"{crowded} disks exceed their limit while the plan runs: see peak_disk")
    return notes


def _gap_text(summary: Summary) -> str:
    """How far the bytes moved are above their bound; nothing where there is no bound."""
    moved, least = summary.bytes_moved, summary.bytes_moved_lower_bound
    if moved is None or not least:
        return ""
    return f", {100 * (moved / least - 1):.1f} % above the bound of bytes moved"
