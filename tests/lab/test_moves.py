"""Data really moves: as long as bytes and rates say, in lab time."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kedge.cluster.port import LogDirDescription, Replica, broker_resource
from kedge.errors import LogDirNotFound, ReplicaNotAvailable
from kedge.lab import Lab, Traffic
from kedge.model import BrokerId, TopicPartition
from tests.lab.labs import (
    GB,
    KRAFT,
    MB,
    Times,
    change,
    create,
    isr,
    leader,
    move,
    replicas,
    running,
    throttle,
    until,
)


@pytest.fixture(params=[False, True], ids=["zookeeper", "kraft"], autouse=True)
def mode(request: pytest.FixtureRequest) -> Iterator[None]:
    """Every move is tried in both modes."""
    token = KRAFT.set(request.param)
    yield
    KRAFT.reset(token)


def lab_s(lab: Lab) -> float:
    return lab.status()["lab_ms"] / 1000


def test_a_throttled_move_takes_as_long_as_its_bytes_and_rate_say() -> None:
    with running(brokers=4, speed=100) as (lab, admin):
        create(admin, "t", (0, 1))
        lab.fill("t", GB)
        throttle(admin, "t", 10 * MB, (0, 1, 2, 3))
        times = Times(lab)
        move(admin, "t", 0, 0, 2)
        (seen,) = until(lambda: [m for m in lab.status()["moves"] if 0.2 < m["progress"] < 1])
        assert seen["adding"] == [2]
        assert seen["removing"] == [1]
        assert 0 < seen["bytes_left"] < GB
        assert times.took("t") == pytest.approx(100, rel=0.02)
        assert replicas(lab, "t") == (0, 2)
        assert lab.traffic.size_of(BrokerId(2), TopicPartition("t", 0)) == GB
        until(lambda: not lab.cluster.machines[BrokerId(1)].disks.held())


def test_bytes_of_traffic_that_are_not_in_the_log_yet_are_copied_under_the_throttle() -> None:
    with running(brokers=3, speed=100, traffic=Traffic.EVEN, rate=MB) as (lab, admin):
        create(admin, "t", (0, 2))
        lab.fast_forward(10)
        tp = TopicPartition("t", 0)
        size = lab.traffic.size_of(BrokerId(0), tp)
        assert lab.traffic.pending[tp] == size > 400 * MB
        throttle(admin, "t", 10 * MB, (0, 1, 2))
        times = Times(lab)
        move(admin, "t", 0, 0, 1)
        assert times.took("t") > size / (10 * MB)
        assert all({0, 2} <= set(isr) or set(isr) == {0, 1} for isr in times.isrs)
        assert lab.traffic.size_of(BrokerId(1), tp) >= size


def test_a_throttle_can_be_changed_while_data_moves() -> None:
    with running(brokers=3, speed=100) as (lab, admin):
        create(admin, "t", (0,))
        lab.fill("t", GB)
        throttle(admin, "t", 1_000, (0, 1))  # would take days
        times = Times(lab)
        move(admin, "t", 0, 1)
        until(lambda: lab.cluster.bandwidth.copies.in_progress)
        throttle(admin, "t", 100 * MB, (0, 1))
        assert times.took("t") < 1_000


def test_without_a_throttle_the_link_is_the_limit_and_moves_share_it() -> None:
    with running(brokers=3, speed=20, link_rate=50 * MB) as (lab, admin):
        create(admin, "t", (0,), (0,))
        lab.fill("t", GB)
        times = Times(lab)
        begin = {TopicPartition("t", n): (BrokerId(n + 1),) for n in (0, 1)}
        assert admin.alter_reassignments(begin) == dict.fromkeys(begin)
        assert times.took("t", 0) == pytest.approx(40, rel=0.02)  # 2 GB out of one card
        assert times.took("t", 1) == pytest.approx(40, rel=0.02)


def test_a_slow_disk_slows_copies_down() -> None:
    with running(brokers=2, speed=50, disk_rate=100 * MB) as (lab, admin):
        create(admin, "t", (0,))
        lab.fill("t", GB)
        lab.inject("slow-disk", 1, 10)
        times = Times(lab)
        move(admin, "t", 0, 1)
        assert times.took("t") == pytest.approx(100, rel=0.02)


def test_a_move_goes_on_when_the_controller_changes_and_its_source_dies() -> None:
    with running(brokers=4, speed=60) as (lab, admin):
        create(admin, "t", (0, 1))
        lab.fill("t", GB)
        throttle(admin, "t", 20 * MB, (0, 1, 2, 3))
        move(admin, "t", 0, 2, 3)
        until(lambda: any(m["progress"] > 0.1 for m in lab.status()["moves"]))
        lab.inject("controller-failover")
        lab.inject("broker-crash", 0)
        until(lambda: replicas(lab, "t") == (2, 3))
        assert isr(lab, "t") == [2, 3]
        assert leader(lab, "t") in (2, 3)


def test_a_cancelled_move_leaves_nothing_behind() -> None:
    with running(brokers=3, speed=20) as (lab, admin):
        create(admin, "t", (0,))
        lab.fill("t", GB)
        throttle(admin, "t", MB, (0, 1))
        move(admin, "t", 0, 1)
        until(lambda: lab.status()["moves"])
        tp = TopicPartition("t", 0)
        assert admin.alter_reassignments({tp: None}) == {tp: None}
        until(lambda: replicas(lab, "t") == (0,))
        until(lambda: not lab.cluster.machines[BrokerId(1)].disks.held())
        until(lambda: not lab.cluster.bandwidth.copies.in_progress)


# ---- between directories ----


def test_pending_bytes_of_traffic_are_copied_to_another_directory() -> None:
    with running(brokers=1, speed=100, traffic=Traffic.EVEN, rate=MB) as (lab, admin):
        create(admin, "t", (0,))
        lab.fast_forward(10)
        tp, me = TopicPartition("t", 0), BrokerId(0)
        size = lab.traffic.size_of(me, tp)
        rate = {"replica.alter.log.dirs.io.max.bytes.per.second": str(10 * MB)}
        change(admin, broker_resource(me), rate)
        (source,) = place(admin.log_dirs([me])[me], tp)
        target = "/data/d1" if source == "/data/d0" else "/data/d0"
        began = lab_s(lab)
        admin.alter_log_dirs({Replica("t", 0, me): target})
        until(lambda: lab.cluster.machines[me].disks.directory_of(tp) == target)
        assert lab_s(lab) - began > size / (10 * MB)


def place(states: object, tp: TopicPartition) -> dict[str, tuple[int, bool]]:
    assert isinstance(states, tuple)
    found: dict[str, tuple[int, bool]] = {}
    for state in states:
        assert isinstance(state, LogDirDescription)
        for replica in state.replicas:
            if replica.tp == tp:
                found[state.path] = (replica.size_bytes, replica.future)
    return found


def test_a_replica_moves_to_another_directory_with_its_progress_to_be_seen() -> None:
    with running(brokers=1, speed=50, disk_bytes=10 * GB) as (lab, admin):
        create(admin, "t", (0,))
        lab.fill("t", GB)
        tp, me = TopicPartition("t", 0), BrokerId(0)
        change(
            admin,
            broker_resource(me),
            {"replica.alter.log.dirs.io.max.bytes.per.second": str(20 * MB)},
        )
        (source,) = place(admin.log_dirs([me])[me], tp)
        target = "/data/d1" if source == "/data/d0" else "/data/d0"
        began = lab_s(lab)
        replica = Replica("t", 0, me)
        assert admin.alter_log_dirs({replica: target}) == {replica: None}
        seen = until(lambda: {k: v for k, v in place(admin.log_dirs([me])[me], tp).items() if v[1]})
        assert 0 <= seen[target][0] < GB
        until(lambda: place(admin.log_dirs([me])[me], tp) == {target: (GB, False)})
        assert lab_s(lab) - began >= 50
        states = admin.log_dirs([me])[me]
        assert isinstance(states, tuple)
        usable = {state.path: (state.usable_bytes, state.total_bytes) for state in states}
        assert usable == {source: (5 * GB, 5 * GB), target: (4 * GB, 5 * GB)}


def test_a_replica_that_is_to_come_is_put_where_it_was_wished_for() -> None:
    with running(brokers=2, log_dirs=4) as (_, admin):
        create(admin, "t", (0,))
        replica = Replica("t", 0, BrokerId(1))
        refusal = admin.alter_log_dirs({replica: "/data/d3"})[replica]
        assert isinstance(refusal, ReplicaNotAvailable)
        move(admin, "t", 0, 1)
        tp = TopicPartition("t", 0)
        until(lambda: "/data/d3" in place(admin.log_dirs([BrokerId(1)])[BrokerId(1)], tp))


def test_an_unknown_directory_is_refused() -> None:
    with running(brokers=1) as (_, admin):
        create(admin, "t", (0,))
        replica = Replica("t", 0, BrokerId(0))
        assert isinstance(admin.alter_log_dirs({replica: "/data/d7"})[replica], LogDirNotFound)


@pytest.mark.parametrize("at", ["crash", "deletion"])
def test_a_move_between_directories_ends_or_waits_with_its_broker(at: str) -> None:
    with running(brokers=2, speed=50) as (lab, admin):
        create(admin, "t", (0,))
        lab.fill("t", GB)
        me, tp = BrokerId(0), TopicPartition("t", 0)
        rate = {"replica.alter.log.dirs.io.max.bytes.per.second": str(20 * MB)}
        change(admin, broker_resource(me), rate)
        (source,) = place(admin.log_dirs([me])[me], tp)
        target = "/data/d1" if source == "/data/d0" else "/data/d0"
        admin.alter_log_dirs({Replica("t", 0, me): target})
        until(lambda: any(m["copied"] > 100 * MB for m in lab.status()["log_dir_moves"]))
        if at == "deletion":
            assert admin.delete_topics(["t"]) == {"t": None}
            until(lambda: not lab.status()["log_dir_moves"])
            return
        lab.inject("broker-crash", 0)
        (stopped,) = lab.status()["log_dir_moves"]
        assert 100 * MB < stopped["copied"] < GB
        lab.inject("broker-start", 0)
        until(lambda: lab.cluster.machines[me].disks.directory_of(tp) == target)
