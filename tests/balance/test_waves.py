"""The order of moves: slots, room, time; the kernel beside the dullest possible twin."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kedge.balance.output.waves import (
    LOOK_AHEAD,
    Jobs,
    Moves,
    Schedule,
    _rows_of_brokers,
    _run_schedule,
    _wave_numbers,
    list_schedule,
    makespan_bound,
    most_overloaded_first,
    over_limit,
    waves_of,
)

BROKERS = 5


def moves(rows: list[tuple[float, int, list[int], list[int]]], limit: float = np.inf) -> Moves:
    """Rows of size, source, targets, brokers that lose a copy; each broker is one log directory."""

    def padded(lists: list[list[int]]) -> Any:
        matrix = np.full((len(lists), 3), -1, np.int32)
        for row, ids in enumerate(lists):
            matrix[row, : len(ids)] = ids
        return matrix

    used = np.zeros(BROKERS)
    for size, _, _, dropped in rows:
        used[dropped] += size
    targets = padded([row[2] for row in rows])
    return Moves(
        size=np.array([row[0] for row in rows], np.float64),
        source=np.array([row[1] for row in rows], np.int32),
        target=targets,
        target_dir=targets,
        deleted_dir=padded([row[3] for row in rows]),
        dir_broker=np.arange(BROKERS, dtype=np.int32),
        dir_used=used,
        dir_limit=np.full(BROKERS, limit),
    )


def run(some: Moves, order: list[int], each_way: int = 1) -> Schedule:
    return list_schedule(
        some, np.array(order, np.int64), brokers=BROKERS, each_way=each_way, rate=1.0
    )


@st.composite
def many_moves(draw: st.DrawFn) -> Moves:
    ids = st.integers(0, BROKERS - 1)
    rows: list[Any] = []
    for _ in range(draw(st.integers(1, 12))):
        targets = draw(st.lists(ids, max_size=2, unique=True))
        others = st.sampled_from([b for b in range(BROKERS) if b not in targets])
        dropped = draw(st.lists(others, max_size=2, unique=True))
        rows.append((float(draw(st.integers(1, 9))), draw(ids), targets, dropped))
    return moves(rows, limit=draw(st.sampled_from([np.inf, 25.0, 12.0])))


def test_a_move_starts_as_soon_as_both_its_ends_are_free() -> None:
    some = moves([(3, 0, [1], []), (2, 0, [2], []), (2, 3, [4], []), (1, 3, [2], [])])
    found = run(some, [0, 1, 2, 3])
    assert found.start.tolist() == [0, 3, 0, 2]
    assert found.seconds == 5.0
    assert makespan_bound(some, brokers=BROKERS, rate=1.0) == 5.0


def test_two_slots_share_the_rate() -> None:
    some = moves([(3, 0, [1], []), (2, 0, [2], [])])
    found = run(some, [0, 1], each_way=2)
    assert (found.start.tolist(), found.finish.tolist()) == ([0, 0], [6, 4])


def test_what_copies_nothing_takes_no_slot_and_no_time() -> None:
    some = moves([(3, 0, [1], []), (5, 0, [], []), (5, 0, [], [2])])
    assert run(some, [0, 1, 2]).finish.tolist() == [3, 0, 0]


def test_a_copy_waits_for_room_and_the_old_one_is_dropped_at_the_end() -> None:
    # broker 1 has 8 of 10: the 5 that come must wait until 6 of the 8 have gone to broker 2
    some = moves([(5, 0, [1], []), (6, 1, [2], [1])], limit=10.0)
    some.dir_used[1] = 8.0
    found = run(some, [0, 1])
    assert found.start.tolist() == [6, 0]
    assert found.peak.tolist()[1:3] == [8, 6]
    assert not over_limit(some, found).any()


def test_a_move_that_can_never_have_room_goes_last_and_shows_in_the_peak() -> None:
    some = moves([(50, 0, [1], []), (6, 2, [3], [])], limit=10.0)
    found = run(some, [0, 1])
    assert found.start.tolist() == [6, 0]
    assert found.peak[1] == 50
    assert over_limit(some, found).tolist() == [False, True, False, False, False]


def test_the_most_violated_broker_is_relieved_first_and_small_moves_come_first() -> None:
    some = moves([(25, 0, [3], [0]), (10, 0, [4], [0]), (20, 1, [3], [1]), (1, 2, [], [])])
    excess = np.array([40.0, 35, 0, 0, 0])
    order = most_overloaded_first(some, excess, np.array([0, 0, 1, -1], np.int32))
    assert order.tolist() == [3, 1, 2, 0]


@given(many_moves(), st.integers(1, 2))
@settings(deadline=None)
def test_waves_hold_each_move_once_and_no_broker_more_often_than_it_has_slots(
    some: Moves, each_way: int
) -> None:
    loser = some.deleted_dir[:, 0].astype(np.int32)
    order, wave = waves_of(some, np.arange(5.0), loser, brokers=BROKERS, each_way=each_way)
    assert sorted(order.tolist()) == list(range(len(some)))
    assert (np.diff(wave) >= 0).all()
    for number in set(wave.tolist()):
        rows = order[wave == number]
        copying = rows[some.copies[rows] > 0]
        assert np.bincount(some.source[copying], minlength=1).max() <= each_way
        targets = some.target[copying]
        assert np.bincount(targets[targets >= 0], minlength=1).max() <= each_way


@given(many_moves(), st.integers(1, 2), st.randoms(use_true_random=False))
@settings(deadline=None)
def test_the_schedule_keeps_its_rules_at_every_moment(
    some: Moves, each_way: int, luck: Any
) -> None:
    order = list(range(len(some)))
    luck.shuffle(order)
    found = run(some, order, each_way)
    assert found.seconds >= makespan_bound(some, brokers=BROKERS, rate=1.0) - 1e-9
    for moment in np.unique(found.start).tolist():
        under_way = (found.start <= moment) & (found.finish > moment) & (some.copies > 0)
        assert np.bincount(some.source[under_way], minlength=1).max() <= each_way
        targets = some.target[under_way]
        assert np.bincount(targets[targets >= 0], minlength=1).max() <= each_way
    # what ends and what starts at one moment may come in either order
    assert (found.peak >= naive_peak(some, found, ends_first=True)).all()
    assert (found.peak <= naive_peak(some, found, ends_first=False)).all()


def naive_peak(some: Moves, found: Schedule, *, ends_first: bool) -> Any:
    """The most in each log directory, by going through every event."""
    used, peak = some.dir_used.copy(), some.dir_used.copy()
    events = sorted(
        [(found.start[i], ends_first, i) for i in range(len(some)) if some.copies[i]]
        + [(found.finish[i], not ends_first, i) for i in range(len(some))]
    )
    for _, rank, row in events:
        starts = rank == ends_first
        dirs = some.target_dir[row] if starts else some.deleted_dir[row]
        for place in dirs[dirs >= 0].tolist():
            used[place] += some.size[row] if starts else -some.size[row]
            peak[place] = max(peak[place], used[place])
    return peak


@given(many_moves())
@settings(deadline=None, max_examples=30)
def test_compiled_kernels_do_what_their_source_does(some: Moves) -> None:
    starts, rows = _rows_of_brokers(some.source, some.target, BROKERS)
    jobs = Jobs(
        size=some.size,
        seconds=some.size * some.copies,
        flows=np.minimum(some.copies, 1),
        source=some.source,
        target=some.target,
        target_dir=some.target_dir,
        deleted_dir=some.deleted_dir,
        dir_broker=some.dir_broker,
        dir_limit=some.dir_limit,
        starts=starts,
        rows=rows,
        each_way=1,
        look_ahead=LOOK_AHEAD,
    )
    interpreted = _run_schedule.plain(jobs, some.dir_used)
    compiled = _run_schedule.compiled(jobs, some.dir_used)
    for plain, fast in zip(interpreted, compiled, strict=True):
        assert np.array_equal(plain, fast)
    wave = (some.source, some.target, BROKERS, 1)
    assert np.array_equal(_wave_numbers.plain(*wave), _wave_numbers.compiled(*wave))


@pytest.mark.parametrize("count", [10_000])
def test_a_large_plan_takes_little_longer_than_it_must(count: int) -> None:
    luck = np.random.default_rng(1)
    brokers = 1000
    target = np.full((count, 3), -1, np.int32)
    source = luck.integers(0, brokers, count).astype(np.int32)
    target[:, 0] = (source + luck.integers(1, brokers, count)) % brokers
    some = Moves(
        size=luck.lognormal(0, 1, count),
        source=source,
        target=target,
        target_dir=target,
        deleted_dir=np.full((count, 3), -1, np.int32),
        dir_broker=np.arange(brokers, dtype=np.int32),
        dir_used=np.zeros(brokers),
        dir_limit=np.full(brokers, np.inf),
    )
    ask: Any = {"brokers": brokers, "each_way": 1}
    order, _ = waves_of(some, np.zeros(brokers), source, **ask)
    found = list_schedule(some, order, **ask, rate=1.0)
    assert found.seconds < 1.15 * makespan_bound(some, brokers=brokers, rate=1.0)
