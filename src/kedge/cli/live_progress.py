"""Progress on stderr: a status line or a bar on a terminal, single lines elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from kedge.cli.options import console, say
from kedge.model.printable import printable

if TYPE_CHECKING:
    from kedge.execution import Progress

Show = Callable[[str], None]


@contextmanager
def status_line(stream: TextIO | None = None) -> Generator[Show]:
    """A function that replaces one line on a terminal (stderr); elsewhere it writes nothing."""
    if not (stream or sys.stderr).isatty():
        yield lambda _text: None
        return
    from rich.live import Live
    from rich.text import Text

    with Live(console=console(stderr=True, stream=stream), transient=True) as live:
        yield lambda text: live.update(Text(printable(text)), refresh=True)


@contextmanager
def run_progress() -> Generator[Callable[[Progress], None]]:
    """A bar of a run on a terminal; elsewhere a line whenever another tenth is done."""
    from kedge.report.runs import progress_line

    if sys.stderr.isatty():
        with _bar() as show:
            yield show
        return
    shown = -1

    def show(progress: Progress) -> None:
        nonlocal shown
        tenth = int(progress.share * 10)
        if tenth > shown:
            shown = tenth
            say(progress_line(progress))

    yield show


@contextmanager
def _bar() -> Generator[Callable[[Progress], None]]:
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bar

    from kedge.report.runs import progress_line

    columns = (
        BarColumn(),
        TextColumn("{task.percentage:>5.1f} %"),
        TextColumn("{task.description}", markup=False),
    )
    with Bar(*columns, console=console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=1.0)

        def show(progress: Progress) -> None:
            bar.update(task, completed=progress.share, description=progress_line(progress))

        yield show
