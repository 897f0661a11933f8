"""What is decided about a run: standings, order, leases, judgement, journal, progress."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.errors import InvalidPlan, JournalDamaged, ReassignmentInProgress, UnknownBroker
from kedge.execution import (
    Ending,
    Lease,
    Observation,
    Pace,
    Standing,
    in_order,
    judge,
    lease_for,
    next_moves,
    progress_of,
    read_journal,
    refuse_foreign,
    standing_of,
    standings_of,
    still_ours,
)
from kedge.execution import journal as lines
from kedge.model import BrokerId, ReplicaAssignment, TopicPartition
from kedge.plan import Change, Plan, Reassignment


def ids(*numbers: int) -> tuple[BrokerId, ...]:
    return tuple(map(BrokerId, numbers))


T0, T1, T2 = (TopicPartition("t", number) for number in range(3))
ALIVE = frozenset(ids(1, 2, 3, 4, 5, 6))


def seen(
    *,
    leaders: dict[TopicPartition, int] | None = None,
    moving: dict[TopicPartition, ReplicaAssignment] | None = None,
    alive: frozenset[BrokerId] = ALIVE,
    **replicas: tuple[BrokerId, ...],
) -> Observation:
    placed = {TopicPartition("t", int(name[1:])): each for name, each in replicas.items()}
    led = {tp: BrokerId((leaders or {}).get(tp, each[0])) for tp, each in placed.items()}
    return Observation(alive, placed, led, moving or {})


@pytest.mark.parametrize(
    ("present", "move", "expected"),
    [
        (ids(1, 2, 3), None, Standing.WAITING),
        (ids(4, 2, 3, 1), ReplicaAssignment(ids(4, 2, 3, 1), ids(4), ids(1)), Standing.MOVING),
        (ids(4, 2, 3), None, Standing.DONE),
        (ids(2, 4, 3), None, Standing.WAITING),
        (ids(9, 2, 3, 1), ReplicaAssignment(ids(9, 2, 3, 1), ids(9), ids(1)), Standing.TAKEN),
        (ids(7, 8, 9), None, Standing.STRAYED),
        (None, None, Standing.GONE),
    ],
)
def test_a_partition_stands_where_the_cluster_shows_it(
    present: tuple[BrokerId, ...] | None, move: ReplicaAssignment | None, expected: Standing
) -> None:
    change = Change(T0, ids(1, 2, 3), ids(4, 2, 3))
    moving = {} if move is None else {T0: move}
    look = Observation(ALIVE, {} if present is None else {T0: present}, {}, moving)
    assert standing_of(change, look) is expected


def test_a_move_starts_when_both_its_ends_are_free() -> None:
    changes = [
        Change(T0, ids(1, 2), ids(4, 2)),
        Change(T1, ids(1, 3), ids(5, 3)),
        Change(T2, ids(2, 3), ids(6, 3)),
    ]
    look = seen(t0=ids(1, 2), t1=ids(1, 3), t2=ids(2, 3))
    chosen = next_moves(changes, standings_of(changes, look), look, each_way=1)
    assert [change.tp for change in chosen] == [T0, T2]  # broker 1 sends t-0 already


def test_moves_of_others_take_slots_too() -> None:
    change = Change(T0, ids(1, 2), ids(4, 2))
    other = {TopicPartition("x", 0): ReplicaAssignment(ids(4, 5), ids(4), ())}
    look = seen(t0=ids(1, 2), moving=other)
    standings = standings_of([change], look)
    assert next_moves([change], standings, look, each_way=1) == []
    assert next_moves([change], standings, look, each_way=2) == [change]


def test_a_change_that_copies_nothing_needs_no_slot() -> None:
    changes = [Change(T0, ids(1, 2), ids(4, 2)), Change(T1, ids(1, 2), ids(2, 1))]
    look = seen(t0=ids(1, 2), t1=ids(1, 2))
    chosen = next_moves(changes, standings_of(changes, look), look, each_way=1)
    assert [change.tp for change in chosen] == [T0, T1]


def test_a_move_waits_while_a_broker_that_it_wants_is_down() -> None:
    change = Change(T0, ids(1, 2), ids(4, 2))
    look = seen(t0=ids(1, 2), alive=frozenset(ids(1, 2)))
    assert next_moves([change], standings_of([change], look), look, each_way=9) == []


@given(
    st.lists(st.tuples(st.integers(1, 6), st.integers(1, 6)), min_size=1, max_size=30),
    st.integers(1, 3),
)
def test_no_broker_ever_has_more_copies_than_slots(
    pairs: list[tuple[int, int]], each_way: int
) -> None:
    changes = [
        Change(TopicPartition("t", n), ids(old), ids(new))
        for n, (old, new) in enumerate(pairs)
        if old != new
    ]
    look = Observation(
        ALIVE, {c.tp: c.before for c in changes}, {c.tp: c.before[0] for c in changes}, {}
    )
    chosen = next_moves(changes, standings_of(changes, look), look, each_way=each_way)
    for broker in ALIVE:
        assert sum(broker in c.after for c in chosen) <= each_way
        assert sum(broker in c.before for c in chosen) <= each_way
    for left in set(changes) - set(chosen):  # whatever waits has a full end
        busy = sum(left.after[0] in c.after for c in chosen)
        sending = sum(left.before[0] in c.before for c in chosen)
        assert each_way in (busy, sending)


def test_waves_are_the_order_of_preference() -> None:
    entries = tuple(Reassignment.anywhere(tp, ids(4)) for tp in (T0, T1, T2))
    plan = Plan(entries, {each.tp: ids(1) for each in entries}, waves=((2,), (0, 1)))
    assert [change.tp for change in in_order(plan)] == [T2, T0, T1]


# ---- judgement ----------------------------------------------------------------------------------


def judged(look: Observation, *, of: str | None = "c", on: str = "c") -> None:
    entry = Reassignment.anywhere(T0, ids(4, 2))
    plan = Plan((entry,), {T0: ids(1, 2)}, cluster_id=of)
    judge(plan, plan.changes, standings_of(plan.changes, look), look, cluster_id=on)


def test_a_plan_that_fits_is_let_through() -> None:
    judged(seen(t0=ids(1, 2)))
    judged(seen(t0=ids(1, 2)), of=None)
    judged(seen())  # the topic is gone: nothing to be done


def test_a_plan_of_another_cluster_is_refused() -> None:
    with pytest.raises(InvalidPlan, match="for cluster c, not for d"):
        judged(seen(t0=ids(1, 2)), on="d")


def test_a_partition_that_has_strayed_is_named() -> None:
    with pytest.raises(InvalidPlan, match="t-0 is neither where the plan found it"):
        judged(seen(t0=ids(5, 6)))


def test_a_partition_that_somebody_else_moves_is_named() -> None:
    move = ReplicaAssignment(ids(6, 2, 1), ids(6), ids(1))
    with pytest.raises(ReassignmentInProgress, match="t-0 is being moved"):
        judged(seen(t0=move.replicas, moving={T0: move}))


def test_a_plan_for_a_dead_broker_is_refused() -> None:
    with pytest.raises(UnknownBroker, match="broker 4 of the plan is not alive"):
        judged(seen(t0=ids(1, 2), alive=frozenset(ids(1, 2))))


# ---- leases -------------------------------------------------------------------------------------

RATE = {"leader.replication.throttled.rate": "9", "follower.replication.throttled.rate": "9"}


def test_a_lease_names_what_moves_and_nothing_else() -> None:
    changes = [Change(T0, ids(1, 2), ids(4, 2)), Change(T1, ids(1, 2), ids(1, 3))]
    look = seen(t0=ids(1, 2), t1=ids(1, 3))  # t-1 is there already
    lease = lease_for(changes, standings_of(changes, look), look, 9)
    assert lease.brokers == {"1": RATE, "2": RATE, "4": RATE}
    assert lease.topics == {
        "t": {
            "leader.replication.throttled.replicas": "0:1,0:2",
            "follower.replication.throttled.replicas": "0:4",
        }
    }


def test_throttles_of_others_stop_a_run_before_it_starts() -> None:
    ours = Lease({"1": RATE})
    refuse_foreign(Lease({"1": RATE}), ours)
    with pytest.raises(ReassignmentInProgress, match="broker 2 has leader"):
        refuse_foreign(Lease({"2": RATE}), ours)


def test_only_what_is_still_as_it_was_set_is_removed() -> None:
    lease = Lease({"1": RATE, "2": RATE}, {"t": {"x": "0:1"}})
    changed = {**RATE, "leader.replication.throttled.rate": "77"}
    present = Lease({"1": RATE, "2": changed}, {"t": {"x": "*"}})
    assert still_ours(lease, present) == {
        "brokers": {"1": list(RATE), "2": ["follower.replication.throttled.rate"]},
        "topics": {},
    }


def test_a_throttle_that_cannot_be_seen_yet_is_removed_all_the_same() -> None:
    assert still_ours(Lease({"1": RATE}), Lease()) == {"brokers": {"1": list(RATE)}, "topics": {}}


# ---- the journal --------------------------------------------------------------------------------


def test_a_journal_adds_up_to_the_state_of_its_run() -> None:
    lease = Lease({"1": RATE})
    told = lines.begun("c", 9, 2) + lines.leased(lease) + lines.started([("t", 0)])
    state = read_journal(told)
    assert (state.cluster_id, state.rate, state.lease, state.ending) == ("c", 9, lease, None)
    assert state.started == {("t", 0)}
    over = read_journal(told + lines.released() + lines.ended(Ending.FINISHED))
    assert not over.lease
    assert over.ending is Ending.FINISHED


@given(st.integers(0, 400))
def test_a_journal_that_was_cut_short_tells_what_was_surely_done(cut: int) -> None:
    told = lines.begun("c", 9, 2) + lines.leased(Lease({"1": RATE})) + lines.released()
    first = len(lines.begun("c", 9, 2))
    if cut < first:
        with pytest.raises(JournalDamaged):
            read_journal(told[:cut])
        return
    state = read_journal(told[:cut])
    whole = told[:cut].count(b"\n")
    assert bool(state.lease) == (whole == 2)


def test_a_damaged_journal_names_its_line() -> None:
    with pytest.raises(JournalDamaged, match="line 2"):
        read_journal(lines.begun("c", None, 1) + b"not json\n" + lines.released())
    with pytest.raises(JournalDamaged, match="line 1"):
        read_journal(lines.released())


# ---- progress -----------------------------------------------------------------------------------


def test_progress_counts_what_has_arrived_and_estimates_the_rest() -> None:
    changes = [Change(T0, ids(1, 2), ids(4, 2)), Change(T1, ids(1, 2), ids(5, 2))]
    move = ReplicaAssignment(ids(4, 2, 1), ids(4), ids(1))
    look = seen(t0=move.replicas, t1=ids(1, 2), moving={T0: move})
    standings, pace = standings_of(changes, look), Pace()
    sizes = {(T0, BrokerId(1)): 1000, (T1, BrokerId(1)): 1000}
    start = progress_of(changes, standings, sizes, pace, 0.0)
    assert (start.bytes_total, start.bytes_done, start.seconds_left) == (2000, 0, None)
    later = progress_of(changes, standings, {**sizes, (T0, BrokerId(4)): 500}, pace, 10.0)
    assert (later.bytes_done, later.bytes_per_second, later.seconds_left) == (500, 50.0, 30.0)
    assert (later.done, later.moving, later.share) == (0, 1, 0.25)
