"""A run on a terminal, and its summary."""

from __future__ import annotations

from kedge.execution import Progress, RateChange
from kedge.execution.flows import BrokerFlow, Flows, MoveFlow
from kedge.model import BrokerId, TopicPartition
from kedge.report.run_summary import (
    RunSummary,
    Throttled,
    Took,
    summary_lines,
    summary_of,
    summary_row,
    throttles_since,
)
from kedge.report.run_view import BROKERS_MAX, MOVES_MAX, bar, view_lines

MB = 1_000_000
B1, B4 = BrokerId(1), BrokerId(4)


def at(done: int, rate: float = 0.0) -> Progress:
    return Progress(10, done, 1, 100 * MB, 10 * done * MB, rate, None)


def move(number: int) -> MoveFlow:
    return MoveFlow(TopicPartition("t", number), B1, (B4,), 5 * MB, 10 * MB, 1.0 * MB, 5.0)


def test_a_view_has_a_bar_for_each_broker_and_a_line_for_each_move() -> None:
    brokers = (BrokerFlow(B1, 0, 0, 25 * MB, 100 * MB), BrokerFlow(B4, 50 * MB, 100 * MB))
    lines = view_lines(at(5), Flows(brokers, (move(0),)))
    assert lines == [
        "████████████████████░░░░░░░░░░░░░░░░░░░░  50.0 %",
        "5/10 partitions, 1 moving, 50.0 MB of 100.0 MB",
        "",
        "broker  in                                 out",
        "     1  ░░░░░░░░░░░░  -                    ███░░░░░░░░░  25.0 MB of 100.0 MB",
        "     4  ██████░░░░░░  50.0 MB of 100.0 MB  ░░░░░░░░░░░░  -",
        "",
        "in flight  from → to  copied             rate",
        "t-0        1 → 4      5.0 MB of 10.0 MB  1.0 MB/s  5 s left",
    ]
    assert all(len(line) <= 80 for line in lines)


def test_long_lists_are_cut_to_what_a_terminal_holds() -> None:
    brokers = tuple(BrokerFlow(BrokerId(b), b, b) for b in range(1, 31))
    lines = view_lines(at(5), Flows(brokers, tuple(map(move, range(20)))))
    assert f"and {30 - BROKERS_MAX} more brokers" in lines
    assert lines[-1] == f"and {20 - MOVES_MAX} more moves"
    assert any(line.startswith("    30  ") for line in lines)  # the busiest stay


def test_a_bar_never_leaves_its_width() -> None:
    assert [bar(share, 4) for share in (-1.0, 0.0, 0.5, 2.0)] == ["░░░░", "░░░░", "██░░", "████"]


def test_a_summary_is_about_what_this_process_has_copied() -> None:
    found = summary_of(at(2), at(10), Took(16.0), (Throttled(0.0, 10 * MB),), predicted_seconds=8.0)
    assert found == RunSummary(80 * MB, Took(16.0), (Throttled(0.0, 10 * MB),), 8.0)
    assert summary_lines(found) == [
        "80.0 MB copied in 16 s, 5.0 MB/s on average; throttle 10.0 MB/s",
        "8 s were predicted: the run took 2.00 times that",
    ]
    assert summary_row(found)["bytes_per_second"] == 5.0 * MB


def test_a_summary_leaves_pauses_out_of_what_it_compares_with_the_prediction() -> None:
    found = summary_of(at(2), at(10), Took(7216.0, None, 7200.0), (), predicted_seconds=8.0)
    assert summary_lines(found)[-1].endswith(
        "the run took 2.00 times that, without 2 h 00 min in which it was paused"
    )
    assert summary_row(found)["paused_seconds"] == 7200.0


def test_a_summary_of_a_lab_compares_lab_time_with_the_prediction() -> None:
    found = summary_of(at(2), at(10), Took(2.0, 16.0), (Throttled(0.0, 10 * MB),), 8.0)
    assert summary_lines(found) == [
        "80.0 MB copied in 2 s (16 s of lab time), 5.0 MB/s on average; throttle 10.0 MB/s",
        "8 s were predicted: the run took 2.00 times that",
    ]
    assert (summary_row(found)["seconds"], summary_row(found)["lab_seconds"]) == (2.0, 16.0)


def test_a_summary_has_the_changes_of_the_throttle_since_the_process_began() -> None:
    changes = (RateChange(90.0, MB, "old"), RateChange(160.0, 5 * MB, "slow"))
    throttles = throttles_since(100.0, 10 * MB, changes)
    assert throttles == (Throttled(0.0, 10 * MB), Throttled(60.0, 5 * MB, "slow"))
    (line,) = summary_lines(RunSummary(MB, Took(100.0), throttles, float("inf")))
    assert line.endswith("; throttle 10.0 MB/s, changed once, to 5.0 MB/s at the end")


def test_a_summary_without_bytes_or_throttle() -> None:
    assert summary_lines(RunSummary(0, Took(3.0))) == ["nothing copied, 3 s"]
    (line,) = summary_lines(RunSummary(MB, Took(1.0), throttles_since(0.0, None, ())))
    assert line.endswith("; no throttle")
