"""The tree of commands, and the one place where errors become exit codes."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from kedge import __version__
from kedge.cli import apply, configs, demo, elect, place, plan, reassign, topics
from kedge.cli.options import EXIT_BAD_REQUEST, EXIT_FAILED, help_without_command
from kedge.errors import InvalidRequest, KedgeError, Unsatisfiable

EXIT_INTERRUPTED = 130

app = typer.Typer(
    name="kedge",
    help="Place, move and balance Kafka replicas",
    invoke_without_command=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)
place.register(app)
app.add_typer(plan.app, name="plan")
app.add_typer(topics.app, name="topics")
app.add_typer(configs.app, name="configs")
app.add_typer(reassign.app, name="reassign")
elect.register(app)
apply.register(app)
demo.register(app)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"kedge {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show version")
    ] = False,
) -> None:
    """Place, move and balance Kafka replicas"""
    help_without_command(context)


def run(arguments: Sequence[str]) -> int:
    """Run one command line; the exit code."""
    try:
        outcome = app(args=list(arguments), prog_name="kedge", standalone_mode=False)
        sys.stdout.flush()
    except KedgeError as error:
        return _refuse(str(error), _exit_code(error))
    except typer.TyperException as error:
        return _refuse(_sentence(error), error.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        return _refuse("interrupted", EXIT_INTERRUPTED)
    except (BrokenPipeError, SystemExit):
        # The reader has seen enough (typer and rich turn that into an exit). Nothing is wrong, and
        # the interpreter must not complain when it closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except MemoryError:
        return _refuse("not enough memory for a request of this size; ask for less", EXIT_FAILED)
    return outcome if isinstance(outcome, int) else 0


def _exit_code(error: KedgeError) -> int:
    bad_request = isinstance(error, InvalidRequest | Unsatisfiable)
    return EXIT_BAD_REQUEST if bad_request else EXIT_FAILED


def _sentence(error: typer.TyperException) -> str:
    """What the parser of the command line has against it, and where to read on."""
    text = " ".join(error.format_message().split()).rstrip(".")
    context = getattr(error, "ctx", None)
    where = context.command_path if isinstance(context, typer.Context) else "kedge"
    return f"{text[:1].lower()}{text[1:]}; see {where} --help"


def _refuse(sentence: str, code: int) -> int:
    typer.echo(f"kedge: {' '.join(sentence.split())}", err=True)
    return code
