"""From what the search found to the plan that people review."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from kedge.balance.figures import capacities, imbalance, loads_of, staying
from kedge.balance.from_snapshot import Task, crowding
from kedge.balance.places import Places, chosen_places, evened
from kedge.balance.problem import Bools, Floats, Int32s
from kedge.balance.reasons import grounds_of, reason
from kedge.balance.waves import Moves, Schedule, scheduled, shortest_seconds, waves_of
from kedge.model import BrokerId, TopicPartition
from kedge.model.columns import Int64s, lists_of_matrix, widened
from kedge.model.snapshot import Snapshot
from kedge.plan import ANY_LOG_DIR, Plan, Summary, reassignments_of, replica_lists


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """The partitions that change: rows of the snapshot, before and after as broker indexes."""

    row: Int64s
    before: Int32s
    after: Int32s
    log_dirs: tuple[tuple[str, ...], ...]

    def __len__(self) -> int:
        return len(self.row)


# ---- what changes -------------------------------------------------------------------------------


def final_lists(home: Int32s, found: Int32s) -> Int32s:
    """The replicas found, in an order that differs from home only where it has to.

    The leader is first, then what stays in its old order, then what is new; a partition whose
    replicas and leader stay is as it was.
    """
    width = max(home.shape[1], found.shape[1])
    home, found = widened(home, width), widened(found, width)
    equal = (found[:, :, None] == home[:, None, :]) & (found >= 0)[:, :, None]
    kept = equal.any(axis=2)
    last: Int64s = np.arange(width, dtype=np.int64) + (width + 1)
    place: Int64s = np.where(kept, equal.argmax(axis=2) + 1, last)
    place = np.where(found >= 0, place, 3 * width)
    place[:, 0] = 0
    ordered = np.take_along_axis(found, np.argsort(place, axis=1, kind="stable"), axis=1)
    same = (kept.sum(axis=1) == (home >= 0).sum(axis=1)) & (kept | (found < 0)).all(axis=1)
    same &= found[:, 0] == home[:, 0]
    return np.where(same[:, None], home, ordered).astype(np.int32)


def changed_rows(task: Task, after: Int32s, places: Places) -> Rows:
    """The rows of a plan, log directories chosen."""
    home = widened(task.problem.home, after.shape[1])
    place_of = places.of_replicas(task.snapshot, home)
    size = task.problem.size if task.columns[0] == "disk" else np.zeros(len(home))
    stays = (home[:, :, None] == after[:, None, :]).any(axis=2) & (home >= 0)
    used = used_at(places, np.where(stays, place_of, -1), size)
    row = np.flatnonzero((after != home).any(axis=1))
    new = ~(after[row][:, :, None] == home[row][:, None, :]).any(axis=2) & (after[row] >= 0)
    target = chosen_places(places, used, np.where(new, after[row], -1).astype(np.int32), size[row])
    shifted: dict[tuple[int, int], int] = {}
    if task.goals.even_log_dirs:
        quiet = (place_of >= 0) & stays & ~task.fixed[:, None]
        quiet[row] = False
        for shift in evened(
            places, used, np.where(quiet, place_of, -1), size, task.goals.tolerance_of("disk")
        ):
            shifted[shift.row, shift.column] = shift.place
    return _with_directories(home, after, row, target, shifted, places)


def _with_directories(
    home: Int32s,
    after: Int32s,
    row: Int64s,
    target: Int32s,
    shifted: Mapping[tuple[int, int], int],
    places: Places,
) -> Rows:
    several = np.diff(places.first) > 2
    named = (target >= 0) & several[places.broker[target]]
    directories = [(ANY_LOG_DIR,) * n for n in (after[row] >= 0).sum(axis=1).tolist()]
    for i in np.flatnonzero(named.any(axis=1)).tolist():
        chosen: list[int] = np.where(named[i], target[i], -1).tolist()
        directories[i] = tuple(
            places.path[place] or ANY_LOG_DIR if place >= 0 else ANY_LOG_DIR
            for place in chosen[: len(directories[i])]
        )
    if not shifted:
        return Rows(row, home[row], after[row], tuple(directories))
    extra = sorted({where[0] for where in shifted})
    for where in extra:
        count = int((home[where] >= 0).sum())
        paths = (shifted.get((where, column)) for column in range(count))
        directories.append(
            tuple(ANY_LOG_DIR if p is None else places.path[p] or ANY_LOG_DIR for p in paths)
        )
    every = np.concatenate([row, np.array(extra, np.int64)])
    order = np.argsort(every, kind="stable")
    listed = tuple(directories[i] for i in order.tolist())
    return Rows(every[order], home[every[order]], after[every[order]], listed)


def used_at(places: Places, place_of: Int32s, size: Floats) -> Floats:
    """float64[U]: bytes that lie in each place."""
    row, column = np.nonzero(place_of >= 0)
    return np.bincount(place_of[row, column], size[row], len(places.broker)).astype(np.float64)


# ---- how it runs --------------------------------------------------------------------------------


def moves_of(task: Task, rows: Rows, places: Places) -> Moves:
    """What the rows copy and drop, for the schedule."""
    snapshot, home = task.snapshot, task.problem.home
    size = task.problem.size if task.columns[0] == "disk" else np.zeros(len(home))
    place_of = widened(places.of_replicas(snapshot, home), rows.before.shape[1])
    before, after = rows.before, rows.after
    kept_after = (after[:, :, None] == before[:, None, :]).any(axis=2)
    kept_before = (before[:, :, None] == after[:, None, :]).any(axis=2)
    target = _packed(np.where((after >= 0) & ~kept_after, after, -1).astype(np.int32))
    dropped = np.where((before >= 0) & ~kept_before, place_of[rows.row], -1).astype(np.int32)
    return Moves(
        size=size[rows.row].astype(np.float64),
        source=_source(snapshot, rows),
        target=target,
        target_place=_target_places(places, rows, target),
        dropped_place=dropped,
        place_broker=places.broker,
        place_used=used_at(places, place_of, size),
        place_limit=places.limit,
    )


def _target_places(places: Places, rows: Rows, target: Int32s) -> Int32s:
    """Where copies go: the directory that the plan names, or the one that there is."""
    where = np.where(target >= 0, places.unnamed(target), np.int32(-1)).astype(np.int32)
    only = np.diff(places.first) == 2
    where = np.where((target >= 0) & only[target], places.first[target], where).astype(np.int32)
    by_name = {
        (int(broker), path): place
        for place, (broker, path) in enumerate(zip(places.broker, places.path, strict=True))
        if path is not None
    }
    for i, paths in enumerate(rows.log_dirs):
        if any(path != ANY_LOG_DIR for path in paths):
            named = dict(zip(rows.after[i].tolist(), paths, strict=False))
            for j, broker in enumerate(target[i].tolist()):
                place = by_name.get((broker, named.get(broker, "")))
                where[i, j] = where[i, j] if place is None else place
    return where


def _packed(matrix: Int32s) -> Int32s:
    """Rows with their padding last."""
    return np.take_along_axis(matrix, np.argsort(matrix < 0, axis=1, kind="stable"), axis=1)


def _source(snapshot: Snapshot, rows: Rows) -> Int32s:
    """Whom copies are taken from: the leader, or who will lead where that broker is dead."""
    leader = snapshot.broker_index(snapshot.acting_leader)[rows.row]
    dead = np.array([broker.state == "dead" for broker in snapshot.brokers], np.bool_)
    alive = (rows.before >= 0) & ~dead[rows.before]
    first = rows.before[np.arange(len(rows)), alive.argmax(axis=1)]
    return np.where(dead[leader] & alive.any(axis=1), first, leader).astype(np.int32)


def ordered_waves(
    task: Task, rows: Rows, moves: Moves, excess: Floats
) -> tuple[tuple[int, ...], ...]:
    """The waves of a plan."""
    gone = ~(rows.before[:, :, None] == rows.after[:, None, :]).any(axis=2) & (rows.before >= 0)
    loser = np.where(gone.any(axis=1), rows.before[np.arange(len(rows)), gone.argmax(axis=1)], -1)
    order, wave = waves_of(
        moves,
        excess,
        loser.astype(np.int32),
        brokers=task.problem.brokers,
        each_way=task.goals.moves_each_way,
    )
    starts = np.flatnonzero(np.diff(wave, prepend=-1))
    return tuple(tuple(part.tolist()) for part in np.split(order, starts[1:]) if len(part))


def replayed(task: Task, moves: Moves, waves: tuple[tuple[int, ...], ...]) -> Schedule:
    """The schedule that a plan's waves lead to."""
    order = np.array([index for wave in waves for index in wave], np.int64)
    return scheduled(
        moves,
        order,
        brokers=task.problem.brokers,
        each_way=task.goals.moves_each_way,
        rate=task.goals.rate_bytes_per_second,
    )


