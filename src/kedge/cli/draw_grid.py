"""Draws the grid of racks, brokers and replicas in a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from kedge.cli.options import console
from kedge.model import Broker
from kedge.model.printable import printable
from kedge.report.assignment import FOLLOWER, LEADER, LEGEND, Grid, Replicas, rack_grid

GRID_BROKERS_MAX = 100


def show_grid(assignment: Replicas, brokers: Sequence[Broker]) -> None:
    """Draw the grid of an assignment, as far as the terminal is wide enough for it."""
    if len(brokers) > GRID_BROKERS_MAX:
        return
    screen = console()
    grid = rack_grid(assignment, brokers, columns=max(10, min(screen.width, 200) - 45))
    for line in _grid_lines(grid):
        screen.print(line, markup=True)


def _grid_lines(grid: Grid) -> list[str]:
    from rich.markup import escape

    rack_width = max((len(printable(line.rack)) for line in grid.lines), default=0)
    id_width = max((len(str(line.broker)) for line in grid.lines), default=0)
    longest = max((line.holds for line in grid.lines), default=0)
    drawn = bool(grid.lines and grid.lines[0].cells)
    lines = [LEGEND] if drawn else []
    for line in grid.lines:
        name = f"{printable(line.rack):<{rack_width}}"
        rack = f"{'rack ' if line.rack else '     '}{escape(name)}  "
        picture = _coloured(line.cells) if drawn else _bar(line.leads, line.holds, longest)
        counts = f"leads {line.leads}, holds {line.holds}"
        before = rack if grid.has_racks else ""
        lines.append(f"{before}broker {line.broker:>{id_width}}  {picture}  {counts}")
    return lines


def _coloured(cells: str) -> str:
    return cells.replace(LEADER, f"[green]{LEADER}[/]").replace(FOLLOWER, f"[cyan]{FOLLOWER}[/]")


def _bar(leads: int, holds: int, longest: int, width: int = 40) -> str:
    """Leaders and followers as one bar, for assignments too wide for a grid."""
    scale = width / max(1, longest)
    led, held = round(leads * scale), round(holds * scale)
    return _coloured(LEADER * led + FOLLOWER * (held - led)) + " " * (width - held)
