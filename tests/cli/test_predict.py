"""`kedge predict`, and the line of `apply --dry-run`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kedge import wiring
from kedge.apply.predict_run import Circumstances, predicted
from kedge.balance import Goals, NewBroker
from kedge.cluster.log_port import ClusterClock
from kedge.cluster.memory import MemoryCluster
from kedge.cluster.memory_log import MemoryLog, MemoryTopic
from kedge.cluster.port import LogDirDescription, TopicCreation
from kedge.errors import InvalidPlan, KedgeError
from kedge.execution import Limits
from kedge.files import write_snapshot
from kedge.files.plan_files import write_plan_snapshot
from kedge.model import (
    Assignment,
    Broker,
    BrokerId,
    Capacity,
    LogDir,
    Snapshot,
    TopicPartition,
    sha256_of_snapshot,
)
from kedge.plan import Plan, Reassignment, plan_to_json
from tests.cli.cluster_commands import Desk
from tests.cli.conftest import Kedge

GB = 10**9
B1, B2, B3 = map(BrokerId, (1, 2, 3))
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def snapshot(disk: float = 1e12, appended: float = 0.0) -> Snapshot:
    """Two partitions of 10 GB on broker 1; broker 3 is half full with a third."""
    assignment = Assignment.from_mapping(
        {T0: (B1, B2), T1: (B1, B2), TopicPartition("u", 0): (B3,)}
    )
    return Snapshot.of(
        [Broker(b, capacity=Capacity(disk=disk)) for b in (B1, B2, B3)],
        assignment,
        cluster_id="c",
        leader=np.array([1, 1, 3]),
        size=np.array([10 * GB, 10 * GB, 15 * GB]),
        bytes_in=np.array([appended, appended, 0.0]),
        bytes_out=np.array([0.0, 0.0, 0.0]),
    )


def plan_of(cluster: Snapshot) -> Plan:
    entries = tuple(Reassignment.anywhere(tp, (B3, B2)) for tp in (T0, T1))
    before = {T0: (B1, B2), T1: (B1, B2)}
    return Plan(entries, before, cluster_id="c", snapshot_sha256=sha256_of_snapshot(cluster))


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    return written(tmp_path, snapshot())


def written(folder: Path, cluster: Snapshot) -> tuple[str, str]:
    (folder / "plan.json").write_bytes(plan_to_json(plan_of(cluster)))
    write_snapshot(cluster, folder / "cluster.json")
    return str(folder / "plan.json"), str(folder / "cluster.json")


def test_a_plan_is_predicted_with_its_bound_and_assumptions(
    kedge: Kedge, files: tuple[str, str]
) -> None:
    plan, cluster = files
    done = kedge("predict", plan, "--snapshot", cluster, "--throttle", "100MB")
    assert done.code == 0, done.err
    first, second, *rest = done.out.splitlines()
    assert first.startswith("takes    3 min 39 s, p10 to p90: 3 min ")
    assert first.endswith("; 2 moves, 20.0 GB to copy")
    assert second.startswith(
        "bound    3 min 20 s: broker 1 sending at the throttle; the moves take"
    )
    assert any(line.startswith("disks    fullest on the way: broker 3 at 4 %") for line in rest)
    assert any("links carry 1000 MB/s each way and disks 200 MB/s" in line for line in rest)


def test_the_json_has_every_move_disk_and_broker(kedge: Kedge, files: tuple[str, str]) -> None:
    plan, cluster = files
    done = kedge(
        *("predict", plan, "--snapshot", cluster, "--throttle", "100MB", "--output", "json"),
        *("--moves-per-broker", "1", "--network", "1GB", "--disk", "500MB"),
    )
    row = json.loads(done.out)
    assert [(each["partition"], each["start"]) for each in row["moves"]] == [(0, 0.5), (1, 109.5)]
    assert row["over_bound"] == pytest.approx(1.09, abs=0.01)
    peaks = {each["broker"]: each["peak"] for each in row["disks"]}
    assert peaks == pytest.approx({1: 20 * GB, 2: 20 * GB, 3: 35 * GB})
    assert {each["broker"]: each["in_flight_in"] for each in row["brokers"]}[3] == 10 * GB
    assert not row["problems"]
    filled = {each["broker"]: each["bytes"] for each in row["course"]["disks"]}
    assert filled[3][-1] == 35 * GB
    flights = {each["broker"]: each["in_flight_in"] for each in row["course"]["brokers"]}
    assert max(flights[3]) == 10 * GB
    assert row["course"]["start"] == 0.5


def test_the_snapshot_beside_a_plan_is_found(kedge: Kedge, files: tuple[str, str]) -> None:
    plan, _ = files
    lonely = kedge("predict", plan, "--no-throttle")
    assert lonely.code == 2
    assert "no snapshot of its cluster; add --snapshot FILE or --bootstrap-server" in lonely.err
    write_plan_snapshot(snapshot(), Path(plan))
    done = kedge("predict", plan, "--no-throttle")
    assert done.code == 0
    assert "the snapshot that the plan was made from" in done.err


def test_drawn_rates_give_a_range_which_is_the_same_again(
    kedge: Kedge, files: tuple[str, str]
) -> None:
    plan, cluster = files
    lines = [
        kedge("predict", plan, "--snapshot", cluster, "--no-throttle", "--samples", "9").out
        for _ in range(2)
    ]
    assert lines[0] == lines[1]
    assert "p10 to p90: " in lines[0]


def test_a_plan_that_would_fill_a_disk_is_refused(kedge: Kedge, tmp_path: Path) -> None:
    plan, cluster = written(tmp_path, snapshot(disk=30e9))
    done = kedge("predict", plan, "--snapshot", cluster, "--throttle", "100MB")
    assert done.code == 2
    assert "The disk of broker 3 would be full after 164 s: it would need 5.0 GB more" in done.err
    row = kedge("predict", plan, "--snapshot", cluster, "--throttle", "100MB", "--output", "json")
    assert row.code == 2
    assert [each["broker"] for each in json.loads(row.out)["problems"]] == [3]


def test_a_throttle_that_is_too_low_is_refused_with_one_that_works(
    kedge: Kedge, tmp_path: Path
) -> None:
    plan, cluster = written(tmp_path, snapshot(appended=10e6))
    done = kedge("predict", plan, "--snapshot", cluster, "--throttle", "20MB")
    assert done.code == 2
    assert "would never end at a throttle of 20 MB/s" in done.err
    needed = done.err.rsplit("--throttle ", 1)[1].split()[0]
    again = kedge("predict", plan, "--snapshot", cluster, "--throttle", needed)
    assert again.code == 0, again.err


def test_the_picture_is_a_page_of_its_own(
    kedge: Kedge, files: tuple[str, str], tmp_path: Path
) -> None:
    plan, cluster = files
    page = tmp_path / "moves.html"
    done = kedge(
        *("predict", plan, "--snapshot", cluster, "--no-throttle", "--picture", str(page)),
    )
    assert done.code == 0
    text = page.read_text()
    assert "Moves into each broker plan.json" in text
    assert "t-0, 10.0 GB" in text
    assert "<script src" not in text  # nothing to fetch


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--throttle", "1MB", "--bootstrap-server", "x:1"), "Both --snapshot and --bootstrap"),
        ((), "No throttle given"),
        (("--throttle", "1MB", "--network", "fast"), "--network: 'fast' is not an amount"),
    ],
)
def test_a_bad_request_is_one_sentence(
    kedge: Kedge, files: tuple[str, str], options: tuple[str, ...], sentence: str
) -> None:
    plan, cluster = files
    done = kedge("predict", plan, "--snapshot", cluster, *options)
    assert (done.code, done.out) == (2, "")
    assert sentence in done.err


def test_a_partition_that_the_cluster_does_not_have_is_named(
    kedge: Kedge, files: tuple[str, str], tmp_path: Path
) -> None:
    _, cluster = files
    entry = Reassignment.anywhere(TopicPartition("gone", 0), (B1,))
    other = tmp_path / "other.json"
    other.write_bytes(
        plan_to_json(replace(plan_of(snapshot()), partitions=(entry,), before={entry.tp: (B2,)}))
    )
    done = kedge("predict", str(other), "--snapshot", cluster, "--no-throttle")
    assert done.code == 2
    assert f"{other}: partitions[0]: gone-0 is not in the snapshot; use a snapshot of" in done.err


def with_dirs(*known: tuple[int, int]) -> Snapshot:
    """Three brokers with two log directories each; where the two replicas of t-0 are."""
    dirs = tuple(LogDir(path, 100e9) for path in ("/a", "/b"))
    return Snapshot.of(
        [Broker(b, log_dirs=dirs) for b in (B1, B2, B3)],
        Assignment.from_mapping({T0: (B1, B2)}),
        cluster_id="c",
        leader=np.array([1]),
        size=np.array([GB]),
        log_dir=np.array(known, np.int32) if known else None,
        log_dir_paths=["/a", "/b"],
    )


@pytest.mark.parametrize(
    ("replicas", "paths", "sentence"),
    [
        ((1, 9), ("any", "any"), "partitions[0].replicas[1]: broker 9 is not in the snapshot"),
        ((1, 3), ("any", "/nope"), "partitions[0].log_dirs[1]: broker 3 has no log directory"),
    ],
)
def test_brokers_and_directories_that_the_snapshot_lacks_are_refused(
    kedge: Kedge,
    tmp_path: Path,
    replicas: tuple[int, ...],
    paths: tuple[str, ...],
    sentence: str,
) -> None:
    write_snapshot(with_dirs((0, 0)), tmp_path / "cluster.json")
    entry = {"topic": "t", "partition": 0, "replicas": replicas, "log_dirs": paths}
    plan = tmp_path / "moves.json"
    plan.write_text(json.dumps({"version": 1, "partitions": [entry]}))
    words = ("predict", str(plan), "--snapshot", str(tmp_path / "cluster.json"), "--no-throttle")
    done = kedge(*words)
    assert (done.code, done.out) == (2, "")
    assert f"{plan}: {sentence}" in done.err


def test_a_broker_that_the_plan_adds_may_be_absent(tmp_path: Path) -> None:
    cluster = snapshot()
    entry = Reassignment.anywhere(T0, (BrokerId(4), B2))
    goals = Goals(add_brokers=(NewBroker(4),)).to_json()
    plan = Plan((entry,), {T0: (B1, B2)}, cluster_id="c", goals=goals)
    found = predicted(plan, cluster, Limits(50_000_000, 2), Circumstances(tmp_path))
    assert found.assumptions[-1] == (
        "broker 4 is to be added: its disks have room for what it gets"
    )
    with pytest.raises(InvalidPlan, match="broker 4 is not in the snapshot"):
        predicted(replace(plan, goals=None), cluster, Limits(1, 2), Circumstances(tmp_path))


@pytest.mark.parametrize(("known", "count"), [((), 2), (((0, -1),), 1), (((0, 1),), 0)])
def test_log_directories_that_are_not_known_are_an_assumption(
    tmp_path: Path, known: tuple[tuple[int, int], ...], count: int
) -> None:
    plan = Plan((Reassignment.anywhere(T0, (B3, B2)),), {T0: (B1, B2)}, cluster_id="c")
    found = predicted(plan, with_dirs(*known), Limits(None, 2), Circumstances(tmp_path))
    said = [each for each in found.assumptions if each.startswith("the log directories of")]
    assert [each.split()[4] for each in said] == ([str(count)] if count else [])


def test_a_file_of_kafkas_tool_is_predicted_on_a_live_cluster_and_by_a_dry_run(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    cluster = MemoryCluster(4)
    cluster.create_topics([TopicCreation("t", assignment={0: (B1, B2), 1: (B2, B3)})])
    desk = Desk(cluster, capsys)
    entries = [{"topic": "t", "partition": 0, "replicas": [4, 2]}]
    path = tmp_path / "moves.json"
    path.write_text(json.dumps({"version": 1, "partitions": entries}))
    row = desk.json("predict", str(path), "--throttle", "1MB")
    assert [(each["topic"], each["after"]) for each in row["moves"]] == [("t", [4, 2])]
    state = ("--state", str(tmp_path / "state"))
    dry = desk("apply", str(path), "--throttle", "1MB", "--dry-run", *state)
    assert (dry.code, dry.out) == (0, "")
    assert "prediction: takes 2 s" in dry.err


@pytest.mark.parametrize("speed", [1.0, 60.0])
def test_in_a_lab_only_the_delays_of_this_machine_are_uncertain(
    tmp_path: Path, speed: float
) -> None:
    cluster = snapshot()
    clock = ClusterClock(0.0, speed)
    around = Circumstances(tmp_path, clock=clock)
    found = predicted(plan_of(cluster), cluster, Limits(50_000_000, 2), around)
    assert found.seconds_p10 < found.seconds < found.seconds_p90
    # where between two polls the last move ends, after hundreds of them, is not known
    assert found.seconds_p90 - found.seconds_p10 < around.poll_s * speed
    assert found.seconds - found.moving_seconds < 1.7 * speed  # delays, and the last poll


@given(st.integers(1_000_000, 30_000_000_000), st.integers(1, 5))
@settings(max_examples=20, deadline=None)
def test_the_range_of_a_prediction_in_a_lab_holds_its_time(size: int, at_once: int) -> None:
    cluster = replace(snapshot(), size=np.array([size, size // 2, 0]))
    around = Circumstances(Path("none"), poll_s=0.25, clock=ClusterClock(0.0, 60.0))
    found = predicted(plan_of(cluster), cluster, Limits(50_000_000, at_once), around)
    assert found.seconds_p10 <= found.seconds <= found.seconds_p90


def test_throttles_that_rise_from_nothing_take_half_of_the_rise_longer(tmp_path: Path) -> None:
    cluster, limits = snapshot(), Limits(50_000_000, 2)

    def seconds(since_last_run_s: float, limits: Limits = limits) -> float:
        around = Circumstances(tmp_path, poll_s=0.1, since_last_run_s=since_last_run_s)
        return predicted(plan_of(cluster), cluster, limits, around).seconds

    at_once = seconds(12.0)
    assert seconds(10.0) - at_once == pytest.approx(5.5, abs=0.11)
    assert seconds(10.0, Limits(None, 2)) == seconds(12.0, Limits(None, 2))


def test_a_throttle_that_adapts_is_taken_to_stay_at_its_lowest_rate(
    kedge: Kedge, files: tuple[str, str]
) -> None:
    plan, cluster = files
    done = kedge("predict", plan, "--snapshot", cluster, "--throttle", "auto:100MB-1GB")
    assert done.out.startswith("takes    3 min 39 s")
    assert "assumed  the throttle stays at 100.0 MB/s, the lowest that it adapts to" in done.out
    row = kedge(
        *("predict", plan, "--snapshot", cluster, "--throttle", "auto:100MB-1GB"),
        *("--output", "json"),
    )
    assert "the lowest that it adapts to" in json.loads(row.out)["assumptions"][-1]


def test_a_throttle_that_adapts_begins_with_a_rate_at_which_the_plan_ends(
    kedge: Kedge, tmp_path: Path
) -> None:
    plan, cluster = written(tmp_path, snapshot(appended=10e6))
    command = ("predict", plan, "--snapshot", cluster, "--throttle")
    needed = kedge(*command, "20MB").err.rsplit("--throttle ", 1)[1].split()[0]
    wide = kedge(*command, "auto:20MB-1GB")
    assert wide.code == 0, wide.err
    (said,) = [each for each in wide.out.splitlines() if "throttle stays" in each]
    assert said.endswith("MB/s, with which it begins; at 20.0 MB/s moves would never end")
    begun = float(said.split("stays at ")[1].split()[0])
    assert begun == pytest.approx(1.1 * float(needed.removesuffix("MB")), rel=0.01)
    narrow = kedge(*command, "auto:20MB-21MB")
    assert narrow.code == 2
    assert "would never end at a throttle of 20 MB/s: " in narrow.err
    assert f"use --throttle {needed} or more" in narrow.err


def test_windows_and_an_end_are_part_of_a_prediction(kedge: Kedge, files: tuple[str, str]) -> None:
    plan, cluster = files
    command = ("predict", plan, "--snapshot", cluster, "--throttle", "100MB")
    now = datetime.now(UTC)
    late, soon = now + timedelta(hours=6), now + timedelta(minutes=1)
    opens, closes = late, late + timedelta(hours=1)
    window = ("--window", f"{opens:%H:%M}-{closes:%H:%M}")
    *_, last = kedge(*command, *window).out.splitlines()
    assert last.startswith(f"begun now, the run ends about {opens:%Y-%m-%d %H}:")
    assert last.endswith(" UTC in its windows")
    row = json.loads(kedge(*command, *window, "--output", "json").out)
    assert row["ends_at"] in last
    assert row["ends_in_time"] is None
    *_, last = kedge(*command, "--until", f"{soon:%H:%M}").out.splitlines()
    assert f"the run does not end by {soon:%Y-%m-%d %H:%M} UTC" in last
    row = json.loads(kedge(*command, "--until", f"{late:%H:%M}", "--output", "json").out)
    assert row["ends_in_time"]
    assert "begun now" not in kedge(*command).out


def test_a_plan_that_never_ends_has_no_end_in_its_windows_either(
    kedge: Kedge, tmp_path: Path
) -> None:
    plan, cluster = written(tmp_path, snapshot(appended=10e6))
    words = ("predict", plan, "--snapshot", cluster, "--throttle", "20MB")
    done = kedge(*words, "--window", "01:00-05:00")
    assert done.code == 2
    assert "begun now" not in done.out


class StoringCluster(MemoryCluster):
    """Its replicas have a megabyte each."""

    def log_dirs(
        self, brokers: Sequence[BrokerId], topics: Sequence[str] | None = None
    ) -> dict[BrokerId, tuple[LogDirDescription, ...] | KedgeError]:
        return {b: _filled(answer) for b, answer in super().log_dirs(brokers, topics).items()}


def _filled(
    answer: tuple[LogDirDescription, ...] | KedgeError,
) -> tuple[LogDirDescription, ...] | KedgeError:
    if isinstance(answer, KedgeError):
        return answer
    return tuple(
        replace(each, replicas=tuple(replace(r, size_bytes=1_000_000) for r in each.replicas))
        for each in answer
    )


def test_a_live_lab_is_predicted_in_its_own_time(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    cluster = StoringCluster(3)
    cluster.create_topics([TopicCreation("t", assignment={0: (B1, B2)})])
    desk = Desk(cluster, capsys)
    path = tmp_path / "moves.json"
    entry = {"topic": "t", "partition": 0, "replicas": [3, 2]}
    path.write_text(json.dumps({"version": 1, "partitions": [entry]}))
    fast = MemoryTopic()
    fast.clock = ClusterClock(0.0, 60.0)
    command = ("predict", str(path), "--throttle", "1MB", "--state", str(tmp_path / "state"))
    ours = desk.json(*command)["seconds"]
    with wiring.logs_from(lambda *_: MemoryLog(fast)):
        assert desk.json(*command)["seconds"] > 10 * ours  # a poll takes a minute there


def test_log_directories_have_a_throttle_of_their_own(kedge: Kedge, tmp_path: Path) -> None:
    dirs = tuple(LogDir(path, 100e9) for path in ("/a", "/b"))
    cluster = Snapshot.of(
        [Broker(B1, log_dirs=dirs)],
        Assignment.from_mapping({T0: (B1,)}),
        cluster_id="c",
        leader=np.array([1]),
        size=np.array([GB]),
        log_dir=np.array([[0]], np.int32),
        log_dir_paths=["/a", "/b"],
    )
    entry = Reassignment(T0, (B1,), ("/b",))
    made = Plan((entry,), {T0: (B1,)}, cluster_id="c", snapshot_sha256=None)
    (tmp_path / "plan.json").write_bytes(plan_to_json(made))
    write_snapshot(cluster, tmp_path / "cluster.json")
    command = ("predict", str(tmp_path / "plan.json"), "--snapshot", str(tmp_path / "cluster.json"))

    def moving(*options: str) -> float:
        return json.loads(kedge(*command, *options, "--output", "json").out)["moving_seconds"]

    slow = ("--log-dir-throttle", "10MB")
    assert moving("--no-throttle", *slow) == pytest.approx(100 / 0.92, abs=2)
    assert moving("--throttle", "500MB", *slow) == pytest.approx(100 / 0.92, abs=2)
    assert moving("--throttle", "20MB") == pytest.approx(50 / 0.92, abs=2)
