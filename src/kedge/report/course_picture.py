"""Charts of a prediction over time: how full disks are, and what is in flight per broker."""

from __future__ import annotations

from typing import Any, NamedTuple

from kedge.execution.prediction import Course, Prediction
from kedge.model import BrokerId

LINES_MAX = 20  # more cannot be told apart: the highest are kept
HEIGHT = 420
GB = 1e9


class Line(NamedTuple):
    """What one disk or broker has in each step."""

    name: str
    values: list[float]


def course_figures(prediction: Prediction, unit: str, seconds: float) -> list[Any]:
    """The charts, with time in a unit of so many seconds; those without lines are left out."""
    course = prediction.course
    charts = (
        ("Disks", "% of the disk", _disk_lines(prediction)),
        ("Bytes in flight", "GB", _flight_lines(course)),
    )
    times = [(course.start + n * course.step) / seconds for n in range(_steps(course))]
    return [_figure(name, y, unit, times, lines) for name, y, lines in charts if lines]


def _disk_lines(prediction: Prediction) -> list[Line]:
    """Disks that change; a broker as a whole only where its directories are not known."""
    capacity = {(each.broker, each.log_dir): each.capacity for each in prediction.disks}
    by_dir = {broker for (broker, log_dir), room in capacity.items() if log_dir and room}
    lines: list[Line] = []
    for each in prediction.course.disks:
        room = capacity[each.broker, each.log_dir]
        if room and (each.log_dir or each.broker not in by_dir):
            name = _broker(each.broker) + (f" {each.log_dir}" if each.log_dir else "")
            lines.append(Line(name, [100 * amount / room for amount in each.bytes]))
    return lines


def _flight_lines(course: Course) -> list[Line]:
    lines = [
        Line(f"{way} {_broker(each.broker)}", [amount / GB for amount in amounts])
        for each in course.brokers
        for way, amounts in (("into", each.into), ("out of", each.out))
    ]
    return [line for line in lines if any(line.values)]


def _figure(name: str, y: str, unit: str, times: list[float], lines: list[Line]) -> Any:
    import plotly.graph_objects as go

    drawn = sorted(lines, key=lambda line: max(line.values), reverse=True)[:LINES_MAX]
    kept = "" if len(drawn) == len(lines) else f", the {len(drawn)} highest of {len(lines):,}"
    figure: Any = go.Figure()
    for line in drawn:
        figure.add_scatter(x=times, y=line.values, name=line.name, mode="lines", line_shape="hv")
    return figure.update_layout(
        title=f"{name} over time: the most in each step{kept}",
        xaxis_title=f"{unit} from the start of the run",
        yaxis_title=y,
        template="plotly_white",
        height=HEIGHT,
    )


def _steps(course: Course) -> int:
    """How many steps all series have."""
    series = [each.bytes for each in course.disks] + [each.out for each in course.brokers]
    return max(map(len, series), default=0)


def _broker(broker: BrokerId) -> str:
    return f"broker {broker}"
