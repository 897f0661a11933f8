"""Computes and draws the curve of balance against bytes moved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kedge.balance import CurvePoint, Solved
from kedge.report.text_table import table_lines

NAMES = ("disk", "in", "out", "cpu")
WIDTH, HEIGHT = 60, 14
SIGN = "●"
UNITS = {"GB": 1e9, "TB": 1e12}

Row = dict[str, Any]


def curve_rows(solved: Solved) -> list[Row]:
    """One row per stop: bytes and moves so far, and how far each resource is above the best."""
    return rows_of_points(solved.curve, solved.task.columns)


def rows_of_points(points: Sequence[CurvePoint], columns: Sequence[str]) -> list[Row]:
    """The same of points that a search has reached; `columns` names the four loads of its task."""
    rows: list[Row] = [
        {
            "tolerance": point.epsilon,
            "bytes_moved": int(point.bytes_moved),
            "replicas_moved": point.replica_moves,
            "leaders_moved": point.leader_changes,
            "above_best": {
                name: round(float(point.reached[place]) - 1, 6)
                for place, name in enumerate(columns)
                if name and point.reached[place] > 0
            },
        }
        for point in points
    ]
    return _worth_it(rows)


def _worth_it(rows: Sequence[Row]) -> list[Row]:
    """Stops by bytes, without those that another one beats on both counts.

    The search undoes unneeded moves on its way, so some later points are cheaper than earlier ones.
    """
    kept: list[Row] = []
    for row in sorted(rows, key=lambda row: (row["bytes_moved"], worst(row))):
        if not kept or worst(row) < worst(kept[-1]):
            kept.append(row)
    return kept


def worst(row: Row) -> float:
    """The resource that is furthest above its best level."""
    return max(row["above_best"].values(), default=0.0)


def knee(rows: Sequence[Row]) -> int:
    """The stop after which bytes buy least: furthest from the line between both ends."""
    if len(rows) < 3:
        return len(rows) - 1
    span = max(rows[-1]["bytes_moved"] - rows[0]["bytes_moved"], 1)
    drop = max(worst(rows[0]) - worst(rows[-1]), 1e-12)
    gain = [
        (worst(rows[0]) - worst(row)) / drop - (row["bytes_moved"] - rows[0]["bytes_moved"]) / span
        for row in rows
    ]
    return max(range(len(rows)), key=gain.__getitem__)


def curve_lines(rows: Sequence[Row]) -> list[str]:
    """The curve drawn with characters, then its stops as a table."""
    if not rows:
        return ["nothing to move: the cluster is within the tolerance"]
    top = max(max(map(worst, rows)), 1e-9)
    most = max(max(row["bytes_moved"] for row in rows), 1)
    grid = [[" "] * WIDTH for _ in range(HEIGHT)]
    for row in rows:
        x = round(row["bytes_moved"] / most * (WIDTH - 1))
        y = round((1 - worst(row) / top) * (HEIGHT - 1))
        grid[min(max(y, 0), HEIGHT - 1)][x] = SIGN
    lines = ["furthest above the best level, over bytes moved"]
    for place, line in enumerate(grid):
        share = 100 * top * (1 - place / (HEIGHT - 1))
        lines.append(f"{share:6.1f} % │{''.join(line).rstrip()}")
    lines += [f"{'':8} └{'─' * WIDTH}", f"{'':9} 0{amount(most):>{WIDTH}}", ""]
    return lines + _table(rows)


def _table(rows: Sequence[Row]) -> list[str]:
    marked = knee(rows)
    cells = [
        (
            amount(row["bytes_moved"]),
            str(row["replicas_moved"]),
            str(row["leaders_moved"]),
            "  ".join(f"{name} {100 * share:.1f} %" for name, share in row["above_best"].items()),
            "← knee" if place == marked else "",
        )
        for place, row in enumerate(rows)
    ]
    header = ("moved", "replicas", "leaders", "above the best level", "")
    return table_lines(header, cells, right=(0, 1, 2))


def amount(size: float) -> str:
    """Bytes with their unit."""
    from kedge.balance.goals.infeasible import amount_text

    return amount_text(size, "disk")


def curve_figure(
    rows: Sequence[Row], title: str = "", *, names: Sequence[str] = NAMES, unit: str = "TB"
) -> Any:
    """The curve as a figure of plotly's, a line for each resource, the knee marked."""
    import plotly.graph_objects as go

    figure: Any = go.Figure()
    moved = [row["bytes_moved"] / UNITS[unit] for row in rows]
    for name in names:
        if any(name in row["above_best"] for row in rows):
            above = [100 * row["above_best"].get(name, 0.0) for row in rows]
            figure.add_scatter(x=moved, y=above, mode="lines+markers", name=name)
    if rows:
        figure.add_vline(x=moved[knee(rows)], line_dash="dot", annotation_text="knee")
    return figure.update_layout(
        title=f"Balance against bytes moved {title}".strip(),
        xaxis_title=f"{unit} moved",
        yaxis_title="% above the best possible level",
        template="plotly_white",
    )


def curve_html(rows: Sequence[Row], title: str) -> str:
    """The curve as a page of its own, with nothing to fetch."""
    page: str = curve_figure(rows, title).to_html(include_plotlyjs=True, full_html=True)
    return page
