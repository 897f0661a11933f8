"""The Gantt chart of a prediction: for each broker, the moves into it over time."""

from __future__ import annotations

from typing import Any

from kedge.execution.prediction import MoveTimes, Prediction
from kedge.report.amounts import bytes_text

BARS_MAX = 20_000  # more make a page that browsers draw too slowly: the longest are kept
HEIGHT_PER_BROKER, HEIGHT_MIN, HEIGHT_MAX = 16, 360, 6_000


def gantt_figure(prediction: Prediction, title: str = "") -> Any:
    """A bar for each copy into a broker; the text under the mouse has partition, bytes, times."""
    import plotly.graph_objects as go

    moves = [each for each in prediction.moves if each.start is not None and each.end is not None]
    moves = sorted(moves, key=_seconds, reverse=True)[:BARS_MAX]
    bars = [(broker, each) for each in moves for broker in each.change.added]
    brokers = sorted({broker for broker, _ in bars})
    figure: Any = go.Figure()
    figure.add_bar(
        orientation="h",
        y=[f"broker {broker}" for broker, _ in bars],
        base=[(each.start or 0.0) / 3600 for _, each in bars],
        x=[_seconds(each) / 3600 for _, each in bars],
        text=[f"{each.change.tp}, {bytes_text(each.bytes_copied)}" for _, each in bars],
        textposition="none",
        hovertemplate="%{text}<br>from %{base:.2f} h, for %{x:.2f} h<extra></extra>",
        opacity=0.7,
        marker_line_width=0.5,
    )
    bound = prediction.bound_seconds / 3600
    figure.add_vline(x=bound, line_dash="dot", annotation_text="no run is faster")
    height = HEIGHT_MIN + HEIGHT_PER_BROKER * len(brokers)
    return figure.update_layout(
        title=f"Moves into each broker {title}".strip(),
        xaxis_title="hours from the start of the run",
        yaxis={
            "categoryorder": "array",
            "categoryarray": [f"broker {broker}" for broker in reversed(brokers)],
        },
        barmode="overlay",
        template="plotly_white",
        height=min(height, HEIGHT_MAX),
    )


def _seconds(move: MoveTimes) -> float:
    return (move.end or 0.0) - (move.start or 0.0)


def gantt_html(prediction: Prediction, title: str) -> str:
    """The chart as a page of its own, with nothing to fetch."""
    page: str = gantt_figure(prediction, title).to_html(include_plotlyjs=True, full_html=True)
    return page
