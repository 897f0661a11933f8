"""Options that several commands share, and how the terminal is spoken to."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console


EXIT_FAILED = 1
EXIT_BAD_REQUEST = 2


class Output(StrEnum):
    """The form of what goes to stdout."""

    TABLE = "table"
    JSON = "json"


OutputOption = Annotated[Output, typer.Option("--output", help="table or json")]


def say(text: str) -> None:
    """Talk: to stderr, so that data can be piped."""
    typer.echo(text, err=True)


def console() -> Console:
    """The terminal for pictures; without colour where NO_COLOR is set or stdout is no terminal."""
    from rich.console import Console

    return Console(highlight=False, soft_wrap=True)


def help_without_command(context: typer.Context) -> None:
    """A group named without one of its commands shows them, and that is a bad request."""
    if context.invoked_subcommand is None:
        say(context.get_help())
        raise typer.Exit(EXIT_BAD_REQUEST)
