"""The text of plans and tables."""

from __future__ import annotations

from kedge.balance import Progress
from kedge.model import BrokerId, TopicPartition
from kedge.plan import Plan, Reassignment, Summary
from kedge.report.plan_summary import plan_lines, progress_text
from kedge.report.text_table import table_lines

B1, B2 = BrokerId(1), BrokerId(2)
T0 = TopicPartition("t", 0)
ENTRY = Reassignment(T0, (B2,), ("any",))


def test_a_table_aligns_names_left_and_figures_right() -> None:
    lines = table_lines(("name", "size"), [("a", "10"), ("long name", "9")], right=(1,))
    assert lines == ["name       size", "a            10", "long name     9"]


def test_a_table_shows_names_as_they_are() -> None:
    (_, line) = table_lines(("name",), [("[red]:smile:\x1b[0m",)])
    assert line == "[red]:smile:\\x1b[0m"


def test_a_table_never_wraps_a_long_row() -> None:
    lines = table_lines(("name",), [("x" * 500,)])
    assert lines == ["name", "x" * 500]


def test_the_progress_of_a_search_names_its_bound() -> None:
    at = Progress("drain", 0.1, 2.2e12, 2e12, 30, 4)
    assert progress_text(at) == (
        "drain: 30 moves, 2.2 TB (bound 2.0 TB, +10.0 %), 4 brokers outside 10.0 %"
    )


def test_a_plan_without_a_summary_is_counted() -> None:
    assert plan_lines(Plan((ENTRY,), {T0: (B1,)})) == ["1 partitions change"]


def test_a_summary_shows_balance_cost_and_notes() -> None:
    summary = Summary(
        replicas_moved=1,
        leaders_moved=1,
        bytes_moved=1_100_000,
        bytes_moved_lower_bound=1_000_000,
        imbalance_before={"disk": 1.74},
        imbalance_after={"disk": 1.02},
        imbalance_lower_bound={"disk": 1.0},
        eta_seconds=90.0,
        peak_disk={B1: 0.2, B2: 0.61},
    )
    plan = Plan((ENTRY,), {T0: (B1,)}, waves=((0,),), summary=summary, notes=("no rack is named",))
    assert plan_lines(plan) == [
        "fullest ÷ mean  before  after  best possible",
        "disk             1.740  1.020          1.000",
        "",
        "moves   1 replicas, 1 leaders",
        "bytes   1.1 MB, at least 1.0 MB must move (+10.0 %)",
        "time    1 min 30 s; 1 waves",
        "disks   fullest on the way: broker 2 at 61 %",
        "note    no rack is named",
    ]
