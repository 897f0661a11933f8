"""The lines and rows of runs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kedge.apply import Cancelled, Outcome
from kedge.apply.run_status import RunStatus
from kedge.errors import InvalidReplicaAssignment
from kedge.execution import (
    Lease,
    MoveStatus,
    Observation,
    Progress,
    RunPrediction,
    RunRecord,
    RunState,
    Work,
    journal,
)
from kedge.execution.journal import read_journal
from kedge.model import TopicPartition
from kedge.report.elapsed import Elapsed
from kedge.report.runs import (
    cancelled_lines,
    cancelled_row,
    elapsed_of,
    lease_rows,
    outcome_lines,
    outcome_row,
    progress_line,
    run_lines,
    status_lines,
    unreleased_lines,
)

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
LEASE = Lease({"4": {"leader.replication.throttled.rate": "1000"}}, {})
DONE = Outcome(moved=2, left={})


def test_a_complete_run_is_done_in_one_line() -> None:
    assert outcome_lines(DONE, "r1") == ["2 moved; run r1 is done"]
    assert outcome_row(DONE, "r1")["complete"] is True


def test_a_stopped_run_names_what_is_left_and_the_next_commands() -> None:
    stopped = Outcome(moved=1, left={T1: MoveStatus.WAITING}, stopped=True)
    assert outcome_lines(stopped, "r1") == [
        "1 moved, 1 not started; run r1 is stopped",
        "Continue with kedge resume, or undo it with kedge rollback",
    ]
    assert outcome_row(stopped, "r1")["left"] == [
        {"topic": "t", "partition": 1, "status": MoveStatus.WAITING.value}
    ]


def test_refused_and_skipped_partitions_are_told_apart() -> None:
    refusal = InvalidReplicaAssignment("broker 9 is unknown")
    outcome = Outcome(0, {T1: MoveStatus.WAITING}, {T0: MoveStatus.DRIFTED}, {T1: refusal})
    first, second, *_ = outcome_lines(outcome, "r1")
    assert first == "0 moved, 1 skipped (t-0: moved by someone else), 1 set aside; run r1 is failed"
    assert second == "  t-1: broker 9 is unknown"
    assert outcome_row(outcome, "r1")["refused"] == [
        {"topic": "t", "partition": 1, "why": "broker 9 is unknown"}
    ]


def test_throttles_that_are_left_are_named_with_their_place() -> None:
    (line,) = unreleased_lines(LEASE)
    assert line.startswith("1 throttle setting left on broker 4, which could not be changed")
    assert unreleased_lines(Lease()) == []
    assert outcome_lines(replace(DONE, unreleased=LEASE), "r1")[1] == line
    assert lease_rows("r1", LEASE) == [
        {
            "run": "r1",
            "of": "broker 4",
            "config": "leader.replication.throttled.rate",
            "value": "1000",
        }
    ]


@pytest.mark.parametrize(
    ("cancelled", "line"),
    [
        (Cancelled([T0]), "1 move of run r1 cancelled; its throttles are gone"),
        (Cancelled(), "0 moves of run r1 cancelled; its throttles are gone"),
        (Cancelled([T0], unreleased=LEASE), "1 move of run r1 cancelled"),
    ],
)
def test_a_cancel_counts_its_moves(cancelled: Cancelled, line: str) -> None:
    assert cancelled_lines(cancelled, "r1")[0] == line
    assert cancelled_row(cancelled, "r1")["cancelled"] == [
        tp._asdict() for tp in cancelled.cancelled
    ]


def test_moves_that_are_not_back_yet_ask_for_another_cancel() -> None:
    (line,) = cancelled_lines(Cancelled([T0], [T0], LEASE), "r1")
    assert line.startswith("1 move of run r1 not back yet (t-0)")
    assert line.endswith("throttles stay meanwhile. Run kedge cancel again")


def test_progress_shows_only_what_is_known() -> None:
    start = Progress(3, 0, 0, 0, 0, 0.0, None)
    assert progress_line(start) == "0/3 partitions, 0 moving"
    later = Progress(3, 1, 2, 3_000_000, 1_500_000, 50_000.0, 30.0)
    assert progress_line(later) == (
        "1/3 partitions, 2 moving, 1.5 MB of 3.0 MB, 50.0 kB/s, 30 s left"
    )


def paused_run(*more: bytes) -> RunRecord:
    """A run that was predicted to take 100 s, and was paused 10 s after its beginning."""
    begun = RunRecord("c", begun_at=1000.0, prediction=RunPrediction(1000.0, 100.0))
    states = (
        journal.entered(RunState.MOVING, at=1000.0),
        journal.entered(RunState.PAUSED, at=1010.0),
    )
    return read_journal(b"".join((journal.begun(begun), *states, *more)))


@pytest.mark.parametrize(
    ("more", "seconds", "predicted"),
    [
        ((), 10.0, 100.0),
        ((journal.entered(RunState.MOVING, at=4000.0),), 1010.0, 100.0),
        ((journal.predicted(50.0, at=4000.0),), 0.0, 50.0),
        (
            (
                journal.predicted(50.0, at=4000.0),
                journal.entered(RunState.MOVING, at=4030.0),
                journal.entered(RunState.DONE, at=4060.0),
            ),
            30.0,
            50.0,
        ),
    ],
)
def test_pauses_are_no_part_of_the_time_beside_the_prediction(
    more: tuple[bytes, ...], seconds: float, predicted: float
) -> None:
    record = paused_run(*more)
    seen = Observation(frozenset(), {}, {}, {})
    status = RunStatus("r", record, record.state, (), {}, seen, Work({}, (), ()))
    assert elapsed_of(status, 5000.0) == Elapsed(seconds, predicted)


def test_no_runs_are_one_line() -> None:
    assert run_lines([]) == ["No runs"]


def test_runs_are_a_table() -> None:
    row = {
        "run": "2026-11-16T01-30-00Z-3f9c",
        "kind": "apply",
        "state": "done",
        "done": 2,
        "partitions": 2,
        "begun_at": "2026-11-16T01:30:00Z",
        "elapsed_seconds": 61.0,
        "undoes": None,
        "plan": "plan.json",
    }
    header, line = run_lines([row])
    assert header.startswith("RUN ")
    assert header.endswith("STATE  IN PLACE  BEGUN                 ELAPSED     PLAN OR RUN UNDONE")
    assert line.endswith("done   2/2       2026-11-16T01:30:00Z  1 min 01 s  plan.json")


def test_a_status_names_moves_brokers_that_are_down_and_the_throttle() -> None:
    lines = status_lines(
        {
            "run": "r2",
            "kind": "rollback",
            "undoes": "r1",
            "plan": "",
            "state": "moving",
            "begun_at": "2026-11-16T01:30:00Z",
            "elapsed_seconds": 5.0,
            "partitions": {"done": 1, "waiting": 0, "moving": 1},
            "bytes_done": 10,
            "bytes_total": 20,
            "moving": [{"topic": "t", "partition": 1}],
            "brokers_down": [4],
            "throttled": True,
            "rate": 1000,
            "owner": "desk:17",
            "owner_seen_at": "2026-11-17T08:00:00Z",
            "why": "paused by kedge pause",
            "adaptive": [1_000, 2_000],
            "windows": ["01:00-05:00[Europe/Berlin]"],
            "set_aside": [{"topic": "t", "partition": 2, "why": "refused"}],
            "rate_changes": [],
        }
    )
    assert lines == [
        "run r2 (rollback of run r1): moving",
        "begun 2026-11-16T01:30:00Z, 5 s elapsed",
        "partitions: 1 done, 1 moving",
        "bytes: 10 B of 20 B",
        "moving: t-1",
        "down: broker 4",
        "throttled to 1.0 kB/s in and out of each broker",
        "owner desk:17, last seen 2026-11-17T08:00:00Z",
        "paused by kedge pause",
        "throttle adapts between 1.0 kB/s and 2.0 kB/s",
        "moves start in 01:00-05:00[Europe/Berlin]",
        "set aside: t-2: refused",
    ]
