"""What follows the moves of a drain: what is left, registrations."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from kedge.apply import Waiting, drain
from kedge.apply.jobs import Drain
from kedge.balance import Goals
from kedge.cluster.memory import MemoryCluster
from kedge.cluster.port import (
    LogDirDescription,
    Replica,
    TopicCreation,
)
from kedge.cluster.snapshot_taker import take_snapshot
from kedge.errors import LogDirNotFound, RefusedCommand
from kedge.model import BrokerId, TopicPartition
from kedge.model.runs_topic import RUNS_TOPIC
from tests.cluster.faulty import FaultyCluster

B1, B2, B3 = map(BrokerId, (1, 2, 3))


class Clock:
    """Time that passes while it is waited for."""

    def __init__(self) -> None:
        self.now = 0.0

    @property
    def waiting(self) -> Waiting:
        return Waiting(self.sleep, lambda: self.now)

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.mark.parametrize(("brokers", "factor"), [(2, 1), (3, 2), (4, None)])
def test_the_topic_of_runs_stops_no_drain(brokers: int, factor: int | None) -> None:
    cluster = MemoryCluster(brokers)
    replicas = tuple(map(BrokerId, range(1, min(brokers, 3) + 1)))
    cluster.create_topics([TopicCreation(RUNS_TOPIC, assignment={0: replicas})])
    snapshot = take_snapshot(cluster, taken_at=datetime(2026, 11, 18, tzinfo=UTC))
    chosen = Drain((B1,)).goals_on(snapshot, Goals()).replication_factor
    assert chosen == ({} if factor is None else {RUNS_TOPIC: factor})
    given = Goals(replication_factor={RUNS_TOPIC: 3})
    assert Drain((B1,)).goals_on(snapshot, given) == given


def test_copies_between_log_directories_count_as_left() -> None:
    cluster = MemoryCluster(3)
    cluster.create_topics([TopicCreation("t", assignment={0: (B1, B2), 1: (B2,)})])
    cluster.hold_moves = True
    path = [each.path for each in answer_of(cluster, B2)][1]
    cluster.alter_log_dirs({Replica("t", 1, B2): path})
    clock = Clock()
    left = drain.what_is_left(cluster, [B2, B3], clock.waiting)
    assert left.replicas == {B2: [TopicPartition("t", 0), TopicPartition("t", 1)]}
    assert clock.now >= drain.DELETE_S
    assert drain.what_is_left(cluster, [B3], Clock().waiting).empty


def answer_of(cluster: MemoryCluster, broker: BrokerId) -> Any:
    return cluster.log_dirs([broker])[broker]


def test_replicas_that_are_being_deleted_are_waited_for() -> None:
    cluster = MemoryCluster(3)
    cluster.create_topics([TopicCreation("t", assignment={0: (B1,)})])
    faulty = FaultyCluster(cluster)
    stale = cluster.log_dirs([B1])[B1]
    faulty.change_response("log_dirs", lambda _answers: {B2: stale}, times=2)
    clock = Clock()
    assert drain.what_is_left(faulty.port, [B2], clock.waiting).empty
    assert clock.now == pytest.approx(2 * drain.PAUSE_S)


def test_a_broker_that_is_down_is_reported_as_not_read() -> None:
    cluster = MemoryCluster(3)
    cluster.stop_broker(B3)
    left = drain.what_is_left(cluster, [B3], Clock().waiting)
    assert (left.empty, left.unread) == (True, [B3])


def test_a_broker_with_a_log_directory_that_is_offline_is_not_said_to_be_empty() -> None:
    cluster = MemoryCluster(3)
    faulty = FaultyCluster(cluster)
    failed = LogDirDescription("/data/b", error=LogDirNotFound("offline"))
    faulty.change_response("log_dirs", lambda answers: {B2: (answers[B2][0], failed)})
    left = drain.what_is_left(faulty.port, [B2], Clock().waiting)
    assert (left.empty, left.unread, left.offline) == (True, [B2], {B2: ["/data/b"]})
    ending = Drain((B2,), unregister=True).finish(faulty.port, Clock().waiting)
    assert ending.lines[0] == (
        "Broker 2 is empty in the metadata; what broker 2 holds in /data/b is not known: offline"
    )
    assert ending.row["offline_log_dirs"] == {"2": ["/data/b"]}
    assert (ending.complete, ending.row["unregistered"]) == (False, [])


def test_no_broker_is_unregistered_while_one_of_them_is_alive() -> None:
    cluster = MemoryCluster(3)
    cluster.stop_broker(B3)
    with pytest.raises(RefusedCommand, match="broker 2 cannot be unregistered while alive"):
        drain.unregister(cluster, [B2, B3])
    assert cluster.unregister_broker(B3) is None  # it is still registered


def test_a_drain_of_two_brokers_is_repeated_after_one_was_unregistered() -> None:
    cluster = MemoryCluster(3)
    cluster.stop_broker(B2)
    cluster.stop_broker(B3)
    assert cluster.unregister_broker(B2) is None
    ending = Drain((B2, B3), unregister=True).finish(cluster, Clock().waiting)
    assert ending.complete
    assert ending.row["unregistered"] == [B3]
    assert ending.lines[1:] == ["Broker 3 unregistered", "Not registered (any more): broker 2"]
