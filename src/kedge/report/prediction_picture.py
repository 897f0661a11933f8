"""The charts of a prediction: for each broker, the copies into it over time."""

from __future__ import annotations

from typing import Any

from kedge.execution.prediction import MoveTimes, Prediction
from kedge.model import BrokerId
from kedge.report.amounts import bytes_text, duration_text
from kedge.report.course_picture import course_figures

BARS_MAX = 20_000  # more make a page that browsers draw too slowly: the longest are kept
HEIGHT_PER_BROKER, HEIGHT_MIN, HEIGHT_MAX = 16, 360, 6_000
UNITS = (("hours", 3600.0), ("minutes", 60.0))  # the largest of which a run takes at least two


def gantt_figure(prediction: Prediction, title: str = "") -> Any:
    """A bar for each copy into a broker; the text under the mouse has partition, bytes, times."""
    import plotly.graph_objects as go

    moves = [each for each in prediction.moves if each.start is not None and each.end is not None]
    unit, seconds = unit_of(prediction)
    begun = min((each.start or 0.0 for each in moves), default=0.0)
    moves = sorted(moves, key=_seconds, reverse=True)[:BARS_MAX]
    bars = [(broker, each) for each in moves for broker in each.into]
    brokers = sorted({broker for broker, _ in bars})
    figure: Any = go.Figure()
    figure.add_bar(
        orientation="h",
        y=[f"broker {broker}" for broker, _ in bars],
        base=[(each.start or 0.0) / seconds for _, each in bars],
        x=[_seconds(each) / seconds for _, each in bars],
        text=[_text(broker, each) for broker, each in bars],
        textposition="none",
        hovertemplate="%{text}<extra></extra>",
        opacity=0.7,
        marker_line_width=0.5,
    )
    bound = (begun + prediction.bound_seconds) / seconds
    figure.add_vline(x=bound, line_dash="dot", annotation_text="no run is faster")
    height = HEIGHT_MIN + HEIGHT_PER_BROKER * len(brokers)
    return figure.update_layout(
        title=f"Moves into each broker {title}".strip(),
        xaxis_title=f"{unit} from the start of the run",
        yaxis={
            "categoryorder": "array",
            "categoryarray": [f"broker {broker}" for broker in reversed(brokers)],
        },
        barmode="overlay",
        template="plotly_white",
        height=min(height, HEIGHT_MAX),
    )


def unit_of(prediction: Prediction) -> tuple[str, float]:
    """The unit of the axis of time, and the seconds of one."""
    last = max((each.end or 0.0 for each in prediction.moves), default=0.0)
    fitting = (each for each in UNITS if last >= 2 * each[1])
    return next(fitting, ("seconds", 1.0))


def _seconds(move: MoveTimes) -> float:
    return (move.end or 0.0) - (move.start or 0.0)


def _text(broker: BrokerId, move: MoveTimes) -> str:
    size = bytes_text(move.bytes_copied / len(move.into))
    within = "" if broker in move.change.added else ", between log directories"
    times = f"from {_time_text(move.start or 0.0)}, for {_time_text(_seconds(move))}"
    return f"{move.change.tp}, {size}{within}<br>{times}"


def _time_text(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 60 else duration_text(seconds)


def gantt_html(prediction: Prediction, title: str) -> str:
    """The moves, and below them disks and bytes in flight: a page with nothing to fetch."""
    page: str = gantt_figure(prediction, title).to_html(include_plotlyjs=True, full_html=True)
    below = "".join(
        each.to_html(include_plotlyjs=False, full_html=False)
        for each in course_figures(prediction, *unit_of(prediction))
    )
    head, end, tail = page.rpartition("</body>")
    return head + below + end + tail
