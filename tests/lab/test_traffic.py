"""What is written in the background, by rule and seed, and what is told of it."""

from __future__ import annotations

import itertools
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.brokers.log import ReplicaLog
from kedge.cluster.port import TopicCreation
from kedge.errors import InvalidRequest
from kedge.lab import Traffic
from kedge.lab.shares import bytes_in_minute, shares
from kedge.lab.traffic import MINUTE_MS
from kedge.model import BrokerId, TopicPartition
from tests.lab.labs import GB, MB, create, isr, running, until

COLUMNS = [
    *("cluster", "broker", "topic", "partition", "ts", "ingest_ts", "seq"),
    *("is_leader", "size_bytes", "bytes_in", "bytes_out", "isr", "rf"),
]

topologies = st.dictionaries(
    st.text("abc", min_size=1, max_size=4), st.integers(1, 9).map(range), max_size=6
)


@given(topologies, st.sampled_from([Traffic.EVEN, Traffic.SKEWED]), st.integers(0, 99))
def test_shares_sum_up_to_one_and_the_seed_alone_decides_them(
    topics: dict[str, range], traffic: Traffic, seed: int
) -> None:
    found = shares(topics, traffic, seed)
    assert len(found) == sum(map(len, topics.values()))
    assert not found or sum(found.values()) == pytest.approx(1)
    assert found == shares(dict(reversed(topics.items())), traffic, seed)


def test_skewed_shares_follow_zipf_over_topics_and_are_uneven_within() -> None:
    found = shares({name: range(4) for name in "abcdef"}, Traffic.SKEWED, 5)
    by_topic = [sum(share for tp, share in found.items() if tp.topic == t) for t in "abcdef"]
    most = sorted(by_topic, reverse=True)
    assert [most[0] / share for share in most] == pytest.approx([1, 2, 3, 4, 5, 6])
    within = [share for tp, share in found.items() if tp.topic == "a"]
    assert max(within) / min(within) == pytest.approx(4**0.6)
    assert set(shares({"a": range(4), "b": range(2)}, Traffic.EVEN, 5).values()) == {1 / 6}


def test_a_minute_is_near_its_share_of_the_rate() -> None:
    tp = TopicPartition("t", 0)
    day = [bytes_in_minute(0.5, 1_000_000, tp, minute, 3) for minute in range(1440)]
    assert sum(day) / 1440 == pytest.approx(0.5 * 60_000_000, rel=0.02)
    assert max(day) <= 0.5 * 60_000_000 * 1.3 * 1.1


def test_hours_of_samples_are_one_row_per_replica_and_minute() -> None:
    with running(brokers=3, racks=3, traffic=Traffic.SKEWED, rate=10 * MB) as (lab, admin):
        admin.create_topics([TopicCreation("a", 4, 3), TopicCreation("b", 2, 2)])
        rows = lab.sample(120)
        assert all(list(row) == COLUMNS for row in rows)
        assert len(rows) == 120 * (4 * 3 + 2 * 2)
        keys = {(r["broker"], r["topic"], r["partition"], r["ts"]) for r in rows}
        assert len(keys) == len(rows)
        times = sorted({datetime.fromisoformat(row["ts"]) for row in rows})
        assert {(b - a).total_seconds() for a, b in itertools.pairwise(times)} == {60}
        for row in rows:
            late = datetime.fromisoformat(row["ingest_ts"]) - datetime.fromisoformat(row["ts"])
            assert 0 <= late.total_seconds() < 6
            assert row["isr"] == row["rf"] == (3 if row["topic"] == "a" else 2)
            assert row["is_leader"] or row["bytes_out"] == 0
        written = sum(row["bytes_in"] for row in rows if row["is_leader"])
        assert written == pytest.approx(120 * 60 * 10 * MB, rel=0.2)


def test_sizes_grow_by_what_was_written_on_every_replica_alike() -> None:
    with running(brokers=3, traffic=Traffic.EVEN) as (lab, admin):
        create(admin, "t", (0, 1, 2))
        rows = lab.sample(90)
        sizes = {b: [r["size_bytes"] for r in rows if r["broker"] == b] for b in (0, 1, 2)}
        came = [r["bytes_in"] for r in rows if r["broker"] == 1]
        assert sizes[0] == sizes[1] == sizes[2]
        assert [b - a for a, b in zip(sizes[1], sizes[1][1:], strict=False)] == came[1:]


def test_the_same_seed_gives_the_same_traffic_and_another_does_not() -> None:
    def traffic(seed: int) -> list[tuple[object, ...]]:
        with running(brokers=3, traffic=Traffic.SKEWED, seed=seed) as (lab, admin):
            admin.create_topics([TopicCreation("a", 3, 2), TopicCreation("b", 3, 2)])
            rows = lab.sample(3)
        names = ("broker", "topic", "partition", "seq", "is_leader", "bytes_in", "bytes_out")
        return [tuple(row[name] for name in names) for row in rows]

    first = traffic(7)
    assert traffic(7) == first
    assert traffic(8) != first


