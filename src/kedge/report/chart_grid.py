"""Charts in a grid on a page of its own, with nothing to fetch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

ROW_HEIGHT, HEIGHT_MAX = 320, 8_000


def chart_grid(titles: Sequence[str], *, columns: int) -> Any:
    """An empty figure of plotly's with a chart for each title, row by row."""
    from plotly.subplots import (
        make_subplots,  # pyright: ignore[reportUnknownVariableType]
    )

    rows = -(-len(titles) // columns)
    figure: Any = make_subplots(rows=rows, cols=columns, subplot_titles=list(titles))
    return figure


def page_of(figure: Any, title: str, *, rows: int) -> str:
    """The figure as HTML."""
    figure.update_layout(
        title=title,
        template="plotly_white",
        showlegend=False,
        height=min(ROW_HEIGHT * max(rows, 1) + 140, HEIGHT_MAX),
    )
    page: str = figure.to_html(include_plotlyjs=True, full_html=True)
    return page
