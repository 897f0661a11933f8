"""`kedge drain`, `fill`, `replication`, `balance` and `undo` on a cluster in memory."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from kedge.apply import Runs, new_record
from kedge.cli.job_options import JobOptions
from kedge.cluster.memory import MemoryCluster
from kedge.cluster.port import TopicCreation
from kedge.execution import Limits, RateRange, RunKind, Steering
from kedge.execution.windows import parse_window
from kedge.files import read_snapshot, sha256_of_snapshot
from kedge.model import BrokerId, TopicPartition
from kedge.plan import Plan, Reassignment
from tests.cli.cluster_commands import Desk

B1, B2, B3, B4 = map(BrokerId, (1, 2, 3, 4))
T, U = {0: (B1, B2), 1: (B2, B3), 2: (B3, B1)}, {0: (B3,), 1: (B1,)}


@pytest.fixture
def cluster() -> MemoryCluster:
    """Four brokers without racks; the fourth holds nothing."""
    made = MemoryCluster(4)
    made.create_topics([TopicCreation("t", assignment=T), TopicCreation("u", assignment=U)])
    return made


@pytest.fixture
def desk(cluster: MemoryCluster, capsys: pytest.CaptureFixture[str]) -> Desk:
    return Desk(cluster, capsys)


@pytest.fixture
def state(tmp_path: Path) -> tuple[str, str]:
    return ("--state", str(tmp_path / "state"))


def replicas(desk: Desk) -> dict[str, list[tuple[int, ...]]]:
    topics = desk.json("topics", "describe")["topics"]
    return {t["topic"]: [tuple(p["replicas"]) for p in t["partitions"]] for t in topics}


def on_broker(desk: Desk, broker: int) -> int:
    return sum(broker in each for lists in replicas(desk).values() for each in lists)


def run_dir(state: tuple[str, str]) -> Path:
    (found,) = (each for each in Path(state[1], "memory").iterdir() if each.is_dir())
    return found


def run_dir_is_absent(state: tuple[str, str]) -> bool:
    return not Path(state[1]).exists() or not any(Path(state[1]).rglob("plan.json"))


def test_a_drained_broker_is_empty_and_draining_it_again_does_nothing(
    desk: Desk, state: tuple[str, str]
) -> None:
    done: dict[str, Any] = desk.json("drain", "3", "--yes", *state)
    assert (done["job"], done["complete"], done["done"]) == ("drain", True, 3)
    assert done["left_on_brokers"] == {}
    assert on_broker(desk, 3) == 0
    (first, second) = desk.lines("drain", "3", "--yes", *state)
    assert first == "Nothing to move: broker 3 holds no replica"
    assert second == "Broker 3 is empty"
    again = desk.json("drain", "3", "--yes", *state)
    assert (again["complete"], again["run"], again["done"]) == (True, None, 0)


def test_a_drain_moves_only_what_must_move(desk: Desk, state: tuple[str, str]) -> None:
    before = replicas(desk)
    desk.json("drain", "3", "--yes", *state)
    changed = {
        (topic, number)
        for topic, lists in replicas(desk).items()
        for number, now in enumerate(lists)
        if now != before[topic][number]
    }
    assert changed == {("t", 1), ("t", 2), ("u", 0)}


def test_the_plan_and_its_snapshot_are_kept_with_the_run(
    desk: Desk, state: tuple[str, str]
) -> None:
    desk.json("drain", "3", "--yes", *state)
    plan = json.loads((run_dir(state) / "plan.json").read_text())
    snapshot = read_snapshot(run_dir(state) / "plan.snapshot.json.gz")
    assert plan["snapshot_sha256"] == sha256_of_snapshot(snapshot)
    assert "0 errors" in desk_verify(desk, run_dir(state) / "plan.json")


def desk_verify(desk: Desk, plan: Path) -> str:
    from kedge.cli.app import run

    assert run(["plan", "verify", str(plan)]) == 0
    return desk.capsys.readouterr().err


def test_undo_brings_everything_back(desk: Desk, state: tuple[str, str]) -> None:
    before = replicas(desk)
    desk.json("drain", "3", "--yes", *state)
    assert desk.json("undo", "--yes", *state)["complete"]
    assert replicas(desk) == before
    assert "was rolled back by run" in desk.refusal("undo", "--yes", *state)


def test_a_dry_run_shows_the_plan_and_changes_nothing(desk: Desk, state: tuple[str, str]) -> None:
    before = replicas(desk)
    told = desk.lines("drain", "3", "--dry-run", *state)
    assert "moves   3 replicas, 0 leaders" in told
    assert "3 partitions: 0 in place, 3 to change, 0 B to copy" in told
    assert desk.json("drain", "3", "--dry-run", *state)["replicas_moved"] == 3
    assert replicas(desk) == before
    assert not list(Path(state[1]).rglob("journal.jsonl"))


def test_nothing_is_changed_without_a_terminal_and_yes(desk: Desk, state: tuple[str, str]) -> None:
    before = replicas(desk)
    outcome = desk("drain", "3", *state)
    assert outcome.code == 2
    assert outcome.err.splitlines()[-1].startswith("kedge: Not confirmed")
    assert replicas(desk) == before


def test_a_new_broker_is_filled(desk: Desk, state: tuple[str, str]) -> None:
    assert on_broker(desk, 4) == 0
    assert desk.json("fill", "4", "--yes", *state)["complete"]
    assert on_broker(desk, 4) == 2
    assert desk.lines("fill", "4", "--yes", *state) == [
        "Nothing to move: the cluster is as it should be"
    ]


def test_a_topic_gets_its_replication_factor(desk: Desk, state: tuple[str, str]) -> None:
    assert desk.json("replication", "u=3", "t=1", "--yes", *state)["complete"]
    now = replicas(desk)
    assert {len(each) for each in now["u"]} == {3}
    assert {len(each) for each in now["t"]} == {1}
    assert "Nothing to move" in desk.lines("replication", "u=3", "--yes", *state)[0]


def test_balance_evens_out_what_brokers_hold(desk: Desk, state: tuple[str, str]) -> None:
    assert desk.json("balance", "--yes", *state)["complete"]
    assert [on_broker(desk, broker) for broker in (1, 2, 3, 4)] == [2, 2, 2, 2]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("drain", "9"), "Broker 9 is not in the cluster; its brokers are 1, 2, 3, …"),
        (("drain", "1", "2", "3", "4"), "no other broker is alive to take the replicas"),
        (("drain", "1,2,3"), "Replication factor 2 of topic t needs 2 brokers; 1 stay"),
        (("drain", "3", "3"), "broker 3 is listed twice"),
        (("drain", "3:r1"), "the cluster knows the rack; write 3"),
        (("drain", "x"), "'x' is not a broker id"),
        (("drain", "3", "--unregister", "--throttle", "x"), "--throttle"),
        (("fill", "9"), "Broker 9 is not in the cluster"),
        (("replication", "t=5"), "Replication factor 5 of topic t needs 5 brokers; 4 stay"),
        (("replication", "t"), "'t' is not TOPIC=N; write orders=3"),
        (("replication", "t=2", "t=3"), "t is given two replication factors"),
        (("replication", "none=2"), "No topic matches 'none'"),
        (("balance", "--throttle", "1MB", "--no-throttle"), "Both --throttle and --no-throttle"),
        (("undo",), "No run of this cluster found"),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, tuple) else "",
)
def test_what_cannot_be_done_is_refused_in_one_sentence(
    words: tuple[str, ...], sentence: str, desk: Desk, state: tuple[str, str]
) -> None:
    before = replicas(desk)
    assert sentence in desk.refusal(*words, "--yes", *state)
    assert replicas(desk) == before


def test_a_broker_that_is_down_is_neither_drained_nor_filled(
    desk: Desk, cluster: MemoryCluster, state: tuple[str, str]
) -> None:
    cluster.stop_broker(B3)
    refusal = desk.refusal("drain", "3", "--yes", *state)
    assert refusal.startswith("Broker 3 is down and holds 3 replicas; start it first")
    assert "Broker 3 is down and can receive" in desk.refusal("fill", "3", "--yes", *state)


def test_a_broker_is_unregistered_once_it_is_stopped(
    desk: Desk, cluster: MemoryCluster, state: tuple[str, str]
) -> None:
    outcome = desk("drain", "3", "--unregister", "--yes", *state)
    assert outcome.code == 1
    assert outcome.out.splitlines()[2:] == [
        "Broker 3 is empty",
        "Not unregistered: broker 3 cannot be unregistered while alive; stop it, then run "
        "kedge drain 3 --unregister",
    ]
    refusal = desk.refusal("drain", "3", "--unregister", "--yes", *state)
    assert refusal.startswith("broker 3 cannot be unregistered while alive; stop it")
    cluster.stop_broker(B3)
    done = desk.json("drain", "3", "--unregister", "--yes", *state)
    assert (done["complete"], done["unregistered"]) == (True, [3])
    assert "no broker with this id is registered" in desk.refusal(
        "drain", "3", "--unregister", "--yes", *state
    )


def test_a_broker_that_is_stopped_and_empty_is_drained_together_with_one_that_is_not(
    desk: Desk, cluster: MemoryCluster, state: tuple[str, str]
) -> None:
    desk("drain", "3", "--yes", *state)
    cluster.stop_broker(B3)
    outcome = desk("drain", "2", "3", "--unregister", "--yes", *state)
    assert outcome.out.splitlines()[-2:] == [
        "Brokers 2, 3 are empty in the metadata; no log directory read of Broker 3",
        "Not unregistered: broker 2 cannot be unregistered while alive; stop it, then run "
        "kedge drain 2 3 --unregister",
    ]


def test_zookeeper_mode_has_no_registrations_to_remove(
    desk: Desk, cluster: MemoryCluster, state: tuple[str, str]
) -> None:
    cluster.kraft = False
    refusal = desk.refusal("drain", "3", "--unregister", "--yes", *state)
    assert refusal.startswith("--unregister: this cluster keeps no registrations")
    assert on_broker(desk, 3) == 3


def test_a_run_that_is_not_finished_is_named_before_anything_is_planned(
    desk: Desk, cluster: MemoryCluster, state: tuple[str, str]
) -> None:
    desk.json("drain", "3", "--no-throttle", "--yes", *state)
    journal = run_dir(state) / "journal.jsonl"
    lines = journal.read_text().splitlines()
    moving = next(i for i, line in enumerate(lines) if '"state":"moving"' in line)
    journal.write_text("\n".join(lines[: moving + 1]) + "\n")
    cluster.hold_moves = True
    assert "is not finished; continue it with kedge resume" in desk.refusal(
        "balance", "--yes", *state
    )


def test_events_that_cannot_be_written_are_refused_before_anything_is_changed(
    desk: Desk, state: tuple[str, str], tmp_path: Path
) -> None:
    before, events = replicas(desk), tmp_path / "absent" / "events.jsonl"
    refused = desk("drain", "3", "--yes", "--events", str(events), *state)
    assert (refused.code, refused.out) == (2, "")
    assert str(events) in refused.err
    assert replicas(desk) == before
    assert not Path(state[1]).exists()


def test_jobs_have_the_options_of_apply(desk: Desk, state: tuple[str, str]) -> None:
    steered = ("--throttle", "auto:1MB-4MB", "--window", "01:00-05:00", "--hard-window", *state)
    lines = desk.lines("drain", "3", "--dry-run", *steered)
    assert lines[-1].startswith("prediction: takes ")
    takes, ends = lines[-1].split("; ")
    assert takes.endswith(
        ", at the lowest rate of its throttle, without the time outside its windows"
    )
    assert re.fullmatch(r"ends about \d{4}-\d\d-\d\d 0[1-4]:\d\d UTC in its windows", ends)
    row = desk.json("drain", "3", "--dry-run", *steered)["prediction"]
    assert row["ends_at"] in ends
    assert row["ends_in_time"] is None
    assert run_dir_is_absent(state)


def test_a_job_of_a_closed_window_starts_no_move_and_stops_when_its_time_is_over(
    desk: Desk, state: tuple[str, str]
) -> None:
    before = replicas(desk)
    soon = (datetime.now(UTC) + timedelta(seconds=2)).isoformat()
    opens = f"{datetime.now(UTC) + timedelta(hours=6):%H:%M}"
    closes = f"{datetime.now(UTC) + timedelta(hours=7):%H:%M}"
    timed = ("--window", f"{opens}-{closes}", "--until", soon, "--interval", "0.1")
    ended = desk("drain", "3", "--yes", *timed, *state, "--output", "json")
    stopped = json.loads(ended.out)
    assert (ended.code, stopped["job"], stopped["complete"]) == (1, "drain", False)
    assert replicas(desk) == before


def test_undo_takes_over_the_throttle_and_no_window(tmp_path: Path) -> None:
    runs = Runs(tmp_path, "memory")
    steering = Steering(
        log_dir_rate=5,
        adaptive=RateRange(1000, 2000),
        windows=(parse_window("01:00-05:00"),),
        hard_window=True,
        until=4e9,
    )
    record = replace(new_record("memory", rate=1000, each_way=3), steering=steering)
    tp = TopicPartition("t", 0)
    plan = Plan((Reassignment.anywhere(tp, (B3,)),), {tp: (B2,)}, cluster_id="memory")
    run = runs.begin(plan, record)
    options = JobOptions().options_to_undo(runs, None)
    assert options.limits == Limits(1000, 3)
    assert options.steering == Steering(log_dir_rate=5, adaptive=RateRange(1000, 2000))
    runs.begin(plan, replace(record, kind=RunKind.ROLLBACK, undoes=run.name))
    assert JobOptions().options_to_undo(runs, run.name).steering == steering
