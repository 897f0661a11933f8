"""Check a plan against its snapshot: hard goals, figures of the summary, and bounds.

`plan.verify_plan` checks whether a plan can be executed; this checks whether its claims are true.
Every hard goal is checked, every figure of the summary is computed again, and the certificate is
evaluated (`certificate_check`). A finding names the figure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from kedge.balance.check.certificate_check import bound_faults, same
from kedge.balance.goals.goals import goals_from_json
from kedge.balance.goals.problem import Floats, Int32s
from kedge.balance.goals.task import Task, most_in_one_rack, task_of
from kedge.balance.output.figures import count_bounds
from kedge.balance.output.log_dirs import log_dirs_of
from kedge.balance.output.plan_builder import (
    Rows,
    count_moves,
    loads_and_imbalance,
    lower_bound_seconds,
    moves_of,
    peak_disk,
    replay_waves,
)
from kedge.errors import KedgeError
from kedge.model.columns import widened
from kedge.model.snapshot import Snapshot
from kedge.plan import Finding, Plan, Summary, rows_in

HARD = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """The cluster after a plan: replicas of every partition, and the rows that it changed."""

    task: Task
    rows: Rows
    after: Int32s  # int32[P, K], broker indexes
    loads: Floats  # float64[B, 4], the columns of the problem


def check_plan(plan: Plan, snapshot: Snapshot) -> list[Finding]:
    """Every false claim of a plan; the plan must be for this state of the snapshot."""
    try:
        task = task_of(snapshot, goals_from_json(plan.goals or {}))
    except KedgeError as refused:
        return [Finding("goals", "goals", f"cannot be met: {refused}")]
    end = apply_plan(plan, task)
    found = list(hard_faults(end))
    if plan.summary is not None:
        found += summary_faults(plan, plan.summary, end)
    if plan.certificate is not None:
        found += certificate_faults(plan.certificate, plan.summary, end)
    return found


def apply_plan(plan: Plan, task: Task) -> Outcome:
    """Apply a plan."""
    before, later = plan.assignments
    row = rows_in(task.snapshot.assignment, before)
    initial = widened(task.problem.initial, later.replicas.shape[1])
    after = initial.copy()
    after[row] = task.snapshot.broker_index(widened(later.replicas, initial.shape[1]))
    place = np.empty(len(row), np.int64)
    place[np.argsort(_given_rows(plan, task), kind="stable")] = np.arange(len(row))
    # in the sequence of the plan, which its waves refer to
    ordered = row[place]
    directories = tuple(each.log_dirs for each in plan.partitions)
    rows = Rows(ordered, initial[ordered], after[ordered], directories)
    return Outcome(task, rows, after, _loads(task, after))


def _given_rows(plan: Plan, task: Task) -> Int32s:
    index = {name: place for place, name in enumerate(task.snapshot.assignment.topics)}
    keys = [(index[each.tp.topic] << 32) | each.tp.partition for each in plan.partitions]
    return np.array(keys, np.int64)  # pyright: ignore[reportReturnType]


def _loads(task: Task, after: Int32s) -> Floats:
    problem = task.problem
    loads = np.zeros((problem.brokers, 4))
    for column in range(after.shape[1]):
        row = np.flatnonzero(after[:, column] >= 0)
        load = problem.leader_load if column == 0 else problem.follower_load
        np.add.at(loads, after[row, column], load[row])
    return loads


# ---- hard goals ---------------------------------------------------------------------------------


def hard_faults(end: Outcome) -> Iterator[Finding]:
    """Hard goals that the plan breaks."""
    task, problem, after = end.task, end.task.problem, end.after
    ids, names = task.snapshot.broker_ids, task.snapshot.assignment
    initial = widened(problem.initial, after.shape[1])
    there = after >= 0
    new = there & ~(after[:, :, None] == initial[:, None, :]).any(axis=2)
    gone = (initial >= 0) & ~(initial[:, :, None] == after[:, None, :]).any(axis=2)

    def at(row: int) -> str:
        return str(names.key(row))

    for row in end.rows.row[task.fixed[end.rows.row]].tolist()[:1]:
        yield Finding("goals", "partitions", f"{at(row)} is excluded and must not change")
    for row in np.flatnonzero(there.sum(axis=1) != problem.wanted).tolist()[:1]:
        what = f"{at(row)} ends with {int(there[row].sum())} replicas, {problem.wanted[row]} wanted"
        yield Finding("goals", "partitions", what)
    left = np.flatnonzero((there & problem.must_empty[after]).any(axis=1))
    if len(left):
        broker = ids[after[left[0]][problem.must_empty[after[left[0]]] & there[left[0]]][0]]
        yield Finding(
            "goals", "partitions", f"broker {broker} is to be emptied and keeps {at(int(left[0]))}"
        )
    for row in np.flatnonzero((new & ~problem.may_receive[after]).any(axis=1)).tolist()[:1]:
        yield Finding(
            "goals", "partitions", f"{at(row)} goes to a broker that must not receive replicas"
        )
    kept = gone & ~problem.may_give[initial] & ~problem.must_empty[initial]
    kept[(initial >= 0).sum(axis=1) > problem.wanted] = False  # one of them has to go
    for row in np.flatnonzero(kept.any(axis=1)).tolist()[:1]:
        yield Finding("goals", "partitions", f"{at(row)} leaves a broker that is excluded")
    racks = np.where(there, problem.rack[after], -1).astype(np.int32)
    for row in np.flatnonzero(most_in_one_rack(racks) > problem.rack_limit).tolist()[:1]:
        yield Finding("goals", "partitions", f"{at(row)} has more replicas in one rack than needed")
    count = np.bincount(after[there], minlength=problem.brokers)
    for broker in np.flatnonzero((count > problem.max_replicas) & ~problem.must_empty).tolist()[:1]:
        yield Finding(
            "goals", "partitions", f"broker {ids[broker]} ends with {count[broker]} replicas"
        )
    yield from _limit_faults(end, new)
    yield from _budget_faults(end, new, gone)


def _limit_faults(end: Outcome, new: object) -> Iterator[Finding]:
    problem = end.task.problem
    given = np.zeros(problem.brokers, np.bool_)
    given[end.after[np.asarray(new)]] = True
    before = _loads(end.task, problem.initial)
    most = np.maximum(problem.hard_limit, before) * (1 + HARD)
    for broker, column in np.argwhere(given[:, None] & (end.loads > most)).tolist()[:1]:
        name = end.task.columns[column]
        what = f"broker {end.task.snapshot.broker_ids[broker]} is filled beyond its limit of {name}"
        yield Finding("goals", "partitions", what)


def _budget_faults(end: Outcome, new: object, gone: object) -> Iterator[Finding]:
    goals, problem = end.task.goals, end.task.problem
    added, removed = np.asarray(new), np.asarray(gone)
    moved = float((added.sum(axis=1) * problem.size).sum())
    if goals.max_bytes is not None and end.task.columns[0] == "disk" and moved > goals.max_bytes:
        yield Finding("goals", "goals.max_bytes", f"{moved:.0f} bytes move, {goals.max_bytes} may")
    if goals.max_moves is not None and int(added.sum()) > goals.max_moves:
        what = f"{int(added.sum())} replicas move, {goals.max_moves} may"
        yield Finding("goals", "goals.max_moves", what)
    if goals.max_moves_per_broker is not None:
        most = goals.max_moves_per_broker
        initial = widened(problem.initial, end.after.shape[1])
        busiest = max(
            int(np.bincount(end.after[added], minlength=1).max()),
            int(np.bincount(initial[removed], minlength=1).max()),
        )
        if busiest > most:
            what = f"{busiest} replicas move at one broker, {most} may"
            yield Finding("goals", "goals.max_moves_per_broker", what)


# ---- figures ------------------------------------------------------------------------------------


def summary_faults(plan: Plan, claims: Summary, end: Outcome) -> Iterator[Finding]:
    """Figures of the summary that are wrong."""
    task = end.task
    replicas, leaders = count_moves(end.rows)
    yield from _differs("replicas_moved", claims.replicas_moved, replicas)
    yield from _differs("leaders_moved", claims.leaders_moved, leaders)
    copies = (
        (end.rows.after >= 0)
        & ~(end.rows.after[:, :, None] == end.rows.before[:, None, :]).any(axis=2)
    ).sum(axis=1)
    sizes = task.snapshot.size[end.rows.row]
    sizes_known = not bool((sizes[copies > 0] < 0).any())
    moved = sum(map(int, (sizes * copies).tolist())) if sizes_known else None
    yield from _differs("bytes_moved", claims.bytes_moved, moved)
    _, before, after = loads_and_imbalance(task, end.after)
    yield from _each_differs("imbalance_before", claims.imbalance_before, before)
    yield from _each_differs("imbalance_after", claims.imbalance_after, after)
    if plan.waves and task.columns[0] == "disk":
        dirs = log_dirs_of(task.snapshot, task.goals.limit_of("disk"))
        moves = moves_of(task, end.rows, dirs)
        schedule = replay_waves(task, moves, plan.waves)
        yield from _differs("eta_seconds", claims.eta_seconds, schedule.seconds)
        fastest = lower_bound_seconds(task, moves)
        yield from _differs("eta_lower_bound_seconds", claims.eta_lower_bound_seconds, fastest)
        peaks = {str(b): share for b, share in peak_disk(task, dirs, moves, schedule).items()}
        given = {str(b): share for b, share in claims.peak_disk.items()}
        yield from _each_differs("peak_disk", given, peaks)


def _differs(name: str, claimed: float | None, found: float | None) -> Iterator[Finding]:
    if claimed is None or (found is not None and _close(claimed, found)):
        return
    shown = "unknown" if found is None else f"{found:.6g}" if isinstance(found, float) else found
    yield Finding("summary", f"summary.{name}", f"says {claimed}, the plan has {shown}")


def _close(claimed: float, found: float) -> bool:
    if isinstance(claimed, int) and isinstance(found, int):
        return claimed == found
    return (
        same(claimed, found) or abs(claimed - found) <= 6e-4
    )  # seconds are written with three digits


def _each_differs(
    name: str, claims: Mapping[str, float], found: Mapping[str, float]
) -> Iterator[Finding]:
    if not claims:
        return
    for key in {**claims, **found}:
        if key not in claims:
            yield Finding("summary", f"summary.{name}", f"says nothing of {key}")
        elif key not in found or not np.isclose(claims[key], found[key], rtol=1e-6, atol=2e-6):
            yield Finding(
                "summary",
                f"summary.{name}.{key}",
                f"says {claims[key]:.6g}, the plan has {found.get(key, float('nan')):.6g}",
            )


def certificate_faults(
    claims: Mapping[str, object], summary: Summary | None, end: Outcome
) -> Iterator[Finding]:
    """Bounds that the certificate does not prove, or that the summary contradicts."""
    try:
        for fault in bound_faults(end.task, claims, end.loads):
            yield Finding("certificate", f"certificate.{fault.place}", fault.what)
        if summary is not None:
            yield from _bound_figures(claims, summary, end)
    except (KeyError, TypeError, ValueError, IndexError) as fault:
        yield Finding("certificate", "certificate", f"is malformed ({fault!r})")


def _bound_figures(
    claims: Mapping[str, object], summary: Summary, end: Outcome
) -> Iterator[Finding]:
    task, problem = end.task, end.task.problem
    stays = ~problem.must_empty
    least = count_bounds(len(task.fixed), int(problem.wanted.sum()), int(stays.sum()))
    total = problem.leader_load + (problem.wanted - 1)[:, None] * problem.follower_load
    mean = total.sum(axis=0) / problem.capacity[stays].sum(axis=0)
    best = np.array(claims["best"], np.float64)
    for column, name in enumerate(task.columns):
        if name and mean[column] > 0 and best[column] > 0:
            least[name] = float(best[column] / mean[column])
    yield from _each_differs("imbalance_lower_bound", summary.imbalance_lower_bound, least)
    proved, summed = float(str(claims["bytes"])), summary.bytes_moved_lower_bound
    if summed is not None and abs(summed - proved) > 1 + 2e-12 * proved:
        what = f"says {summed}, the certificate has {proved:.0f}"
        yield Finding("summary", "summary.bytes_moved_lower_bound", what)
