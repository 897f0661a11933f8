"""The form of the output, exit codes, and writing to stdout and stderr."""

from __future__ import annotations

from contextlib import suppress
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from kedge.model.printable import printable

if TYPE_CHECKING:
    from rich.console import Console


EXIT_FAILED = 1
EXIT_BAD_REQUEST = 2


class Output(StrEnum):
    """The form of what goes to stdout."""

    TABLE = "table"
    JSON = "json"


OutputOption = Annotated[Output, typer.Option("--output", help="table or json")]


def echo(line: str = "") -> None:
    """Write one line to stdout, with control characters of names shown as escapes."""
    typer.echo(printable(line))


def say(line: str) -> None:
    """Write one line to stderr, so that data can be piped. What cannot be written is left out."""
    with suppress(OSError):
        typer.echo(printable(line), err=True)


def note(text: str) -> None:
    """Write a note to stderr."""
    say(f"note: {text}")


def console(*, stderr: bool = False, stream: TextIO | None = None) -> Console:
    """The terminal for pictures; without colour where NO_COLOR is set or stdout is no terminal.

    Text is shown as it is: brackets are no markup and colons no emoji, since names have them too.
    """
    from rich.console import Console

    return Console(
        stderr=stderr, file=stream, highlight=False, soft_wrap=True, markup=False, emoji=False
    )


def help_without_command(context: typer.Context) -> None:
    """A group named without one of its commands shows them, and that is a bad request."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help(), err=True)
        raise typer.Exit(EXIT_BAD_REQUEST)
