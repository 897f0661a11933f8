"""From a snapshot and goals to the arrays of the optimisation problem.

The problem has four columns of load, and not every snapshot has four loads. A known load is in its
own column; a free column takes a count, so that there is always something to balance:

    known              columns
    sizes and rates    disk  in        out      cpu
    sizes only         disk  replicas  leaders  (cpu, nothing)
    nothing            replicas, leaders: each replica weighs one, and so moving it costs one

A partition that is fixed (excluded, not chosen, being reassigned already) keeps its
replicas and its leader; its load counts all the same.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kedge.balance.goals.apply_goals import (
    apply_goals,
    fixed_partitions,
    moving_partitions,
    rack_index,
    rack_limits,
    settled_assignment,
)
from kedge.balance.goals.capacity import filled_capacities
from kedge.balance.goals.goals import RESOURCES, Goals
from kedge.balance.goals.infeasible import refuse_infeasible
from kedge.balance.goals.missing_loads import has_rates, missing_loads_text
from kedge.balance.goals.problem import Bools, Floats, Int32s, Problem
from kedge.model.columns import row_lengths, widened
from kedge.model.snapshot import CpuModel, Snapshot

NO_LIMIT = np.iinfo(np.int32).max


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """A problem with the snapshot and the goals that it was made from.

    `snapshot` has the goals applied, `columns` names the four columns of load
    (empty: nothing there), `fixed` are the partitions that stay, `notes` what was left out.
    """

    goals: Goals
    snapshot: Snapshot
    columns: tuple[str, str, str, str]
    fixed: Bools
    problem: Problem
    notes: tuple[str, ...]


def task_of(snapshot: Snapshot, goals: Goals) -> Task:
    """The task of a snapshot and goals; goals that cannot be met are refused."""
    target = apply_goals(snapshot, goals)
    fixed = fixed_partitions(target, goals)
    columns = load_columns(target, goals)
    problem = _problem(target, goals, fixed, columns)
    refuse_infeasible(target, goals, fixed, problem)
    return Task(goals, target, columns, fixed, problem, tuple(_notes(target, goals)))


def load_columns(snapshot: Snapshot, goals: Goals) -> tuple[str, str, str, str]:
    """The load in each column of the problem."""
    rates = has_rates(snapshot)
    sizes = bool((snapshot.size > 0).any())  # where all sizes are 0, replicas are counted
    known = [sizes, rates, rates, rates and snapshot.cpu_model is not None]
    columns = [name if is_known else "" for name, is_known in zip(RESOURCES, known, strict=True)]
    if not sizes:
        columns[0] = "replicas"
    for count in ("replicas", "leaders"):
        wanted = goals.weight_of(count) > 0 and (not rates or count in goals.weights)
        if wanted and count not in columns and "" in columns:
            columns[columns.index("")] = count
    return columns[0], columns[1], columns[2], columns[3]


def _problem(
    snapshot: Snapshot, goals: Goals, fixed: Bools, columns: tuple[str, str, str, str]
) -> Problem:
    initial_ids = settled_assignment(snapshot)
    present = row_lengths(initial_ids).astype(np.int32)
    wanted = np.where(fixed | goals.leaders_only, present, snapshot.wanted_rf).astype(np.int32)
    width = max(1, initial_ids.shape[1], int(wanted.max(initial=0)))
    initial = snapshot.broker_index(widened(initial_ids, width))
    stays = np.array([broker.state.stays for broker in snapshot.brokers], np.bool_)
    excluded = np.isin(snapshot.broker_ids, sorted(goals.exclude_brokers))
    rack, _ = rack_index(snapshot.brokers)
    capacity, limit = _capacities(snapshot, goals, columns)
    leader, follower = _loads(snapshot, columns, wanted)
    names = [name or "cpu" for name in columns]
    movable = ~fixed & (not goals.leaders_only)
    most = goals.max_replicas_per_broker or NO_LIMIT
    return Problem(
        rack=rack,
        capacity=capacity,
        must_empty=~stays & (not goals.leaders_only),
        may_receive=stays & ~excluded,
        may_give=~excluded,
        max_replicas=np.full(len(stays), most, np.int32),
        topic=snapshot.assignment.topic.copy(),
        initial=initial,
        wanted=wanted,
        movable=movable,
        leader_movable=~fixed,
        leader_load=leader,
        follower_load=follower,
        rack_limit=_rack_limit(rack, stays, initial, wanted, movable, excluded, goals.strict_racks),
        weight=np.array([goals.weight_of(name) if name else 0.0 for name in columns]),
        tolerance=np.array([goals.tolerance_of(name) for name in names]),
        hard_limit=limit,
    )


def _capacities(
    snapshot: Snapshot, goals: Goals, columns: tuple[str, str, str, str]
) -> tuple[Floats, Floats]:
    """float64[B, 4] each: what each broker can carry, and how far it may be filled."""
    filled, known = filled_capacities(snapshot.brokers)
    capacity, limit = np.ones_like(filled), np.full_like(filled, np.inf)
    for column, name in enumerate(columns):
        if name not in RESOURCES:
            continue
        capacity[:, column] = filled[:, column]
        if (share := goals.limit_of(name)) is not None:
            own = known[:, column]
            limit[own, column] = share * filled[own, column]
    return capacity, limit


def _loads(
    snapshot: Snapshot, columns: tuple[str, str, str, str], factor: Int32s
) -> tuple[Floats, Floats]:
    """float64[P, 4] each: what a leader and what a follower carries, with `factor` replicas."""
    cpu = snapshot.cpu_model or CpuModel(0.0, 0.0, 0.0)
    size = np.maximum(snapshot.size, 0).astype(np.float64)
    received, consumed = np.nan_to_num(snapshot.bytes_in), np.nan_to_num(snapshot.bytes_out)
    sent = consumed + (factor - 1) * received
    none, one = np.zeros(len(size)), np.ones(len(size))
    of_leader = {
        "disk": size,
        "in": received,
        "out": sent,
        "cpu": cpu.leader_in * received + cpu.leader_out * sent,
        "replicas": one,
        "leaders": one,
    }
    of_follower = {
        "disk": size,
        "in": received,
        "cpu": cpu.follower_in * received,
        "replicas": one,
    }
    leader = np.stack([of_leader.get(name, none) for name in columns], axis=1)
    return leader, np.stack([of_follower.get(name, none) for name in columns], axis=1)


def _rack_limit(
    rack: Int32s,
    stays: Bools,
    initial: Int32s,
    wanted: Int32s,
    movable: Bools,
    excluded: Bools,
    strict: bool,
) -> Int32s:
    """Most replicas of each partition in one rack; fixed replicas may stay crowded."""
    racks = int(rack.max(initial=-1)) + 1
    sizes = np.bincount(rack[stays], minlength=racks).astype(np.int32)
    limit = np.ones_like(wanted) if strict else rack_limits(sizes, wanted)
    stuck = (initial >= 0) & (~movable[:, None] | excluded[initial])
    if not bool(stuck.any()):
        return limit
    return np.maximum(limit, most_in_one_rack(np.where(stuck, rack[initial], -1))).astype(np.int32)


def most_in_one_rack(racks: Int32s) -> Int32s:
    """How many entries of each row are in the rack that has most of them; -1 is none."""
    same = (racks[:, :, None] == racks[:, None, :]) & (racks >= 0)[:, :, None]
    return same.sum(axis=2).max(axis=1, initial=0).astype(np.int32)


def _notes(snapshot: Snapshot, goals: Goals) -> list[str]:
    notes: list[str] = []
    if missing := missing_loads_text(snapshot):
        notes.append(f"{missing}; they are not balanced")
    if count := int(moving_partitions(snapshot).sum()):
        notes.append(f"{count} partitions are already moving and are left as they are")
    unknown = int((snapshot.size < 0).sum())
    if 0 < unknown < len(snapshot):
        notes.append(f"{unknown} partitions have no known size and count as empty")
    if unknown == len(snapshot) and unknown:
        notes.append("no sizes are known: the numbers of replicas and leaders are balanced")
    racks = {broker.rack for broker in snapshot.brokers if broker.state.stays}
    if None in racks and len(racks) > 1:
        notes.append("some brokers have no rack: racks are ignored")
    leaving = [broker.id for broker in snapshot.brokers if not broker.state.stays]
    if goals.leaders_only and leaving:
        notes.append(f"--leaders-only: broker {leaving[0]} is to be emptied and keeps its replicas")
    return notes
