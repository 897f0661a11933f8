"""Progress on stderr: a status line or a live view on a terminal, single lines elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol, TextIO

from kedge.cli.options import console, say
from kedge.model.printable import printable

if TYPE_CHECKING:
    from kedge.execution import Progress
    from kedge.execution.flows import Flows
    from kedge.report.elapsed import Elapsed

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


class ShowRun(Protocol):
    """Shows how far a run is."""

    def __call__(
        self, progress: Progress, flows: Flows = ..., elapsed: Elapsed | None = ...
    ) -> None:
        """Replace what was shown before."""
        ...


@contextmanager
def run_progress(stream: TextIO | None = None) -> Generator[ShowRun]:
    """A view of a run on a terminal (stderr); elsewhere a line whenever another tenth is done."""
    from kedge.execution.flows import NO_FLOWS
    from kedge.report.runs import progress_line

    if (stream or sys.stderr).isatty():
        with _live_view(stream) as show:
            yield show
        return
    shown = -1

    def show_tenth(
        progress: Progress, flows: Flows = NO_FLOWS, elapsed: Elapsed | None = None
    ) -> None:
        nonlocal shown
        tenth = int(progress.share * 10)
        if tenth > shown:
            shown = tenth
            say(progress_line(progress, elapsed))

    yield show_tenth


@contextmanager
def _live_view(stream: TextIO | None) -> Generator[ShowRun]:
    from rich.live import Live
    from rich.text import Text

    from kedge.execution.flows import NO_FLOWS
    from kedge.report.run_view import view_lines

    with Live(console=console(stderr=True, stream=stream), transient=True) as live:

        def show(
            progress: Progress, flows: Flows = NO_FLOWS, elapsed: Elapsed | None = None
        ) -> None:
            text = "\n".join(map(printable, view_lines(progress, flows, elapsed)))
            live.update(Text(text), refresh=True)

        yield show
