"""Build the plan that an operator reviews from the assignment that the search found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from kedge.balance.goals.problem import Bools, Floats, Int32s
from kedge.balance.goals.task import Task, most_in_one_rack
from kedge.balance.output.figures import brokers_that_stay, capacities, imbalance, loads_of
from kedge.balance.output.log_dirs import LogDirs, choose_log_dirs, even_out
from kedge.balance.output.reasons import broker_causes, reason
from kedge.balance.output.waves import Moves, Schedule, list_schedule, makespan_bound, waves_of
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


def final_assignment(initial: Int32s, found: Int32s) -> Int32s:
    """The replicas found, in a sequence that differs from the initial one only where it must.

    The leader is first, then what stays in its old sequence, then what is new; a partition whose
    replicas and leader stay is as it was.
    """
    width = max(initial.shape[1], found.shape[1])
    initial, found = widened(initial, width), widened(found, width)
    equal = (found[:, :, None] == initial[:, None, :]) & (found >= 0)[:, :, None]
    kept = equal.any(axis=2)
    last: Int64s = np.arange(width, dtype=np.int64) + (width + 1)
    rank: Int64s = np.where(kept, equal.argmax(axis=2) + 1, last)
    rank = np.where(found >= 0, rank, 3 * width)
    rank[:, 0] = 0
    ordered = np.take_along_axis(found, np.argsort(rank, axis=1, kind="stable"), axis=1)
    same = (kept.sum(axis=1) == (initial >= 0).sum(axis=1)) & (kept | (found < 0)).all(axis=1)
    same &= found[:, 0] == initial[:, 0]
    return np.where(same[:, None], initial, ordered).astype(np.int32)


def changed_rows(task: Task, after: Int32s, dirs: LogDirs) -> Rows:
    """The rows of a plan, log directories chosen."""
    initial = widened(task.problem.initial, after.shape[1])
    dir_of = dirs.of_replicas(task.snapshot, initial)
    size = task.problem.size if task.columns[0] == "disk" else np.zeros(len(initial))
    stays = (initial[:, :, None] == after[:, None, :]).any(axis=2) & (initial >= 0)
    used = used_at(dirs, np.where(stays, dir_of, -1), size)
    row = np.flatnonzero((after != initial).any(axis=1))
    new = ~(after[row][:, :, None] == initial[row][:, None, :]).any(axis=2) & (after[row] >= 0)
    target = choose_log_dirs(dirs, used, np.where(new, after[row], -1).astype(np.int32), size[row])
    dir_moves: dict[tuple[int, int], int] = {}
    if task.goals.even_log_dirs:
        may_move = (dir_of >= 0) & stays & ~task.fixed[:, None]
        may_move[row] = False
        for moved in even_out(
            dirs, used, np.where(may_move, dir_of, -1), size, task.goals.tolerance_of("disk")
        ):
            dir_moves[moved.row, moved.column] = moved.log_dir
    return _with_directories(initial, after, row, target, dir_moves, dirs)


def _with_directories(
    initial: Int32s,
    after: Int32s,
    row: Int64s,
    target: Int32s,
    dir_moves: Mapping[tuple[int, int], int],
    dirs: LogDirs,
) -> Rows:
    several = np.diff(dirs.first) > 2
    named = (target >= 0) & several[dirs.broker[target]]
    directories = [(ANY_LOG_DIR,) * n for n in (after[row] >= 0).sum(axis=1).tolist()]
    for i in np.flatnonzero(named.any(axis=1)).tolist():
        chosen: list[int] = np.where(named[i], target[i], -1).tolist()
        directories[i] = tuple(
            dirs.path[log_dir] or ANY_LOG_DIR if log_dir >= 0 else ANY_LOG_DIR
            for log_dir in chosen[: len(directories[i])]
        )
    if not dir_moves:
        return Rows(row, initial[row], after[row], tuple(directories))
    extra = sorted({where[0] for where in dir_moves})
    for where in extra:
        count = int((initial[where] >= 0).sum())
        paths = (dir_moves.get((where, column)) for column in range(count))
        directories.append(
            tuple(ANY_LOG_DIR if p is None else dirs.path[p] or ANY_LOG_DIR for p in paths)
        )
    every = np.concatenate([row, np.array(extra, np.int64)])
    order = np.argsort(every, kind="stable")
    listed = tuple(directories[i] for i in order.tolist())
    return Rows(every[order], initial[every[order]], after[every[order]], listed)


def used_at(dirs: LogDirs, dir_of: Int32s, size: Floats) -> Floats:
    """float64[U]: bytes in each log directory."""
    row, column = np.nonzero(dir_of >= 0)
    return np.bincount(dir_of[row, column], size[row], len(dirs.broker)).astype(np.float64)


# ---- how it runs --------------------------------------------------------------------------------


def moves_of(task: Task, rows: Rows, dirs: LogDirs) -> Moves:
    """What the rows copy and drop, for the schedule."""
    snapshot, initial = task.snapshot, task.problem.initial
    size = task.problem.size if task.columns[0] == "disk" else np.zeros(len(initial))
    dir_of = widened(dirs.of_replicas(snapshot, initial), rows.before.shape[1])
    before, after = rows.before, rows.after
    kept_after = (after[:, :, None] == before[:, None, :]).any(axis=2)
    kept_before = (before[:, :, None] == after[:, None, :]).any(axis=2)
    target = _packed(np.where((after >= 0) & ~kept_after, after, -1).astype(np.int32))
    dropped = np.where((before >= 0) & ~kept_before, dir_of[rows.row], -1).astype(np.int32)
    return Moves(
        size=size[rows.row].astype(np.float64),
        source=_source(snapshot, rows),
        target=target,
        target_dir=_target_dirs(dirs, rows, target),
        deleted_dir=dropped,
        dir_broker=dirs.broker,
        dir_used=used_at(dirs, dir_of, size),
        dir_limit=dirs.limit,
    )


def _target_dirs(dirs: LogDirs, rows: Rows, target: Int32s) -> Int32s:
    """The directory of each copy: the one that the plan names, or the only one."""
    where = np.where(target >= 0, dirs.unnamed(target), np.int32(-1)).astype(np.int32)
    only = np.diff(dirs.first) == 2
    where = np.where((target >= 0) & only[target], dirs.first[target], where).astype(np.int32)
    by_name = {
        (int(broker), path): log_dir
        for log_dir, (broker, path) in enumerate(zip(dirs.broker, dirs.path, strict=True))
        if path is not None
    }
    for i, paths in enumerate(rows.log_dirs):
        if any(path != ANY_LOG_DIR for path in paths):
            named = dict(zip(rows.after[i].tolist(), paths, strict=False))
            for j, broker in enumerate(target[i].tolist()):
                log_dir = by_name.get((broker, named.get(broker, "")))
                where[i, j] = where[i, j] if log_dir is None else log_dir
    return where


def _packed(matrix: Int32s) -> Int32s:
    """Rows with their padding last."""
    return np.take_along_axis(matrix, np.argsort(matrix < 0, axis=1, kind="stable"), axis=1)


def _source(snapshot: Snapshot, rows: Rows) -> Int32s:
    """The broker that copies are read from: the leader, or the next leader where it is dead."""
    leader = snapshot.broker_index(snapshot.acting_leader)[rows.row]
    dead = np.array([broker.state == "dead" for broker in snapshot.brokers], np.bool_)
    alive = (rows.before >= 0) & ~dead[rows.before]
    first = rows.before[np.arange(len(rows)), alive.argmax(axis=1)]
    return np.where(dead[leader] & alive.any(axis=1), first, leader).astype(np.int32)


def plan_waves(task: Task, rows: Rows, moves: Moves, excess: Floats) -> tuple[tuple[int, ...], ...]:
    """The waves of a plan."""
    gone = ~(rows.before[:, :, None] == rows.after[:, None, :]).any(axis=2) & (rows.before >= 0)
    relieved = np.where(
        gone.any(axis=1), rows.before[np.arange(len(rows)), gone.argmax(axis=1)], -1
    )
    order, wave = waves_of(
        moves,
        excess,
        relieved.astype(np.int32),
        brokers=task.problem.brokers,
        each_way=task.goals.moves_each_way,
    )
    starts = np.flatnonzero(np.diff(wave, prepend=-1))
    return tuple(tuple(part.tolist()) for part in np.split(order, starts[1:]) if len(part))


def replay_waves(task: Task, moves: Moves, waves: tuple[tuple[int, ...], ...]) -> Schedule:
    """The schedule that a plan's waves lead to."""
    order = np.array([index for wave in waves for index in wave], np.int64)
    return list_schedule(
        moves,
        order,
        brokers=task.problem.brokers,
        each_way=task.goals.moves_each_way,
        rate=task.goals.rate_bytes_per_second,
    )


