"""One self-contained HTML page: findings, a plan with its curve, and brokers before and after."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from kedge.report.curve import curve_figure

Row = dict[str, Any]
RESOURCES = ("disk", "in", "out", "cpu", "replicas", "leaders")

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse } td, th { padding: .2rem .8rem; text-align: left }
tr:nth-child(even) { background: #f4f6f8 } h1, h2 { font-weight: 600 }
"""


def demo_page_html(
    title: str,
    *,
    findings: Sequence[Row],
    summary: Row,
    curve: Sequence[Row],
    heat: Sequence[Row],
    reached: Sequence[Row],
) -> str:
    """The page: findings, figures of the plan, its curve, brokers before, planned and reached."""
    parts = [
        f"<h1>{escape(title)}</h1>",
        "<h2>What stood out</h2>",
        _table(findings, ("kind", "subject", "value", "why")),
        "<h2>The plan</h2>",
        _table(_figures(summary), ("figure", "before", "after", "bound")),
        _picture(curve_figure(curve, names=RESOURCES, unit="GB"), first=True),
        "<h2>Brokers before, as planned, and as reached</h2>",
        _picture(_brokers(heat, reached)),
    ]
    head = f"<meta charset='utf-8'><title>{escape(title)}</title><style>{STYLE}</style>"
    return f"<!doctype html><html><head>{head}</head><body>{''.join(parts)}</body></html>"


def _table(rows: Sequence[Row], columns: Sequence[str]) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(_text(row.get(name)))}</td>" for name in columns) + "</tr>"
        for row in rows
    )
    return f"<table><tr>{head}</tr>{body}</table>" if rows else "<p>Nothing.</p>"


def _text(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.3f}".rstrip("0").rstrip(".")
    return "" if value is None else f"{value:,}" if isinstance(value, int) else str(value)


def _figures(summary: Row) -> list[Row]:
    """Bytes and moves, then the greatest load over the mean of each resource."""
    rows: list[Row] = [
        {
            "figure": "bytes moved",
            "after": summary.get("bytes_moved"),
            "bound": summary.get("bytes_moved_lower_bound"),
        },
        {"figure": "replicas moved", "after": summary.get("replicas_moved")},
        {"figure": "leaders moved", "after": summary.get("leaders_moved")},
    ]
    before, after = summary.get("imbalance_before", {}), summary.get("imbalance_after", {})
    least = summary.get("imbalance_lower_bound", {})
    return rows + [
        {
            "figure": f"greatest {name} over the mean",
            "before": before.get(name),
            "after": after[name],
            "bound": least.get(name),
        }
        for name in RESOURCES
        if name in after
    ]


def _brokers(heat: Sequence[Row], reached: Sequence[Row]) -> Any:
    """Each resource a panel, each broker three bars."""
    from plotly import subplots

    names = [name for name in RESOURCES if heat and name in heat[0]["before"]]
    figure: Any = subplots.make_subplots(rows=max(1, len(names)), cols=1, subplot_titles=names)
    came = {row["broker"]: row["after"] for row in reached}
    for place, name in enumerate(names, start=1):
        brokers = [f"{row['broker']} ({row['rack']})" for row in heat]
        bars = {
            "before": [row["before"][name] for row in heat],
            "planned": [row["after"][name] for row in heat],
            "reached": [came.get(row["broker"], {}).get(name) for row in heat],
        }
        colours = ("#c44", "#8ac", "#287")
        for (label, values), colour in zip(bars.items(), colours, strict=True):
            figure.add_bar(
                x=brokers,
                y=values,
                name=label,
                marker_color=colour,
                row=place,
                col=1,
                legendgroup=label,
                showlegend=place == 1,
            )
        figure.add_hline(y=1.0, line_dash="dot", row=place, col=1)
    return figure.update_layout(height=260 * max(1, len(names)), template="plotly_white")


def _picture(figure: Any, *, first: bool = False) -> str:
    picture: str = figure.to_html(include_plotlyjs=first, full_html=False)
    return picture
