"""What is decided about a run: statuses, order, leases, judgement, journal, progress."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.errors import InvalidPlan, JournalDamaged, RefusedCommand, UnknownBroker
from kedge.execution import (
    Lease,
    Limits,
    MoveStatus,
    Observation,
    Pace,
    RunRecord,
    RunState,
    Setting,
    Sizes,
    Target,
    check_preconditions,
    in_order,
    lease_for,
    next_moves,
    read_journal,
    refuse_foreign,
    removable,
    status_of,
    statuses_of,
    still_leased,
    work_of,
)
from kedge.execution import journal as lines
from kedge.execution.schedule import Transfer, seconds_left
from kedge.model import BrokerId, ReplicaAssignment, TopicPartition
from kedge.model.runs_topic import RUNS_TOPIC
from kedge.plan import Change, Directories, PartitionReplica, Plan, Reassignment


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
        (ids(1, 2, 3), None, MoveStatus.WAITING),
        (ids(4, 2, 3, 1), ReplicaAssignment(ids(4, 2, 3, 1), ids(4), ids(1)), MoveStatus.MOVING),
        (ids(4, 2, 3), None, MoveStatus.DONE),
        (ids(2, 4, 3), None, MoveStatus.WAITING),
        (
            ids(9, 2, 3, 1),
            ReplicaAssignment(ids(9, 2, 3, 1), ids(9), ids(1)),
            MoveStatus.FOREIGN_MOVE,
        ),
        (ids(7, 8, 9), None, MoveStatus.DRIFTED),
        (None, None, MoveStatus.GONE),
    ],
)
def test_a_partition_stands_where_the_cluster_shows_it(
    present: tuple[BrokerId, ...] | None, move: ReplicaAssignment | None, expected: MoveStatus
) -> None:
    change = Change(T0, ids(1, 2, 3), ids(4, 2, 3))
    moving = {} if move is None else {T0: move}
    look = Observation(ALIVE, {} if present is None else {T0: present}, {}, moving)
    assert status_of(change, look) is expected


def test_a_move_starts_when_both_its_ends_are_free() -> None:
    changes = [
        Change(T0, ids(1, 2), ids(4, 2)),
        Change(T1, ids(1, 3), ids(5, 3)),
        Change(T2, ids(2, 3), ids(6, 3)),
    ]
    look = seen(t0=ids(1, 2), t1=ids(1, 3), t2=ids(2, 3))
    chosen = next_moves(changes, statuses_of(changes, look), look, each_way=1)
    assert [change.tp for change in chosen] == [T0, T2]  # broker 1 sends t-0 already


def test_moves_of_others_take_slots_too() -> None:
    change = Change(T0, ids(1, 2), ids(4, 2))
    other = {TopicPartition("x", 0): ReplicaAssignment(ids(4, 5), ids(4), ())}
    look = seen(t0=ids(1, 2), moving=other)
    statuses = statuses_of([change], look)
    assert next_moves([change], statuses, look, each_way=1) == []
    assert next_moves([change], statuses, look, each_way=2) == [change]


def test_a_change_that_copies_nothing_needs_no_slot() -> None:
    changes = [Change(T0, ids(1, 2), ids(4, 2)), Change(T1, ids(1, 2), ids(2, 1))]
    look = seen(t0=ids(1, 2), t1=ids(1, 2))
    chosen = next_moves(changes, statuses_of(changes, look), look, each_way=1)
    assert [change.tp for change in chosen] == [T0, T1]


def test_a_move_waits_while_a_broker_that_it_wants_is_down() -> None:
    change = Change(T0, ids(1, 2), ids(4, 2))
    look = seen(t0=ids(1, 2), alive=frozenset(ids(1, 2)))
    assert next_moves([change], statuses_of([change], look), look, each_way=9) == []


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
    chosen = next_moves(changes, statuses_of(changes, look), look, each_way=each_way)
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
    statuses = statuses_of(plan.changes, look)
    check_preconditions(plan, plan.changes, statuses, look, cluster_id=on)


def test_a_plan_that_fits_is_let_through() -> None:
    judged(seen(t0=ids(1, 2)))
    judged(seen(t0=ids(1, 2)), of=None)
    judged(seen())  # the topic is gone: nothing to be done


def test_a_plan_of_another_cluster_is_refused() -> None:
    with pytest.raises(InvalidPlan, match="for cluster c; this is cluster d"):
        judged(seen(t0=ids(1, 2)), on="d")


def test_a_partition_that_has_strayed_is_named() -> None:
    with pytest.raises(InvalidPlan, match=r"1 partition changed since the plan was made \(t-0\)"):
        judged(seen(t0=ids(5, 6)))


def test_a_partition_that_somebody_else_moves_is_named() -> None:
    move = ReplicaAssignment(ids(6, 2, 1), ids(6), ids(1))
    with pytest.raises(RefusedCommand, match=r"being moved by another reassignment \(t-0\)"):
        judged(seen(t0=move.replicas, moving={T0: move}))


def test_a_plan_for_a_dead_broker_is_refused() -> None:
    with pytest.raises(UnknownBroker, match="Broker 4 is down"):
        judged(seen(t0=ids(1, 2), alive=frozenset(ids(1, 2))))


# ---- leases -------------------------------------------------------------------------------------

RATE = {"leader.replication.throttled.rate": "9", "follower.replication.throttled.rate": "9"}


def test_a_lease_names_what_moves_and_nothing_else() -> None:
    changes = [Change(T0, ids(1, 2), ids(4, 2)), Change(T1, ids(1, 2), ids(1, 3))]
    look = seen(t0=ids(1, 2), t1=ids(1, 3))  # t-1 is there already
    lease = lease_for(changes, statuses_of(changes, look), look, 9)
    assert lease.brokers == {"1": RATE, "2": RATE, "4": RATE}
    assert lease.topics == {
        "t": {
            "leader.replication.throttled.replicas": "0:1,0:2",
            "follower.replication.throttled.replicas": "0:4",
        }
    }


@pytest.mark.parametrize("topic", ["__transaction_state", RUNS_TOPIC])
def test_topics_that_transactions_wait_for_are_not_throttled(topic: str) -> None:
    internal = TopicPartition(topic, 0)
    changes = [Change(internal, ids(1, 2), ids(3, 2)), Change(T0, ids(1, 2), ids(4, 2))]
    look = replace(seen(t0=ids(1, 2)), replicas={T0: ids(1, 2), internal: ids(1, 2)})
    lease = lease_for(changes, statuses_of(changes, look), look, 9)
    assert (lease.brokers.keys(), lease.topics.keys()) == ({"1", "2", "4"}, {"t"})


def own(lease: Lease) -> frozenset[Setting]:
    return frozenset(lease.settings())


def test_throttles_of_others_stop_a_run_before_it_starts() -> None:
    ours = Lease({"1": RATE})
    refuse_foreign(Lease({"1": RATE}), own(ours))
    with pytest.raises(RefusedCommand, match="Broker 2 has leader"):
        refuse_foreign(Lease({"2": RATE}), own(ours))


def test_only_values_that_the_run_has_set_are_removed() -> None:
    lease = Lease({"1": RATE, "2": RATE}, {"t": {"x": "0:1"}})
    changed = {**RATE, "leader.replication.throttled.rate": "77"}
    present = Lease({"1": RATE, "2": changed}, {"t": {"x": "*"}})
    doomed = removable(lease, own(lease), present)
    assert [(each.name, each.config) for each in doomed["broker"]] == [
        ("1", "leader.replication.throttled.rate"),
        ("1", "follower.replication.throttled.rate"),
        ("2", "follower.replication.throttled.rate"),
    ]
    assert doomed["topic"] == []
    assert not still_leased(lease, own(lease), Lease({"2": {next(iter(RATE)): "77"}}), ())


def test_a_value_that_was_journalled_and_then_replaced_is_known_as_ours() -> None:
    slow, fast = Lease({"1": {"rate": "1"}}), Lease({"1": {"rate": "2"}})
    record = read_journal(begun + lines.leased(slow) + lines.leased(fast))
    assert record.lease == fast
    doomed = removable(record.lease, record.own, slow)  # killed before the new value was set
    assert [(each.name, each.config) for each in doomed["broker"]] == [("1", "rate")]


def test_a_throttle_that_is_not_shown_yet_is_removed_all_the_same() -> None:
    lease = Lease({"1": RATE})
    assert removable(lease, own(lease), Lease())["broker"] == lease.settings()


def test_a_lease_lasts_until_the_broker_confirms() -> None:
    lease = Lease({"1": RATE, "2": RATE, "3": RATE}, {"t": {"x": "0:1"}})
    left = still_leased(lease, own(lease), Lease({"2": RATE}), unreached=["3"])
    assert left == Lease({"2": RATE, "3": RATE}, {})


# ---- the journal --------------------------------------------------------------------------------

begun = lines.begun(RunRecord("c", rate=9, each_way=2, begun_at=5.0, plan_file="p.json"))


def test_a_journal_adds_up_to_the_record_of_its_run() -> None:
    lease = Lease({"1": RATE})
    text = begun + lines.leased(lease) + lines.started([T0])
    text += lines.placed({PartitionReplica("t", 0, BrokerId(1)): "/a"})
    record = read_journal(text)
    assert (record.cluster_id, record.rate, record.lease) == ("c", 9, lease)
    assert (record.started, record.state) == ({T0}, RunState.PLANNED)
    assert record.log_dirs == {PartitionReplica("t", 0, BrokerId(1)): "/a"}
    left = Lease({"1": {"leader.replication.throttled.rate": "9"}})
    partly = read_journal(text + lines.released(left))
    assert partly.lease == left
    done = lines.entered(RunState.DONE, at=7.0, moved=1)
    over = read_journal(text + lines.released(Lease()) + done)
    assert not over.lease
    assert not over.own
    assert (over.state, over.begun_at, over.changed_at, over.moved) == (RunState.DONE, 5.0, 7.0, 1)


@given(st.integers(0, 500))
def test_a_journal_that_was_cut_short_has_what_was_surely_done(cut: int) -> None:
    text = begun + lines.leased(Lease({"1": RATE})) + lines.released(Lease())
    if cut < len(begun):
        with pytest.raises(JournalDamaged):
            read_journal(text[:cut])
        return
    record = read_journal(text[:cut])
    whole = text[:cut].count(b"\n")
    assert bool(record.lease) == (whole == 2)


@pytest.mark.parametrize(
    "line",
    [
        b"not json",
        b"[]",
        b"{}",
        b'{"event":"state","at":1,"state":"asleep"}',
        b'{"event":"state","at":"now","state":"done"}',
        b'{"event":"leased","brokers":[],"topics":{}}',
        b'{"event":"leased","brokers":{"1":{"x":5}},"topics":{}}',
        b'{"event":"started","partitions":[["t"]]}',
        b'{"event":"started","partitions":5}',
        b'{"event":"directories","replicas":[["t",0,"x","/a"]]}',
        b"[" * 5000 + b"]" * 5000,
    ],
)
def test_a_damaged_journal_names_its_line(line: bytes) -> None:
    with pytest.raises(JournalDamaged, match="Line 2"):
        read_journal(begun + line + b"\n" + lines.released(Lease()))
    with pytest.raises(JournalDamaged, match="Line 1"):
        read_journal(lines.released(Lease()))


# ---- log directories ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (Directories("/b"), MoveStatus.DONE),
        (Directories("/a"), MoveStatus.WAITING),
        (Directories("/a", "/b"), MoveStatus.MOVING),
        (Directories("/b", "/a"), MoveStatus.WAITING),
        (Directories(None), MoveStatus.WAITING),
        (None, MoveStatus.WAITING),
    ],
)
def test_a_partition_is_done_when_its_replicas_are_in_the_log_directories_of_the_plan(
    shown: Directories | None, expected: MoveStatus
) -> None:
    replica = PartitionReplica("t", 0, BrokerId(1))
    look = Observation(ALIVE, {T0: ids(1, 2)}, {}, {}, {} if shown is None else {replica: shown})
    change = Change(T0, ids(1, 2), ids(1, 2))
    assert status_of(change, look, Target({replica: "/b"})) is expected


def test_a_rollback_overrides_the_move_that_it_undoes_and_no_other() -> None:
    change = Change(T0, ids(4, 2), ids(1, 2))  # back from [4,2]
    forward = ReplicaAssignment(ids(4, 2, 1), ids(4), ids(1))
    look = seen(t0=forward.replicas, moving={T0: forward})
    assert status_of(change, look) is MoveStatus.FOREIGN_MOVE
    assert status_of(change, look, Target(rollback=True)) is MoveStatus.WAITING
    other = ReplicaAssignment(ids(9, 2, 1), ids(9), ids(1))
    look = seen(t0=other.replicas, moving={T0: other})
    assert status_of(change, look, Target(rollback=True)) is MoveStatus.FOREIGN_MOVE


# ---- progress -----------------------------------------------------------------------------------


def test_progress_counts_what_has_arrived_and_estimates_the_rest() -> None:
    changes = [Change(T0, ids(1, 2), ids(4, 2)), Change(T1, ids(1, 2), ids(5, 2))]
    move = ReplicaAssignment(ids(4, 2, 1), ids(4), ids(1))
    look = seen(t0=move.replicas, t1=ids(1, 2), moving={T0: move})
    statuses, pace = statuses_of(changes, look), Pace()
    sizes = {PartitionReplica("t", n, BrokerId(1)): 1000 for n in (0, 1)}
    limits = Limits(None, 2)

    def at(now: float, **more: int) -> tuple[object, ...]:
        arrived = {PartitionReplica("t", 0, BrokerId(4)): size for size in more.values()}
        work = work_of(changes, statuses, Sizes({**sizes, **arrived}), look.leaders)
        p = work.progress(limits, pace, now)
        return p.bytes_total, p.bytes_done, p.bytes_per_second, p.seconds_left, p.share

    assert at(0.0) == (2000, 0, 0.0, None, 0.0)
    assert at(10.0, arrived=500) == (2000, 500, 50.0, 30.0, 0.25)


def test_the_bound_of_a_run_is_its_busiest_broker_at_the_throttle() -> None:
    changes = [Change(T0, ids(1, 2), ids(4, 2)), Change(T1, ids(1, 2), ids(5, 2))]
    look = seen(t0=ids(1, 2), t1=ids(1, 2))
    sizes = Sizes({PartitionReplica("t", n, BrokerId(1)): 1000 for n in (0, 1)})
    work = work_of(changes, statuses_of(changes, look), sizes, {T0: BrokerId(1), T1: BrokerId(1)})
    assert work.bound_seconds(Limits(100)) == 20.0  # broker 1 sends both
    assert work.bound_seconds(Limits(None)) is None


def test_the_time_left_is_never_less_than_the_schedule_allows() -> None:
    """Recent bytes came over many brokers; what is left goes through one."""
    left = [Transfer(BrokerId(1), (BrokerId(n),), 1_000) for n in (2, 3, 4)]
    assert seconds_left(left, rate=100, each_way=2) == pytest.approx(30.0)
    spread = [Transfer(BrokerId(n), (BrokerId(n + 10),), 1_000) for n in (2, 3, 4)]
    assert seconds_left(spread, rate=100, each_way=2) == pytest.approx(10.0)
    fan_out = [Transfer(BrokerId(1), (BrokerId(2), BrokerId(3)), 1_000)]
    assert seconds_left(fan_out, rate=100, each_way=1) == pytest.approx(20.0)


@given(
    st.lists(
        st.tuples(st.integers(1, 5), st.integers(6, 9), st.integers(1, 10_000), st.booleans()),
        max_size=12,
    ),
    st.integers(1, 3),
)
def test_a_schedule_is_no_shorter_than_its_busiest_broker_and_no_longer_than_one_by_one(
    moves: list[tuple[int, int, int, bool]], each_way: int
) -> None:
    left = [Transfer(BrokerId(a), (BrokerId(b),), n, started) for a, b, n, started in moves]
    seconds = seconds_left(left, 10.0, each_way)
    ends = [sum(t.bytes_left for t in left if t.source == b) for b in range(1, 6)]
    ends += [sum(t.bytes_left for t in left if b in t.destinations) for b in range(6, 10)]
    assert seconds >= max(ends) / 10.0 - 1.0
    assert seconds <= sum(t.bytes_left for t in left) / 10.0 + 1.0