def fastest_seconds(task: Task, moves: Moves) -> float:
    """What no order of the moves can undercut."""
    rate = task.goals.rate_bytes_per_second
    return shortest_seconds(moves, brokers=task.problem.brokers, rate=rate)


def peak_disk(
    task: Task, places: Places, moves: Moves, schedule: Schedule
) -> dict[BrokerId, float]:
    """The largest share of a disk (or of a log directory) in use, of brokers that take copies."""
    known = np.isfinite(places.limit)
    share = task.goals.limit_of("disk") or 1.0
    full = np.where(known, schedule.peak / np.where(known, places.limit / share, 1.0), 0.0)
    worst = np.zeros(task.problem.brokers)
    np.maximum.at(worst, places.broker, full)
    takers = np.unique(moves.target[moves.target >= 0])
    ids = task.snapshot.broker_ids
    return {
        BrokerId(int(ids[b])): round(float(worst[b]), 6) for b in takers.tolist() if worst[b] > 0
    }


# ---- what is said -------------------------------------------------------------------------------


def reasons_of(task: Task, rows: Rows, loads: Floats) -> dict[TopicPartition, str]:
    """A sentence for each partition that changes."""
    grounds = grounds_of(task.snapshot, loads, capacities(task.snapshot), _counted(task))
    problem = task.problem
    racks = np.where(rows.before >= 0, problem.rack[rows.before], -1).astype(np.int32)
    crowded: list[bool] = (crowding(racks) > problem.rack_limit[rows.row]).tolist()
    names = _names(task.snapshot, rows)
    listed = zip(
        names,
        lists_of_matrix(rows.before),
        lists_of_matrix(rows.after),
        problem.wanted[rows.row].tolist(),
        crowded,
        strict=True,
    )
    return {
        name: reason(str(name), before, after, grounds, wanted, crowded=is_crowded)
        for name, before, after, wanted, is_crowded in listed
    }


