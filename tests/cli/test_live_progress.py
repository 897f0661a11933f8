"""Progress lines: written over on a terminal and gone in the end, single lines elsewhere."""

from __future__ import annotations

from io import StringIO

import pytest

from kedge.cli.live_progress import run_progress, status_line
from kedge.execution import Progress
from kedge.execution.flows import BrokerFlow, Flows
from kedge.model import BrokerId


class Terminal(StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        return True


def at(done: int) -> Progress:
    return Progress(10, done, 1, 100, 10 * done, 0.0, None)


def test_a_status_line_is_written_over_and_gone_in_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    screen = Terminal()
    with status_line(screen) as show:
        show("drain: 30 moves")
        show("drain: 31 moves [bold] \x1b[2J")
    text = screen.getvalue()
    assert "drain: 30 moves" in text
    assert "drain: 31 moves [bold] \\x1b[2J" in text  # names are text, not markup
    assert text.rindex("\x1b[2K") > text.rindex("31 moves")


def test_a_status_line_writes_nothing_to_a_file() -> None:
    stream = StringIO()
    with status_line(stream) as show:
        show("drain: 30 moves")
    assert stream.getvalue() == ""


def test_without_a_terminal_a_run_reports_each_tenth_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with run_progress() as show:
        for done in (0, 0, 1, 1, 5):
            show(at(done))
    lines = capsys.readouterr().err.splitlines()
    assert [line.partition(" ")[0] for line in lines] == ["0/10", "1/10", "5/10"]


def test_a_run_on_a_terminal_is_a_view_that_is_gone_in_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    screen = Terminal()
    with run_progress(screen) as show:
        show(at(3), Flows((BrokerFlow(BrokerId(7), 5, 10),)))
        show(at(4), Flows())
    text = screen.getvalue()
    assert "30.0 %" in text
    assert "5 B of 10 B" in text
    assert text.rindex("\x1b[2K") > text.rindex("40.0 %")