def lower_bound_seconds(task: Task, moves: Moves) -> float:
    """Seconds that no sequence of the moves can undercut."""
    rate = task.goals.rate_bytes_per_second
    return makespan_bound(moves, brokers=task.problem.brokers, rate=rate)


def peak_disk(task: Task, dirs: LogDirs, moves: Moves, schedule: Schedule) -> dict[BrokerId, float]:
    """The largest share of a disk (or of a log directory) in use, of brokers that take copies."""
    known = np.isfinite(dirs.limit)
    share = task.goals.limit_of("disk") or 1.0
    full = np.where(known, schedule.peak / np.where(known, dirs.limit / share, 1.0), 0.0)
    worst = np.zeros(task.problem.brokers)
    np.maximum.at(worst, dirs.broker, full)
    takers = np.unique(moves.target[moves.target >= 0])
    ids = task.snapshot.broker_ids
    return {
        BrokerId(int(ids[b])): round(float(worst[b]), 6) for b in takers.tolist() if worst[b] > 0
    }


# ---- texts --------------------------------------------------------------------------------------


def reasons_of(task: Task, rows: Rows, loads: Floats) -> dict[TopicPartition, str]:
    """A sentence for each partition that changes."""
    causes = broker_causes(task.snapshot, loads, capacities(task.snapshot), _counted(task))
    problem = task.problem
    racks = np.where(rows.before >= 0, problem.rack[rows.before], -1).astype(np.int32)
    crowded: list[bool] = (most_in_one_rack(racks) > problem.rack_limit[rows.row]).tolist()
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
        name: reason(str(name), before, after, causes, wanted, crowded=is_crowded)
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
    """The plan, without digest and time, which the caller adds."""
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


def loads_and_imbalance(
    task: Task, after: Int32s
) -> tuple[Floats, dict[str, float], dict[str, float]]:
    """Loads before, and how uneven the cluster is before and after."""
    snapshot = task.snapshot
    capacity, stays = capacities(snapshot), brokers_that_stay(snapshot)
    now = snapshot.broker_index(snapshot.assignment.replicas)
    before = loads_of(snapshot, now, snapshot.broker_index(snapshot.acting_leader))
    later = loads_of(snapshot, after, after[:, 0])
    counted = {name for name in task.columns if name} | {"leaders", "replicas"}
    both = (imbalance(loads, capacity, stays) for loads in (before, later))
    first, second = ({k: v for k, v in each.items() if k in counted} for each in both)
    return before, first, second


def count_moves(rows: Rows) -> tuple[int, int]:
    """Replicas moved, leaders moved: as `plan.Differences` counts them."""
    new = ~(rows.after[:, :, None] == rows.before[:, None, :]).any(axis=2) & (rows.after >= 0)
    led: Bools = rows.after[:, 0] != rows.before[:, 0]
    return int(new.sum()), int((led & ~new[:, 0]).sum())
