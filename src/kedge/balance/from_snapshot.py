"""From a snapshot and goals to the arrays that the search sees.

The problem has four columns of load, and not every cluster tells four loads. What is told stands
in its own column; a column that is free takes a count, so that there is always something to even
out:

    told               columns
    sizes and rates    disk  in        out      cpu
    sizes only         disk  replicas  leaders  (cpu, nothing)
    nothing            replicas, leaders: each replica weighs one, and so moving it costs one

A partition that is fixed (excluded, outside the choice, being moved by somebody) keeps its
replicas and its leader; its load counts all the same.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kedge.balance.aim import (
    aimed,
    capacities_of,
    fixed_rows,
    moving_rows,
    rack_index,
    rack_limits,
    resting_place,
)
from kedge.balance.feasible import refuse_infeasible
from kedge.balance.goals import RESOURCES, Goals
from kedge.balance.missing import has_rates, missing_text
from kedge.balance.problem import Bools, Floats, Int32s, Problem
from kedge.model.columns import row_lengths, widened
from kedge.model.snapshot import CpuModel, Snapshot

NO_LIMIT = np.iinfo(np.int32).max


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """A problem with the names behind its numbers.

    `snapshot` is the cluster as the goals want it, `columns` names the four columns of load
    (empty: nothing there), `fixed` are the partitions that stay, `notes` what was left out.
    """

    goals: Goals
    snapshot: Snapshot
    columns: tuple[str, str, str, str]
    fixed: Bools
    problem: Problem
    notes: tuple[str, ...]


def task_of(snapshot: Snapshot, goals: Goals) -> Task:
    """What is to be solved; a demand that cannot be met is refused."""
    target = aimed(snapshot, goals)
    fixed = fixed_rows(target, goals)
    columns = columns_of(target, goals)
    problem = _problem(target, goals, fixed, columns)
    refuse_infeasible(target, goals, fixed, problem)
    return Task(goals, target, columns, fixed, problem, tuple(_notes(target, goals)))


def columns_of(snapshot: Snapshot, goals: Goals) -> tuple[str, str, str, str]:
    """Which load stands in each column of the problem."""
    rates = has_rates(snapshot)
    sizes = bool((snapshot.size > 0).any())  # where all is empty, there is nothing to weigh
    told = [sizes, rates, rates, rates and snapshot.cpu_model is not None]
    columns = [name if is_told else "" for name, is_told in zip(RESOURCES, told, strict=True)]
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
    home_ids = resting_place(snapshot)
    present = row_lengths(home_ids).astype(np.int32)
    wanted = np.where(fixed | goals.leaders_only, present, snapshot.wanted_rf).astype(np.int32)
    width = max(1, home_ids.shape[1], int(wanted.max(initial=0)))
    home = snapshot.broker_index(widened(home_ids, width))
    stays = np.array([broker.state.stays for broker in snapshot.brokers], np.bool_)
    excluded = np.isin(snapshot.broker_ids, sorted(goals.exclude_brokers))
    rack, _ = rack_index(snapshot.brokers)
    capacity, limit = _capacities(snapshot, goals, columns)
    leader, follower = _loads(snapshot, columns, wanted)
    names = [name or "cpu" for name in columns]
    movable = ~fixed & (not goals.leaders_only)
    room = goals.max_replicas_per_broker or NO_LIMIT
    return Problem(
        rack=rack,
        capacity=capacity,
        must_empty=~stays & (not goals.leaders_only),
        may_receive=stays & ~excluded,
        may_give=~excluded,
        room=np.full(len(stays), room, np.int32),
        topic=snapshot.assignment.topic.copy(),
        home=home,
        wanted=wanted,
        movable=movable,
        leader_movable=~fixed,
        leader_load=leader,
        follower_load=follower,
        rack_limit=_rack_limit(rack, stays, home, wanted, movable, excluded, goals.strict_racks),
        weight=np.array([goals.weight_of(name) if name else 0.0 for name in columns]),
        tolerance=np.array([goals.tolerance_of(name) for name in names]),
        hard_limit=limit,
    )


def _capacities(
    snapshot: Snapshot, goals: Goals, columns: tuple[str, str, str, str]
) -> tuple[Floats, Floats]:
    """What each broker can carry, and how far it may be filled; brokers that do not say are equal.

    Where only some brokers tell, the others are taken to be the median of those.
    """
    told = np.array([capacities_of(broker) for broker in snapshot.brokers], np.float64)
    told = told.reshape(len(snapshot.brokers), len(RESOURCES))
    capacity, limit = np.ones_like(told), np.full_like(told, np.inf)
    for place, name in enumerate(columns):
        if name not in RESOURCES:
            continue
        column = told[:, place]
        known = column > 0
        if known.any():
            capacity[:, place] = np.where(known, column, np.median(column[known]))
        if (share := goals.limit_of(name)) is not None:
            limit[known, place] = share * column[known]
    return capacity, limit


def _loads(
    snapshot: Snapshot, columns: tuple[str, str, str, str], factor: Int32s
) -> tuple[Floats, Floats]:
    """float64[P, 4] each: what a leader and what a follower carries, with `factor` replicas."""
    cpu = snapshot.cpu_model or CpuModel(0.0, 0.0, 0.0)
    size = np.maximum(snapshot.size, 0).astype(np.float64)
    taken, consumed = np.nan_to_num(snapshot.bytes_in), np.nan_to_num(snapshot.bytes_out)
    sent = consumed + (factor - 1) * taken
    none, one = np.zeros(len(size)), np.ones(len(size))
    of_leader = {
        "disk": size,
        "in": taken,
        "out": sent,
        "cpu": cpu.leader_in * taken + cpu.leader_out * sent,
        "replicas": one,
        "leaders": one,
    }
    of_follower = {
        "disk": size,
        "in": taken,
        "cpu": cpu.follower_in * taken,
        "replicas": one,
    }
    leader = np.stack([of_leader.get(name, none) for name in columns], axis=1)
    return leader, np.stack([of_follower.get(name, none) for name in columns], axis=1)


def _rack_limit(
    rack: Int32s,
    stays: Bools,
    home: Int32s,
    wanted: Int32s,
    movable: Bools,
    excluded: Bools,
    strict: bool,
) -> Int32s:
    """One rack's share of each partition; what cannot be moved may stay as crowded as it is."""
    racks = int(rack.max(initial=-1)) + 1
    sizes = np.bincount(rack[stays], minlength=racks).astype(np.int32)
    limit = np.ones_like(wanted) if strict else rack_limits(sizes, wanted)
    stuck = (home >= 0) & (~movable[:, None] | excluded[home])
    if not bool(stuck.any()):
        return limit
    return np.maximum(limit, crowding(np.where(stuck, rack[home], -1))).astype(np.int32)


