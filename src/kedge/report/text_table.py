"""Lays out rows of text in aligned columns, for terminals of any width."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from io import StringIO

from kedge.model.printable import printable

GAP = 2
WIDTH_MAX = 10_000  # lines are never wrapped: a terminal or a pager does that


def table_lines(
    header: Sequence[str], rows: Iterable[Sequence[str]], *, right: Collection[int] = ()
) -> list[str]:
    """The lines of a table without borders; `right` are the columns aligned to the right."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="")
    for place, name in enumerate(header):
        justify = "right" if place in right else "left"
        table.add_column(Text(printable(name)), justify=justify, no_wrap=True)
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    text = StringIO()
    Console(file=text, width=WIDTH_MAX, color_system=None).print(table)
    return [line.rstrip() for line in text.getvalue().splitlines()]