def test_brokers_that_are_down_send_no_rows_and_others_see_a_smaller_isr() -> None:
    with running(brokers=3, speed=60) as (lab, admin):
        create(admin, "t", (0, 1, 2))
        lab.inject("broker-crash", 2)
        until(lambda: isr(lab, "t") == [0, 1])
        rows = lab.sample(1)
        assert [(r["broker"], r["isr"], r["rf"]) for r in rows] == [(0, 2, 3), (1, 2, 3)]


def test_a_partition_without_its_minimum_of_replicas_takes_nothing() -> None:
    with running(brokers=2, speed=60, traffic=Traffic.EVEN) as (lab, admin):
        create(admin, "t", (0, 1), min_insync_replicas="2")
        assert all(row["bytes_in"] > 0 for row in lab.sample(2))
        lab.inject("broker-crash", 1)
        until(lambda: isr(lab, "t") == [0])
        assert all(row["bytes_in"] == 0 for row in lab.sample(2))


def test_retention_by_time_and_by_size_keeps_sizes_bounded() -> None:
    with running(brokers=2, traffic=Traffic.EVEN, rate=2 * MB) as (lab, admin):
        create(admin, "hour", (0, 1), retention_ms=str(60 * MINUTE_MS))
        create(admin, "small", (1, 0), retention_bytes=str(GB))
        create(admin, "forever", (0, 1), retention_ms="-1")
        rows = lab.sample(400)
        last = {(r["topic"], r["broker"]): r["size_bytes"] for r in rows}
        an_hour = 60 * 40 * MB  # a third of 2 MB/s: 40 MB a minute
        for broker in (0, 1):
            assert an_hour * 0.6 < last["hour", broker] < an_hour * 1.5
            assert GB * 0.9 < last["small", broker] < GB * 5
            assert last["forever", broker] > 400 * 25 * MB
        logs = lab.world.machines[BrokerId(0)].disks.held()
        assert max(len(log.records) for log in logs.values()) < 400


def test_a_replica_that_is_far_behind_begins_where_the_log_begins() -> None:
    with running(brokers=2, speed=60, traffic=Traffic.EVEN, rate=MB) as (lab, admin):
        create(admin, "t", (0, 1), retention_ms=str(30 * MINUTE_MS))
        lab.inject("broker-crash", 1)
        until(lambda: isr(lab, "t") == [0])
        lab.rush(200)
        lab.inject("broker-start", 1)
        until(lambda: isr(lab, "t") == [0, 1])
        tp = TopicPartition("t", 0)
        logs: list[ReplicaLog | None] = [
            lab.world.machines[BrokerId(b)].disks.find(tp) for b in (0, 1)
        ]
        assert logs[0] is not None
        assert logs[1] is not None
        assert logs[0].start_offset > 0
        assert logs[1].records == logs[0].records[-len(logs[1].records) :]


def test_traffic_leaves_less_of_a_link_for_moves() -> None:
    with running(brokers=2, traffic=Traffic.EVEN, rate=50 * MB, link_rate=100 * MB) as (
        lab,
        admin,
    ):
        create(admin, "t", (0,))
        lab.rush(2)
        use = lab.world.roads.transfers
        began = use.start(1e12, [("in", BrokerId(0))], lambda: None)
        assert use.rate(began) == pytest.approx(50e6, rel=0.45)


@pytest.mark.parametrize("minutes", [0, -1, 1_000_001])
def test_minutes_that_cannot_be_sampled_are_refused(minutes: int) -> None:
    with running(brokers=1) as (lab, _), pytest.raises(InvalidRequest, match="cannot be sampled"):
        lab.sample(minutes)


def test_the_tables_beside_the_samples_tell_brokers_and_assignment(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    from kedge.lab.sampling import write_tables

    with running(brokers=2, racks=2, disk_bytes=5 * GB) as (lab, admin):
        create(admin, "t", (1, 0))
        looker = lab.looker
        write_tables(tmp_path, looker.broker_rows("c"), looker.partition_rows("c"))
    brokers = pq.read_table(tmp_path / "brokers.parquet").to_pylist()
    assert brokers == [
        {"cluster": "c", "broker": b, "rack": f"r{b}", "disk_capacity_bytes": 5 * GB}
        for b in (0, 1)
    ]
    (partition,) = pq.read_table(tmp_path / "assignment.parquet").to_pylist()
    assert partition == {
        "cluster": "c",
        "topic": "t",
        "partition": 0,
        "replicas": [1, 0],
        "leader": 1,
    }
