"""Replays moves in virtual time, as fluid flows that share disks, links and throttles.

Events, and what happens at each:

    poll      the run observes: moves that have ended free their slots, `choose_moves` starts others
    begin     the copies of a started move begin to flow
    copied    a copy has all bytes; soon after it is *in sync*, and takes its share of live traffic
    ended     all copies of a move are in sync: removed replicas are dropped, and later their files
    delete    the files are gone
    step      a step of the course over time ends: see `prediction.course`

A run sees an end only when it observes next, so a slot stays taken until then. Rates change only
at events, and only near them (`fair_share`): a day of moves takes seconds to replay.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import NamedTuple, Protocol

import numpy as np

from kedge.execution import scheduler
from kedge.execution.prediction import fair_share
from kedge.execution.prediction.course import NO_STEPS, Steps
from kedge.execution.prediction.fair_share import Sharing, close_group, join, leave, mark, refill
from kedge.execution.prediction.flow_model import (
    IN_THROTTLE_COLUMN,
    OUT_LINK_COLUMN,
    OUT_THROTTLE_COLUMN,
    Delays,
    Deltas,
    FlowModel,
    Replayed,
)
from kedge.execution.scheduler import Slots, choose_moves, no_slots_taken, take_slots
from kedge.jit import kernel_with
from kedge.model.columns import Bools, Floats, Int64s

COPIED, IN_SYNC, DELETE, POLL, BEGIN, STEP = 0, 1, 2, 3, 4, 5
DIRTY, GROUP, TOUCHED = fair_share.DIRTY, fair_share.GROUP, fair_share.TOUCHED

ELEMENTS_PER_COPY = 5  # in the units of `jit`: compiling pays from some ten thousand copies on

Event = tuple[float, int, int, int]  # when, kind, which copy or move, version


class Replayer(Protocol):
    """Replays a model; the course over time is kept in so many steps."""

    def __call__(self, model: FlowModel, steps: Steps = NO_STEPS, /) -> Replayed: ...


class Progress(NamedTuple):
    """The state of a replay, beside rates and slots."""

    left: Floats  # [F]: bytes, as of `since`
    since: Floats  # [F]
    version: Int64s  # [F]: raised with each change of rate
    open_copies: Int64s  # [N]: copies that are not in sync
    load: Floats  # [R]
    growing: Floats  # [R]: bytes per second appended to copies under way, of throttles
    peak_rate: Floats  # [R]
    peak_total: Floats  # [R]: copies and other traffic, while there are copies
    space: Floats  # [D]: bytes, as of `space_since`
    space_since: Floats
    space_slope: Floats
    space_peak: Floats
    space_peak_at: Floats
    space_full_at: Floats
    flight: Floats  # [2B]
    flight_peak: Floats
    high: Floats  # [D + 2B]: the most of each space and flight in the present step
    course: Floats  # [D + 2B, steps]: the same of the steps that have ended
    steps_ended: Int64s  # [1]
    step: Floats  # [1]: seconds
    waiting: Int64s  # [2B]: how many rows of each end wait; they come first in its list
    end_rows: Int64s
    is_freed: Bools  # [2B]: ends where a slot got free since the last poll
    start: Floats  # [N]
    end: Floats  # [N]
    copied: Floats  # [F]


def new_progress(model: FlowModel, steps: Steps) -> Progress:
    """Nothing has started."""
    moves, flows, spaces = len(model.moves.source), len(model.size), len(model.space_used)
    ends = len(model.end_rows_start) - 1
    return Progress(
        left=model.size.copy(),
        since=np.zeros(flows),
        version=np.zeros(flows, np.int64),
        open_copies=np.diff(model.move_copies),
        load=model.load.copy(),
        growing=np.zeros(len(model.limit)),
        peak_rate=np.zeros(len(model.limit)),
        peak_total=np.zeros(len(model.limit)),
        space=model.space_used.copy(),
        space_since=np.zeros(spaces),
        space_slope=np.zeros(spaces),
        space_peak=model.space_used.copy(),
        space_peak_at=np.zeros(spaces),
        space_full_at=np.full(spaces, np.inf),
        flight=np.zeros(ends),
        flight_peak=np.zeros(ends),
        high=np.concatenate([model.space_used, np.zeros(ends)]),
        course=np.zeros((spaces + ends, steps.number)),
        steps_ended=np.zeros(1, np.int64),
        step=np.array([steps.seconds]),
        waiting=np.diff(model.end_rows_start),
        end_rows=model.end_rows.copy(),
        is_freed=np.zeros(ends, np.bool_),
        start=np.full(moves, np.inf),
        end=np.full(moves, np.inf),
        copied=np.full(flows, np.inf),
    )


def settle_space(model: FlowModel, p: Progress, space: int, now: float) -> None:
    """Account for what has arrived on a disk, and note its peak and the moment it is full."""
    before, slope = p.space[space], p.space_slope[space]
    p.space[space] = before + slope * (now - p.space_since[space])
    limit = max(model.space_limit[space], model.space_used[space])
    if p.space[space] > limit * (1 + 1e-9) and p.space_full_at[space] == np.inf:
        p.space_full_at[space] = p.space_since[space] + max(limit - before, 0.0) / slope
    if p.space[space] > p.space_peak[space]:
        p.space_peak[space], p.space_peak_at[space] = p.space[space], now
    p.high[space] = max(p.high[space], p.space[space])
    p.space_since[space] = now


def change_slope(model: FlowModel, p: Progress, flow: int, change: float, now: float) -> None:
    """The rate at which a copy fills its disk has changed."""
    for column in range(model.space.shape[1]):
        space = model.space[flow, column]
        if space >= 0:
            settle_space(model, p, space, now)
            p.space_slope[space] += change


def set_capacity(model: FlowModel, s: Sharing, p: Progress, resource: int) -> None:
    """What other traffic leaves: copies get all that they grow by, and a share of the rest.

    So a throttle that leaves more than its copies grow by lets each of them end.
    """
    left, growing = model.limit[resource] - p.load[resource], p.growing[resource]
    if left > growing:
        left = growing + model.share[resource] * (left - growing)
    s.capacity[resource] = max(left, model.floor[resource])
    mark(s, resource)


def change_growing(model: FlowModel, s: Sharing, p: Progress, flow: int, change: float) -> None:
    """A copy of a partition that grows begins or ends at its throttles."""
    for column in (OUT_THROTTLE_COLUMN, IN_THROTTLE_COLUMN):
        resource = model.uses[flow, column]
        if resource >= 0 and change != 0.0:
            p.growing[resource] += change
            set_capacity(model, s, p, resource)


def apply_loads(model: FlowModel, s: Sharing, p: Progress, deltas: Deltas, row: int) -> None:
    """Change the traffic that is not a copy, and so what is left for copies."""
    for at in range(deltas.start[row], deltas.start[row + 1]):
        resource = deltas.place[at]
        p.load[resource] += deltas.amount[at]
        set_capacity(model, s, p, resource)


def change_rates(
    model: FlowModel, s: Sharing, p: Progress, events: list[Event], now: float
) -> None:
    """Make rates fair again, and find out when each copy ends at its new rate."""
    refill(s)
    for at in range(s.counts[GROUP]):
        flow = int(s.group[at])
        old, new = float(s.rate[flow]), float(s.new_rate[flow])
        if old == new:
            continue
        growth = float(model.growth[flow])
        before, after = max(old - growth, 0.0), max(new - growth, 0.0)
        p.left[flow] -= before * (now - p.since[flow])
        p.since[flow] = now
        p.version[flow] += 1
        change_slope(model, p, flow, after - before, now)
        if after > 0:
            due = now + max(float(p.left[flow]), 0.0) / after
            heappush(events, (due, COPIED, flow, int(p.version[flow])))
    for at in range(s.counts[TOUCHED]):
        resource = s.touched[at]
        used = s.capacity[resource] - s.room[resource]
        p.peak_rate[resource] = max(p.peak_rate[resource], used)
        p.peak_total[resource] = max(p.peak_total[resource], used + p.load[resource])
    close_group(s)


def begin_copies(model: FlowModel, s: Sharing, p: Progress, row: int, now: float) -> None:
    """The copies of a move begin to flow."""
    for flow in range(model.move_copies[row], model.move_copies[row + 1]):
        p.since[flow] = now
        change_growing(model, s, p, flow, model.growth[flow])
        join(s, flow)


def end_copy(model: FlowModel, s: Sharing, p: Progress, flow: int, now: float) -> None:
    """A copy has all bytes."""
    p.copied[flow] = now
    p.version[flow] += 1
    change_slope(model, p, flow, -max(s.rate[flow] - model.growth[flow], 0.0), now)
    p.left[flow] = 0.0
    change_growing(model, s, p, flow, -model.growth[flow])
    leave(s, flow)


def note_flight(p: Progress, end: int) -> None:
    """The bytes of copies under way at an end have changed."""
    high = len(p.space) + end
    p.flight_peak[end] = max(p.flight_peak[end], p.flight[end])
    p.high[high] = max(p.high[high], p.flight[end])


def end_step(p: Progress, now: float) -> None:
    """A step of the course ends; once there is no room for more, two become one."""
    steps = p.course.shape[1]
    space = p.space + p.space_slope * (now - p.space_since)
    reached = np.concatenate((space, p.flight))
    p.course[:, p.steps_ended[0]] = np.maximum(p.high, reached)
    p.steps_ended[0] += 1
    p.high[:] = reached
    if p.steps_ended[0] == steps:
        p.steps_ended[0], p.step[0] = steps // 2, 2 * p.step[0]
        p.course[:, : steps // 2] = np.maximum(p.course[:, 0::2], p.course[:, 1::2])


def count_in_flight(model: FlowModel, p: Progress, row: int, sign: int) -> None:
    """A move is under way (`sign` 1), or no longer (-1)."""
    brokers = len(p.flight) // 2
    place = model.move_copies[row]
    for column in range(model.moves.target.shape[1]):
        target = model.moves.target[row, column]
        if target < 0:
            continue
        size = sign * model.size[place]
        place += 1
        p.flight[brokers + target] += size
        note_flight(p, brokers + target)
        source = model.moves.source[row]
        if source >= 0 and model.uses[place - 1, OUT_LINK_COLUMN] >= 0:
            p.flight[source] += size
            note_flight(p, source)


def end_move(model: FlowModel, s: Sharing, p: Progress, slots: Slots, row: int, now: float) -> None:
    """All copies are in sync: the removed replicas take no more traffic."""
    p.end[row] = now
    apply_loads(model, s, p, model.when_ended, row)
    count_in_flight(model, p, row, -1)
    brokers = len(p.flight) // 2
    source, place = model.moves.source[row], model.move_copies[row]
    for column in range(model.moves.target.shape[1]):
        target = model.moves.target[row, column]
        if target < 0:
            continue
        slots.bytes_in[target] -= model.size[place]
        p.is_freed[brokers + target] = True
        if source >= 0 and model.uses[place, OUT_LINK_COLUMN] >= 0:
            slots.bytes_out[source] -= model.size[place]
            p.is_freed[source] = True
        place += 1
    take_slots(model.moves, slots, row, -1)


def waiting_rows(model: FlowModel, p: Progress) -> Int64s:
    """The waiting moves of ends where a slot got free, ascending; each at most twice or more."""
    count = 0
    for end in range(len(p.is_freed)):
        if p.is_freed[end]:
            count += p.waiting[end]
    rows = np.empty(count, np.int64)
    found = 0
    for end in range(len(p.is_freed)):
        if not p.is_freed[end]:
            continue
        p.is_freed[end] = False
        first, kept = model.end_rows_start[end], 0
        for at in range(first, first + p.waiting[end]):
            row = p.end_rows[at]
            if p.start[row] == np.inf:
                p.end_rows[first + kept] = row
                kept += 1
                rows[found] = row
                found += 1
        p.waiting[end] = kept
    return np.unique(rows[:found])


def in_sync(model: FlowModel, s: Sharing, p: Progress, copy: int) -> int:
    """A replica is in sync; returns its move if that was the last one, -1 otherwise."""
    apply_loads(model, s, p, model.when_in_sync, copy)
    move = int(np.searchsorted(model.move_copies, copy, side="right")) - 1
    p.open_copies[move] -= 1
    return move if p.open_copies[move] == 0 else -1


def delete_files(model: FlowModel, p: Progress, move: int, now: float) -> None:
    """The files of the replicas that a move has removed are gone."""
    for at in range(model.freed.start[move], model.freed.start[move + 1]):
        settle_space(model, p, model.freed.place[at], now)
        p.space[model.freed.place[at]] -= model.freed.amount[at]


def first_poll_at(now: float, since: float, delays: Delays) -> float:
    """The next observation that sees what happens now; the run waits and observes since then."""
    every = delays.poll + delays.read
    return since + max(np.ceil((now - since) / every - 1e-9), 0.0) * every


@kernel_with(
    *fair_share.HELPERS,
    *(*scheduler.HELPERS, choose_moves),
    *(set_capacity, change_growing),
    *(settle_space, change_slope, apply_loads, change_rates, begin_copies, end_copy),
    *(
        note_flight,
        end_step,
        count_in_flight,
        end_move,
        waiting_rows,
        in_sync,
        delete_files,
        first_poll_at,
    ),
)
def run_replay(model: FlowModel, s: Sharing, p: Progress, slots: Slots) -> tuple[int, float]:
    """Replay until nothing happens any more; returns the number of events, and when the run has
    observed the last end."""
    delays, rows = model.delays, np.arange(len(p.start))
    events = [(0.0, POLL, 0, 0)]
    if p.course.shape[1] > 0:
        heappush(events, (p.step[0], STEP, 0, 0))
    handled, poll_due, under_way, moves_left = 0, True, 0, len(p.start)
    polled = since = 0.0
    while len(events) > 0:
        now, kind, which, version = heappop(events)
        ended = -1
        if kind == POLL:
            poll_due, polled = False, now
            # a run that was idle observes what it has started before it waits
            since = now if under_way else now + 2 * delays.read
            rows = rows if handled == 0 else waiting_rows(model, p)
            for row in choose_moves(model.moves, slots, rows, model.each_way, model.critical):
                p.start[row] = now
                count_in_flight(model, p, row, 1)
                heappush(events, (now + delays.read + delays.start, BEGIN, row, 0))
                under_way += 1
        elif kind == BEGIN:
            begin_copies(model, s, p, which, now)
            ended = which if p.open_copies[which] == 0 else -1
        elif kind == COPIED and version == p.version[which]:
            end_copy(model, s, p, which, now)
            heappush(events, (now + delays.in_sync, IN_SYNC, which, 0))
        elif kind == IN_SYNC:
            ended = in_sync(model, s, p, which)
        elif kind == DELETE:
            delete_files(model, p, which, now)
        elif kind == STEP:
            end_step(p, now)
            if moves_left > 0 and len(events) > 0:
                heappush(events, (now + p.step[0], STEP, 0, 0))
        if ended >= 0:
            moves_left -= 1
            end_move(model, s, p, slots, ended, now)
            under_way -= 1
            heappush(events, (now + delays.delete, DELETE, ended, 0))
            if not poll_due:
                poll_due = True
                heappush(events, (first_poll_at(now, since, delays), POLL, 0, 0))
        if s.counts[DIRTY] > 0 and (len(events) == 0 or events[0][0] > now):
            change_rates(model, s, p, events, now)
        handled += 1
    return handled, polled


def replayer(model: FlowModel, *, times: int = 1) -> Replayer:
    """The function that replays models of the size of this one.

    `times` is how often it will be called: often enough, and compiling pays. Threads may share it.
    """
    run = run_replay.for_size(len(model.size) * ELEMENTS_PER_COPY * times)

    def replay(model: FlowModel, steps: Steps = NO_STEPS) -> Replayed:
        brokers = (len(model.end_rows_start) - 1) // 2
        left = model.limit - model.load
        capacity = np.maximum(np.where(left > 0, model.share * left, left), model.floor)
        sharing = fair_share.new_sharing(model.uses, capacity)
        progress, slots = new_progress(model, steps), no_slots_taken(brokers)
        count_bytes_left(model, slots)
        events, seen = run(model, sharing, progress, slots)
        return Replayed(
            progress.start,
            progress.end,
            progress.copied,
            progress.space_peak,
            progress.space_peak_at,
            progress.space_full_at,
            progress.peak_rate,
            progress.peak_total,
            progress.flight_peak,
            progress.course[:, : progress.steps_ended[0]],
            float(progress.step[0]),
            sharing.bottleneck,
            events,
            float(seen),
        )

    return replay


def replay(model: FlowModel) -> Replayed:
    """What happens when the moves of a model run."""
    return replayer(model)(model)


def count_bytes_left(model: FlowModel, slots: Slots) -> None:
    """Count the bytes of all moves at their ends, as the scheduler is to see them."""
    move, place = np.nonzero(model.moves.target >= 0)
    copy = model.move_copies[move] + place
    np.add.at(slots.bytes_in, model.moves.target[move, place], model.size[copy])
    sent = (model.moves.source[move] >= 0) & (model.uses[copy, OUT_LINK_COLUMN] >= 0)
    np.add.at(slots.bytes_out, model.moves.source[move][sent], model.size[copy][sent])
