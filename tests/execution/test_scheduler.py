"""The scheduling core that runs and predictions share."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kedge.execution import Observation, Sizes, next_moves, statuses_of
from kedge.execution.scheduler import (
    CRITICAL,
    SlotMoves,
    choose_moves,
    no_slots_taken,
    take_slots,
)
from kedge.model import BrokerId, TopicPartition
from kedge.plan import Change, PartitionReplica

GB = 10**9


def change(number: int, old: int, new: int) -> Change:
    return Change(TopicPartition("orders", number), (BrokerId(old),), (BrokerId(new),))


def started(changes: list[Change], size: int | None, each_way: int = 1) -> list[int]:
    seen = Observation(
        frozenset(map(BrokerId, range(1, 10))),
        {c.tp: c.before for c in changes},
        {c.tp: c.before[0] for c in changes},
    )
    sizes = {PartitionReplica(*c.tp, c.before[0]): size or 0 for c in changes}
    chosen = next_moves(
        changes,
        statuses_of(changes, seen),
        seen,
        each_way=each_way,
        sizes=None if size is None else Sizes(sizes),
    )
    return [c.tp.partition for c in chosen]


def test_the_busiest_broker_is_served_before_the_sequence_of_the_plan() -> None:
    """The worked example of the module: broker 1 has three of the four moves to send."""
    changes = [change(0, 2, 4), change(1, 1, 4), change(2, 1, 5), change(3, 1, 6)]
    assert started(changes, 10 * GB) == [1]
    assert started(changes, None) == [0, 2]  # without sizes, the sequence of the plan


def test_brokers_that_are_far_from_the_busiest_keep_the_sequence_of_the_plan() -> None:
    """Brokers 2 and 3 compete for broker 4; broker 1 is the busiest and concerns neither."""
    changes = [change(0, 2, 4), change(1, 3, 4), change(2, 3, 5)]
    changes += [change(number, 1, 6) for number in range(3, 9)]
    assert started(changes, 10 * GB) == [3, 0, 2]


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(1, 9)), max_size=25),
    st.integers(1, 3),
    st.randoms(use_true_random=False),
)
def test_the_moves_of_freed_ends_are_all_that_has_to_be_looked_at(
    drawn: list[tuple[int, int, int]], each_way: int, rng: object
) -> None:
    rows = [each for each in drawn if each[0] != each[1]]
    moves = SlotMoves(
        np.array([a for a, _, _ in rows], np.int32),
        np.array([[b] for _, b, _ in rows], np.int32).reshape(-1, 1),
    )
    slots = no_slots_taken(5)
    for source, target, size in rows:
        slots.bytes_out[source] += size
        slots.bytes_in[target] += size
    everything = np.arange(len(rows))
    running = choose_moves(moves, slots, everything, each_way, CRITICAL).tolist()
    waiting = [row for row in everything.tolist() if row not in running]
    while running:
        ended = running.pop(rng.randrange(len(running)))  # pyright: ignore[reportAttributeAccessIssue]
        take_slots(moves, slots, ended, -1)
        source, target, size = rows[ended]
        slots.bytes_out[source] -= size
        slots.bytes_in[target] -= size
        near = [row for row in waiting if rows[row][0] == source or rows[row][1] == target]
        copy = type(slots)(*(column.copy() for column in slots))
        some = choose_moves(moves, slots, np.array(near, np.int64), each_way, CRITICAL).tolist()
        full = choose_moves(moves, copy, np.array(waiting, np.int64), each_way, CRITICAL).tolist()
        assert some == full
        running += some
        waiting = [row for row in waiting if row not in some]
