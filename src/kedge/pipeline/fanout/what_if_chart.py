"""Draws what-if scenarios as an HTML chart: bytes moved, and use of the fullest broker."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from kedge.pipeline.fanout.map_rows import Row

NAMES = ("disk", "in", "out", "cpu")
COLOURS = {"disk": "#4c78a8", "in": "#f58518", "out": "#54a24b", "cpu": "#b279a2"}
TB = 1e12


def what_if_html(rows: Sequence[Row], title: str) -> str:
    """A self-contained HTML page: bytes moved above, use of the fullest broker below."""
    from plotly import subplots

    maker: Any = subplots
    level = "fullest_after" if any(row["fullest_after"] for row in rows) else "imbalance_after"
    lower_title = (
        "fullest broker, % of capacity" if level == "fullest_after" else "fullest ÷ mean, %"
    )
    figure: Any = maker.make_subplots(
        rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.06, row_heights=[0.45, 0.55]
    )
    feasible = [row for row in rows if row["feasible"]]
    _draw_cost(figure, feasible)
    _draw_levels(figure, feasible, level)
    _draw_infeasible(figure, [row for row in rows if not row["feasible"]])
    figure.update_yaxes(title_text="TB moved", rangemode="tozero", row=1, col=1)
    figure.update_yaxes(title_text=lower_title, rangemode="tozero", row=2, col=1)
    figure.update_xaxes(title_text="scenario", row=2, col=1)
    if 0 < len(rows) <= 30:
        _name_ticks(figure, rows)
    figure.update_layout(
        title=f"What if: {len(rows)} scenarios {escape(title)}".rstrip(),
        template="plotly_white",
        height=760,
        hovermode="closest",
        legend={"orientation": "h", "y": 1.06},
    )
    page: str = figure.to_html(include_plotlyjs=True, full_html=True, div_id="what-if")
    return page


def _names(rows: Sequence[Row]) -> list[str]:
    return [escape(row["name"]) for row in rows]


def _numbers(rows: Sequence[Row]) -> list[int]:
    return [row["number"] for row in rows]


def _draw_cost(figure: Any, rows: Sequence[Row]) -> None:
    moved = [(row["bytes_moved"] or 0) / TB for row in rows]
    least = [(row["bytes_moved_lower_bound"] or 0) / TB for row in rows]
    common = {"x": _numbers(rows), "hovertext": _names(rows), "row": 1, "col": 1}
    figure.add_bar(y=moved, name="moved", marker_color="#9ecae9", **common)
    marker = {"symbol": "line-ew-open", "color": "#333", "size": 9}
    figure.add_scatter(y=least, mode="markers", name="at least", marker=marker, **common)


def _draw_levels(figure: Any, rows: Sequence[Row], level: str) -> None:
    for name in NAMES:
        present = [row for row in rows if name in row[level]]
        if present:
            figure.add_scatter(
                x=_numbers(present),
                y=[100 * row[level][name] for row in present],
                hovertext=_names(present),
                mode="markers",
                name=name,
                marker={"color": COLOURS[name], "size": 7},
                row=2,
                col=1,
            )


def _draw_infeasible(figure: Any, rows: Sequence[Row]) -> None:
    if rows:
        why = [f"{escape(row['name'])}: {escape(row['reason'])}" for row in rows]
        figure.add_scatter(
            x=_numbers(rows),
            y=[0] * len(rows),
            hovertext=why,
            mode="markers",
            name="no plan",
            marker={"symbol": "x", "color": "#d62728", "size": 10},
            row=1,
            col=1,
        )


def _name_ticks(figure: Any, rows: Sequence[Row]) -> None:
    """Label the axis with names; used for few scenarios only."""
    axis = {"tickmode": "array", "tickvals": _numbers(rows), "ticktext": _names(rows)}
    figure.update_xaxes(**axis, tickangle=-35, title_text="", row=2, col=1)