def _counted(task: Task) -> list[str]:
    weights = zip(task.columns, task.problem.weight.tolist(), strict=True)
    return [name for name, weight in weights if name and weight > 0]


def _names(snapshot: Snapshot, rows: Rows) -> list[TopicPartition]:
    assignment = snapshot.assignment
    topics = map(assignment.topics.__getitem__, assignment.topic[rows.row].tolist())
    return list(map(TopicPartition, topics, assignment.partition[rows.row].tolist()))


def plan_of_rows(
    task: Task,
    rows: Rows,
    *,
    reasons: Mapping[TopicPartition, str],
    waves: tuple[tuple[int, ...], ...],
    summary: Summary,
    certificate: Mapping[str, object] | None,
) -> Plan:
    """The plan, without what only the outside knows: digest and time."""
    names = _names(task.snapshot, rows)
    ids = np.append(task.snapshot.broker_ids, -1).astype(np.int32)  # index -1 finds the last
    return Plan(
        partitions=reassignments_of(names, ids[rows.after], rows.log_dirs),
        before=dict(zip(names, replica_lists(ids[rows.before]), strict=True)),
        reasons=reasons,
        waves=waves,
        summary=summary,
        cluster_id=task.snapshot.cluster_id,
        goals=task.goals.to_json(),
        certificate=certificate,
        notes=task.notes,
    )


def before_and_after(
    task: Task, after: Int32s
) -> tuple[Floats, dict[str, float], dict[str, float]]:
    """Loads before, and how uneven the cluster is before and after."""
    snapshot = task.snapshot
    capacity, stays = capacities(snapshot), staying(snapshot)
    now = snapshot.broker_index(snapshot.assignment.replicas)
    before = loads_of(snapshot, now, snapshot.broker_index(snapshot.acting_leader))
    later = loads_of(snapshot, after, after[:, 0])
    counted = {name for name in task.columns if name} | {"leaders", "replicas"}
    told = (imbalance(loads, capacity, stays) for loads in (before, later))
    first, second = ({k: v for k, v in each.items() if k in counted} for each in told)
    return before, first, second


def movers(rows: Rows) -> tuple[int, int]:
    """Replicas moved, leaders moved: as `plan.Differences` counts them."""
    new = ~(rows.after[:, :, None] == rows.before[:, None, :]).any(axis=2) & (rows.after >= 0)
    led: Bools = rows.after[:, 0] != rows.before[:, 0]
    return int(new.sum()), int((led & ~new[:, 0]).sum())
