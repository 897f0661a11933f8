"""The options that steer runs, and the commands that change them, on a cluster in memory."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kedge.apply import Runs, new_record
from kedge.cli.steering_options import (
    SteeringOptions,
    parse_duration,
    parse_until,
    steering_of,
)
from kedge.cluster.memory import MemoryCluster
from kedge.cluster.port import TopicCreation
from kedge.execution import RateRange, Steering
from kedge.execution.adaptive_throttle import DEFAULT_RANGE, parse_throttle
from kedge.model import BrokerId, TopicPartition
from kedge.model.parse_amounts import RATE_LEAST
from kedge.plan import Plan, Reassignment
from tests.cli.cluster_commands import Desk

B1, B2 = map(BrokerId, (1, 2))
NOON = 1_790_000_000 - 1_790_000_000 % 86_400 + 12 * 3600


@pytest.fixture
def desk(capsys: pytest.CaptureFixture[str]) -> Desk:
    cluster = MemoryCluster(4)
    cluster.create_topics([TopicCreation("t", assignment={0: (B1, B2)})])
    return Desk(cluster, capsys)


@pytest.fixture
def apply(tmp_path: Path) -> tuple[str, ...]:
    entries = [{"topic": "t", "partition": 0, "replicas": [4, 2]}]
    path = tmp_path / "moves.json"
    path.write_text(json.dumps({"version": 1, "partitions": entries}))
    return ("apply", str(path), "--state", str(tmp_path / "state"), "--yes")


def test_prometheus_is_for_a_throttle_that_adapts(desk: Desk, apply: tuple[str, ...]) -> None:
    words = (*apply, "--throttle", "1MB", "--prometheus", "http://127.0.0.1:1")
    assert "--prometheus needs a throttle that adapts" in desk.refusal(*words)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("50MB", (50_000_000, None)),
        ("auto", (DEFAULT_RANGE.low, DEFAULT_RANGE)),
        ("AUTO:10MB-100MB", (10_000_000, RateRange(10_000_000, 100_000_000))),
        ("auto:5MB-5MB", (5_000_000, RateRange(5_000_000, 5_000_000))),
    ],
)
def test_throttles_are_rates_or_ranges(text: str, expected: object) -> None:
    assert parse_throttle(text, "--throttle") == expected


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--throttle", "auto:10MB"), "has no range"),
        (("--throttle", "auto:100MB-10MB"), "write auto:10MB-100MB"),
        (("--throttle", "auto:1-2"), "less than 1 kB/s"),
        (("--throttle", "automatic"), "is not an amount of bytes"),
        (("--throttle", "1MB", "--log-dir-throttle", "7"), "--log-dir-throttle 7 is 7 bytes/s"),
        (("--throttle", "1MB", "--window", "01:00-01:00"), "is empty"),
        (("--throttle", "1MB", "--window", "01:00-02:00[X/Y]"), "is not a time zone"),
        (("--throttle", "1MB", "--until", "tomorrow"), "is not a time"),
        (("--throttle", "1MB", "--until", "2001-01-01T00:00Z"), "has passed"),
        (("--throttle", "1MB", "--until", "05:00[Mars]"), "is not a time zone"),
        (("--throttle", "1MB", "--stuck-after", "soon"), "is not a duration"),
        (("--throttle", "1MB", "--stuck-after", "0m"), "is not a duration"),
    ],
)
def test_bad_options_are_refused_in_one_sentence_and_change_nothing(
    desk: Desk, apply: tuple[str, ...], options: tuple[str, ...], why: str
) -> None:
    assert why in desk.refusal(*apply, *options)
    assert not Path(apply[3]).exists()


def test_times_and_durations() -> None:
    assert parse_until("13:00", NOON) == NOON + 3600
    assert parse_until("11:00", NOON) == NOON + 23 * 3600
    assert parse_until("19:00[Asia/Kathmandu]", NOON) == NOON + 75 * 60
    texts = ("90", "90s", "1.5m", "2min", "1h")
    assert [parse_duration(each, "x") for each in texts] == [90, 90, 90, 120, 3600]


def test_a_run_that_continues_is_steered_as_before_unless_it_is_told_otherwise() -> None:
    before = steering_of(
        SteeringOptions(window=["01:00-02:00"], hard_window=True, until="13:00", stuck_after="1h"),
        RateRange(RATE_LEAST, 5000),
        now=NOON,
    )
    assert steering_of(None, before.adaptive, before, now=NOON) == before
    later = steering_of(SteeringOptions(window=["03:00-04:00"]), None, before, now=NOON + 7200)
    assert (str(later.windows[0]), later.hard_window) == ("03:00-04:00[UTC]", True)
    assert (later.until, later.adaptive) == (None, None)  # its time has passed
    assert steering_of(None, None, now=NOON) == Steering()


def test_what_was_chosen_is_shown_before_and_after(desk: Desk, apply: tuple[str, ...]) -> None:
    window = ("--window", "00:00-24:00")
    done = desk(*apply, "--throttle", "auto:1MB-9MB", *window, "--until", "23:59")
    assert done.code == 0, done.err
    assert "moves start in 00:00-24:00[UTC]; those under way at its end may end later" in done.err
    assert "no move starts after" in done.err
    status = desk.json("status", *apply[2:4])
    assert (status["adaptive"], status["windows"]) == ([1_000_000, 9_000_000], ["00:00-24:00[UTC]"])
    assert (status["rate_changes"], status["set_aside"]) == ([], [])
    lines = desk.lines("status", *apply[2:4])
    assert "throttle adapts between 1.0 MB/s and 9.0 MB/s" in lines


@pytest.mark.parametrize("words", [("throttle", "--rate", "2MB"), ("pause",), ("continue",)])
def test_requests_without_a_run_are_refused(
    desk: Desk, apply: tuple[str, ...], words: tuple[str, ...]
) -> None:
    assert "No run of this cluster found" in desk.refusal(*words, *apply[2:4])


def test_a_rate_and_its_removal_exclude_each_other(desk: Desk, apply: tuple[str, ...]) -> None:
    refusal = desk.refusal("throttle", "--rate", "2MB", "--clear", *apply[2:4])
    assert refusal.startswith("Both --clear and a rate are given")


def test_the_rate_of_a_run_that_is_not_at_work_is_kept_for_resume(
    desk: Desk, apply: tuple[str, ...]
) -> None:
    tp = TopicPartition("t", 0)
    plan = Plan((Reassignment.anywhere(tp, (BrokerId(4), B2)),), {tp: (B1, B2)})
    runs = Runs(Path(apply[3]), "memory")
    runs.begin(plan, new_record("memory", rate=1_000_000, each_way=2))
    row = desk.json("throttle", "--rate", "2MB", *apply[2:4])
    assert (row["rate"], row["at_work"], row["unconfirmed"]) == (2_000_000, False, [])
    said = desk.lines("throttle", "--rate", "3MB", *apply[2:4])
    assert said[1] == "No process is at work on it; kedge resume uses the new rate"
    resumed = desk("resume", *apply[2:4], "--yes")
    assert resumed.code == 0, resumed.err
    assert [each.rate for each in runs.all()[0].record().rate_changes] == [2_000_000, 3_000_000]
    assert runs.all()[0].record().rate == 3_000_000
