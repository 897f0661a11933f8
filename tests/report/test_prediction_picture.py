"""The chart of a prediction: its bars, its unit of time, the line of the fastest run."""

from __future__ import annotations

from typing import Any

import pytest

from kedge.execution import Limits, Target
from kedge.execution.prediction import (
    BrokerEnvironment,
    Disk,
    Environment,
    Prediction,
    Timing,
    predict,
)
from kedge.model import BrokerId, TopicPartition
from kedge.plan import Change, PartitionReplica
from kedge.report.course_picture import course_figures
from kedge.report.plan_report import moves_over_time
from kedge.report.prediction import prediction_row
from kedge.report.prediction_picture import gantt_figure, gantt_html

GB = 10**9
B1, B2, B3 = map(BrokerId, (1, 2, 3))
TP = TopicPartition("t", 0)


def predicted(size: int) -> Prediction:
    """A replica of broker 1 goes to broker 3, that of broker 2 to another directory."""
    disks = tuple(Disk(path, 0.0, 10_000.0 * GB) for path in ("/a", "/b"))
    replica = PartitionReplica(*TP, B2)
    around = Environment(
        {broker: BrokerEnvironment(disks) for broker in (B1, B2, B3)},
        log_dirs={replica: "/a"},
        timing=Timing(throttle_share=1.0),
    )
    return predict(
        *([Change(TP, (B1, B2), (B3, B2))], {TP: size}, {TP: B1}, Limits(100_000_000), around),
        target=Target({replica: "/b"}),
    )


def bars(figure: Any) -> list[tuple[str, str]]:
    (bar,) = (each for each in figure.data if each.type == "bar")
    return list(zip(bar.y, bar.text, strict=True))


def test_copies_into_a_broker_and_within_a_broker_are_bars() -> None:
    found = predicted(GB)
    assert bars(gantt_figure(found)) == [
        ("broker 3", "t-0, 1.0 GB<br>from 0.5 s, for 10.3 s"),
        ("broker 2", "t-0, 1.0 GB, between log directories<br>from 0.5 s, for 10.3 s"),
    ]
    assert prediction_row(found)["moves"][0]["into"] == [3, 2]
    report = moves_over_time(found)
    assert report is not None
    assert "t-0 to broker 2" in str(report.svg)


@pytest.mark.parametrize(
    ("size", "unit", "bound"),
    [(GB, "seconds", 10.5), (30 * GB, "minutes", 300.5 / 60), (3000 * GB, "hours", 30000.5 / 3600)],
)
def test_time_has_a_unit_that_fits_and_no_run_is_faster_than_its_line(
    size: int, unit: str, bound: float
) -> None:
    figure = gantt_figure(predicted(size))
    assert figure.layout.xaxis.title.text == f"{unit} from the start of the run"
    (line,) = figure.layout.shapes
    assert line.x0 == pytest.approx(bound)


def test_disks_and_bytes_in_flight_are_drawn_over_time_below_the_moves() -> None:
    found = predicted(2500 * GB)
    disks, flights = course_figures(found, "hours", 3600.0)
    filled = {line.name: line.y[-1] for line in disks.data}
    assert filled == pytest.approx({"broker 2 /b": 25.0, "broker 3 /a": 25.0}, rel=1e-3)
    assert {line.name: max(line.y) for line in flights.data} == {
        "into broker 3": 2500.0,
        "out of broker 1": 2500.0,
        "into broker 2": 2500.0,
    }
    assert disks.data[0].x[0] == found.course.start / 3600
    page = gantt_html(found, "plan.json")
    assert "Disks over time" in page
    assert page.index("Moves into each broker") < page.index("Bytes in flight over time")
