"""What `kedge apply` and its siblings predict before they ask, keep, and refuse."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kedge.cluster.memory import MemoryCluster
from kedge.cluster.port import LogDirDescription, Replica, StoredReplica, TopicCreation
from kedge.cluster.snapshot_taker import take_snapshot
from kedge.errors import KedgeError
from kedge.execution.journal import read_journal
from kedge.files.plan_files import write_plan_snapshot
from kedge.model import BrokerId, TopicPartition, sha256_of_snapshot
from kedge.model.amounts import bytes_text
from kedge.plan import Plan, Reassignment, plan_to_json
from tests.cli.cluster_commands import Desk

B1, B2, B3, B4 = map(BrokerId, (1, 2, 3, 4))
GB = 10**9


class SizedCluster(MemoryCluster):
    """A cluster whose replicas have 10 GB each, and whose log directories have a size."""

    room = 100 * GB

    def log_dirs(
        self, brokers: Sequence[BrokerId], topics: Sequence[str] | None = None
    ) -> dict[BrokerId, tuple[LogDirDescription, ...] | KedgeError]:
        found = super().log_dirs(brokers, topics)
        return {broker: self._sized(dirs) for broker, dirs in found.items()}

    def _sized(
        self, dirs: tuple[LogDirDescription, ...] | KedgeError
    ) -> tuple[LogDirDescription, ...] | KedgeError:
        if isinstance(dirs, KedgeError):
            return dirs
        return tuple(
            replace(
                each,
                replicas=tuple(replace(one, size_bytes=10 * GB) for one in each.replicas),
                total_bytes=self.room,
            )
            for each in dirs
        )


@pytest.fixture
def cluster() -> SizedCluster:
    made = SizedCluster(4)
    made.create_topics(
        [
            TopicCreation("t", assignment={0: (B1, B2), 1: (B2, B3)}),
            TopicCreation("u", assignment={0: (B1, B2)}),
        ]
    )
    return made


@pytest.fixture
def desk(cluster: SizedCluster, capsys: pytest.CaptureFixture[str]) -> Desk:
    return Desk(cluster, capsys)


@pytest.fixture
def state(tmp_path: Path) -> tuple[str, str]:
    return ("--state", str(tmp_path / "state"))


@pytest.fixture
def moves(tmp_path: Path) -> str:
    return written(tmp_path / "moves.json", ("t", 0), ("u", 0))


def written(path: Path, *partitions: tuple[str, int]) -> str:
    entries = [{"topic": t, "partition": p, "replicas": [4, 2]} for t, p in partitions]
    path.write_text(json.dumps({"version": 1, "partitions": entries}))
    return str(path)


def with_traffic(path: Path, cluster: MemoryCluster, topic: str) -> Path:
    """A plan that moves a topic from broker 1 to 4; its snapshot has 1 MB/s for each partition."""
    now = take_snapshot(cluster, taken_at=datetime(2026, 11, 18, tzinfo=UTC))
    count = len(now.assignment)
    loaded = replace(now, bytes_in=np.full(count, 1e6), bytes_out=np.zeros(count))
    moved = now.assignment.keys()[now.assignment.rows_of_topic(topic)]
    plan = Plan(
        tuple(Reassignment.anywhere(tp, (B4, B2)) for tp in moved),
        dict.fromkeys(moved, (B1, B2)),
        cluster_id=now.cluster_id,
        snapshot_sha256=sha256_of_snapshot(loaded),
    )
    path.write_bytes(plan_to_json(plan))
    write_plan_snapshot(loaded, path)
    return path


def journal(state: tuple[str, str]) -> Path:
    return max(Path(state[1]).rglob("journal.jsonl"))


def dry_row(desk: Desk, *words: str) -> Any:
    return desk.json(*words, "--dry-run")


def test_a_run_is_compared_with_its_prediction_while_it_works_and_at_its_end(
    desk: Desk, moves: str, state: tuple[str, str], tmp_path: Path
) -> None:
    events = tmp_path / "events.jsonl"
    command = ("apply", moves, "--throttle", "100MB", "--yes", *state)
    done = desk(*command, "--events", str(events), "--output", "json")
    assert done.code == 0, done.err
    predicted = json.loads(done.out)["summary"]["predicted_seconds"]
    assert 200 < predicted < 300  # 20 GB at 92 % of the throttle
    assert " of 3 min 39 s predicted" in done.err
    rows = [json.loads(line) for line in events.read_text().splitlines()]
    assert rows[0]["predicted_seconds"] == predicted
    assert {each["predicted_seconds"] for each in rows if each["event"] == "progress"} == {
        predicted
    }
    record = read_journal(journal(state).read_bytes())
    assert record.prediction is not None
    assert record.prediction.seconds == pytest.approx(predicted, abs=0.1)
    assert desk.json("status", *state)["prediction"]["predicted_seconds"] == predicted
    assert any("3 min 39 s predicted" in line for line in desk.lines("status", *state))


@pytest.mark.parametrize("command", [("rollback", "--throttle", "100MB"), ("undo",)])
def test_the_way_back_is_predicted_too(
    desk: Desk, moves: str, state: tuple[str, str], command: tuple[str, ...]
) -> None:
    desk.json("apply", moves, "--throttle", "100MB", "--yes", *state)
    row = dry_row(desk, *command, *state)
    assert (row["dry_run"], row["action"], row["kind"]) == (True, "roll_back", "rollback")
    assert row["prediction"]["bytes_copied"] == 20 * GB
    summary = desk.json(*command, "--yes", *state)["summary"]
    assert summary["predicted_seconds"] == pytest.approx(row["prediction"]["seconds"], abs=6)


class HalfCopied(SizedCluster):
    """Replicas that are being added have a part of their bytes."""

    arrived = 9 * GB

    def _sized(
        self, dirs: tuple[LogDirDescription, ...] | KedgeError
    ) -> tuple[LogDirDescription, ...] | KedgeError:
        found = super()._sized(dirs)
        if isinstance(found, KedgeError):
            return found
        return tuple(
            replace(each, replicas=tuple(map(self._part, each.replicas))) for each in found
        )

    def _part(self, stored: StoredReplica) -> StoredReplica:
        return replace(stored, size_bytes=self.arrived) if stored.future else stored

    def log_dirs(
        self, brokers: Sequence[BrokerId], topics: Sequence[str] | None = None
    ) -> dict[BrokerId, tuple[LogDirDescription, ...] | KedgeError]:
        found = super().log_dirs(brokers, topics)
        adding = {tp: each.adding for tp, each in self.reassignments().items()}
        for broker, dirs in found.items():
            coming = [tp for tp, ids in adding.items() if broker in ids]
            if isinstance(dirs, KedgeError) or not coming:
                continue
            parts = tuple(StoredReplica(tp, self.arrived, 0) for tp in coming)
            first = replace(dirs[0], replicas=(*dirs[0].replicas, *parts))
            found[broker] = (first, *dirs[1:])
        return found


def test_what_has_arrived_already_is_not_predicted_again(
    capsys: pytest.CaptureFixture[str], moves: str, state: tuple[str, str]
) -> None:
    cluster = HalfCopied(4)
    cluster.create_topics([TopicCreation(name, assignment={0: (B1, B2)}) for name in ("t", "u")])
    desk, speed = Desk(cluster, capsys), ("--throttle", "100MB", *state)
    whole = dry_row(desk, "apply", moves, *speed)["prediction"]
    assert whole["bytes_copied"] == 20 * GB
    cluster.hold_moves = True
    cluster.alter_reassignments({TopicPartition("t", 0): (B4, B2)})
    rest = dry_row(desk, "apply", moves, *speed)["prediction"]
    assert {each["topic"]: each["bytes"] for each in rest["moves"]} == {"t": GB, "u": 10 * GB}
    assert rest["seconds"] == pytest.approx(0.55 * whole["seconds"], rel=0.03)
    peaks = {each["broker"]: each["peak"] for each in rest["disks"] if each["log_dir"] is None}
    assert peaks[4] == 20 * GB, "what has arrived counts once"
    live = desk.json("predict", moves, *speed)
    assert live["bytes_copied"] == 11 * GB
    cluster.alter_reassignments({TopicPartition("t", 0): None})
    assert desk.json("predict", moves, *speed)["bytes_copied"] == 20 * GB


def test_a_copy_between_log_directories_goes_on_with_what_is_left(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, state: tuple[str, str]
) -> None:
    cluster = HalfCopied(2)
    cluster.create_topics([TopicCreation("t", assignment={0: (B1, B2)})])
    cluster.hold_moves = True
    cluster.alter_log_dirs({Replica("t", 0, B1): "/data/b"})
    entry = {"topic": "t", "partition": 0, "replicas": [1, 2], "log_dirs": ["/data/b", "any"]}
    path = tmp_path / "moves.json"
    path.write_text(json.dumps({"version": 1, "partitions": [entry]}))
    desk, words = Desk(cluster, capsys), (str(path), "--throttle", "100MB", *state)
    for row in (dry_row(desk, "apply", *words)["prediction"], desk.json("predict", *words)):
        assert row["bytes_copied"] == GB
        peaks = {(each["broker"], each["log_dir"]): each["peak"] for each in row["disks"]}
        assert peaks[1, "/data/b"] == 10 * GB


def test_a_run_that_continues_is_predicted_anew(
    desk: Desk, moves: str, state: tuple[str, str]
) -> None:
    desk.json("apply", moves, "--throttle", "100MB", "--yes", *state)
    path = journal(state)
    lines = path.read_text().splitlines(keepends=True)
    moving = next(i for i, line in enumerate(lines) if '"state":"moving"' in line)
    path.write_text("".join(lines[: moving + 1]))
    begun = read_journal(path.read_bytes()).prediction
    desk.json("resume", *state)
    again = read_journal(path.read_bytes()).prediction
    assert begun is not None
    assert again is not None
    assert again.at > begun.at
    assert again.seconds < begun.seconds  # everything was in place


def test_a_journal_of_an_earlier_version_has_no_prediction(
    desk: Desk, moves: str, state: tuple[str, str]
) -> None:
    desk.json("apply", moves, "--throttle", "100MB", "--yes", *state)
    path = journal(state)
    first, *rest = path.read_text().splitlines(keepends=True)
    begun = json.loads(first)
    del begun["predicted_s"]
    path.write_text(json.dumps(begun) + "\n" + "".join(rest))
    assert desk.json("status", *state)["prediction"] is None


def test_apply_refuses_a_plan_that_fills_a_disk_as_predict_does(
    desk: Desk, cluster: SizedCluster, moves: str, state: tuple[str, str]
) -> None:
    cluster.room = 5 * GB
    speed = ("--throttle", "100MB", *state)
    for last in ("--dry-run", "--yes"):
        refused = desk("apply", moves, *speed, last)
        assert (refused.code, refused.out) == (2, "")
        assert "of broker 4 would be full after" in refused.err.splitlines()[-1]
    refused = desk("apply", moves, *speed, "--dry-run", "--output", "json")
    assert refused.code == 2
    assert json.loads(refused.out)["prediction"]["problems"][0]["broker"] == 4
    assert not list(Path(state[1]).rglob("journal.jsonl"))


def test_a_run_whose_throttle_adapts_begins_with_a_rate_at_which_its_moves_end(
    desk: Desk, cluster: SizedCluster, state: tuple[str, str], tmp_path: Path
) -> None:
    """Each move alone ends at 2.2 MB/s; replication to replicas that have arrived takes more."""
    cluster.create_topics([TopicCreation("v", assignment=dict.fromkeys(range(12), (B1, B2)))])
    made = with_traffic(tmp_path / "plan.json", cluster, "v")
    command = ("apply", str(made), "--throttle")
    for low in ("5MB", "auto:5MB-6MB"):
        refused = desk(*command, low, "--yes", *state)
        assert refused.code == 2
        assert "would never end at a throttle of 5 MB/s" in refused.err
    outcome = desk(*command, "auto:5MB-1GB", "--yes", *state)
    assert outcome.code == 0, outcome.err
    rate = read_journal(journal(state).read_bytes()).rate
    assert rate is not None
    assert 10_000_000 < rate < 20_000_000
    begins = bytes_text(rate)
    assert f"in and out of each broker, beginning with {begins}/s" in outcome.err
    assert f", at {begins}/s, with which its throttle begins" in outcome.err


def test_a_topic_that_was_deleted_does_not_count(
    desk: Desk, cluster: SizedCluster, state: tuple[str, str], tmp_path: Path
) -> None:
    made = tmp_path / "plan.json"
    desk.json("plan", "--remove-brokers", "1", "--tolerance", "1", "--out", str(made))
    cluster.delete_topics(["u"])
    row = dry_row(desk, "apply", str(made), "--throttle", "100MB", *state)
    assert {each["topic"] for each in row["prediction"]["moves"]} == {"t"}
    assert desk.json("apply", str(made), "--throttle", "100MB", "--yes", *state)["complete"]


def test_what_is_skipped_does_not_count(
    desk: Desk, cluster: SizedCluster, state: tuple[str, str], tmp_path: Path
) -> None:
    made = tmp_path / "plan.json"
    desk.json("plan", "--remove-brokers", "1", "--tolerance", "1", "--out", str(made))
    cluster.delete_topics(["u"])
    cluster.create_topics([TopicCreation("u", assignment={0: (B3,)})])
    skipping = ("--throttle", "100MB", "--skip-drifted", *state)
    row = dry_row(desk, "apply", str(made), *skipping)
    assert [each["topic"] for each in row["skipped"]] == ["u"]
    assert {each["topic"] for each in row["prediction"]["moves"]} == {"t"}


def test_a_prediction_that_fails_stops_no_run(
    desk: Desk, moves: str, state: tuple[str, str]
) -> None:
    rates = Path(state[1]) / "memory" / "rates.jsonl"
    rates.parent.mkdir(parents=True)
    rates.write_text("damaged\n")
    done = desk("apply", moves, "--throttle", "100MB", "--yes", *state)
    assert done.code == 0, done.err
    assert "note: no prediction: " in done.err


def test_the_outcome_of_a_job_has_its_summary(desk: Desk, state: tuple[str, str]) -> None:
    done = desk.json("drain", "1", "--throttle", "100MB", "--yes", *state)
    assert done["summary"].keys() >= {"bytes_copied", "seconds", "bytes_per_second"}
    assert done["summary"]["predicted_seconds"] > 100