def crowding(racks: Int32s) -> Int32s:
    """How many entries of each row are in the rack that has most of them; -1 is none."""
    same = (racks[:, :, None] == racks[:, None, :]) & (racks >= 0)[:, :, None]
    return same.sum(axis=2).max(axis=1, initial=0).astype(np.int32)


def _notes(snapshot: Snapshot, goals: Goals) -> list[str]:
    notes: list[str] = []
    if missing := missing_text(snapshot):
        notes.append(f"{missing}; they are not balanced")
    if count := int(moving_rows(snapshot).sum()):
        notes.append(f"{count} partitions are already moving and are left as they are")
    untold = int((snapshot.size < 0).sum())
    if 0 < untold < len(snapshot):
        notes.append(f"{untold} partitions have no known size and count as empty")
    if untold == len(snapshot) and untold:
        notes.append("no sizes are known: the numbers of replicas and leaders are balanced")
    racks = {broker.rack for broker in snapshot.brokers if broker.state.stays}
    if None in racks and len(racks) > 1:
        notes.append("some brokers have no rack: racks are ignored")
    leaving = [broker.id for broker in snapshot.brokers if not broker.state.stays]
    if goals.leaders_only and leaving:
        notes.append(f"--leaders-only: broker {leaving[0]} is to be emptied and keeps its replicas")
    return notes
