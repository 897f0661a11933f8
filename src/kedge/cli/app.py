"""Builds the tree of commands, runs one, and maps errors to exit codes.

A command's module is imported when the command is typed: the list of all of them is kept here, so
that `kedge --help` and every single command start fast, however many there are.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from io import TextIOWrapper
from typing import Annotated, NamedTuple, TextIO

import typer

from kedge import __version__
from kedge.cli.options import EXIT_BAD_REQUEST, EXIT_FAILED, echo, help_without_command
from kedge.cli.server_target import ServerTarget, chosen_server
from kedge.errors import InvalidRequest, JournalDamaged, KedgeError, Unsatisfiable
from kedge.model.printable import printable

EXIT_INTERRUPTED = 130
EXIT_BROKEN_PIPE = 141
SENTENCE_MAX = 1_000


class Listed(NamedTuple):
    """A command: its module in this package, which has an `app` or a `register`, and its help."""

    module: str
    help: str


COMMANDS = {
    "demo": Listed("demo", "Show everything on a cluster in this process, with pictures"),
    "topics": Listed("topics", "Create, list, describe, grow and delete topics"),
    "configs": Listed("configs", "Show and change configs and client quotas"),
    "reassign": Listed("reassign", "Move replicas between brokers and directories"),
    "elect": Listed("elect", "Elect leaders of partitions"),
    "place": Listed("place", "Show where Kafka would put the replicas of a new or growing topic"),
    "snapshot": Listed("snapshot", "Take a snapshot of a cluster"),
    "plan": Listed("plan", "Make a plan that evens out what brokers carry"),
    "drain": Listed("jobs", "Move everything off brokers, and check that nothing is left on them"),
    "fill": Listed("jobs", "Move load onto brokers that are new or empty"),
    "replication": Listed("jobs", "Give topics another replication factor"),
    "balance": Listed("jobs", "Even out what brokers carry, at the least movement of data"),
    "undo": Listed("jobs", "Bring back what the latest run has moved"),
    "explain": Listed("explain", "Explain a plan, or what it does with one partition or broker"),
    "predict": Listed("predict", "Predict how long a plan takes, how full disks get"),
    "apply": Listed("apply", "Carry a plan out: throttled, a few moves at a time, with progress"),
    "status": Listed("runs", "Show how far a run is"),
    "resume": Listed("apply", "Continue a run that was stopped or killed"),
    "cancel": Listed("apply", "Cancel the moves of a run that are under way"),
    "rollback": Listed("apply", "Bring back what a run has moved"),
    "throttle": Listed("runs", "Show, change or remove the throttles of runs"),
    "pause": Listed("runs", "Start no more moves of a run that is at work"),
    "continue": Listed("runs", "Go on with a run that was paused"),
    "runs": Listed("runs", "List the runs on a cluster"),
    "watch": Listed("watch_loop", "Watch a cluster: find what is wrong, propose plans"),
    "report": Listed("report", "Write a report of a plan, a run or a cluster"),
    "pipeline": Listed("pipeline", "Make load models and findings of metrics, on Spark"),
    "capacity": Listed(
        "capacity", "Forecast when brokers are full and how many are needed by a date"
    ),
    "cost": Listed(
        "cost", "Show what topics and their owners pay for bytes in, out and stored, by day"
    ),
    "serve": Listed("serve", "Serve the pages and the HTTP API over one or many clusters"),
    "config": Listed("config", "Show the settings of a server, with secrets masked"),
    "lab": Listed("lab", "Run a whole cluster in one process"),
    "controller": Listed("controller", "Be the controller of a Kafka cluster"),
}


def tree(names: Sequence[str], modules: Sequence[str]) -> typer.Typer:
    """The commands of some modules; others are there by name and help alone."""
    app = typer.Typer(
        name="kedge",
        help="Place, move and balance Kafka replicas",
        invoke_without_command=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["--help", "-h"]},
    )
    app.callback(invoke_without_command=True)(root)
    for name in names:
        if COMMANDS[name].module not in modules:
            app.command(name, help=COMMANDS[name].help)(_only_listed)
    for each in modules:
        module = import_module(f"kedge.cli.{each}")
        if hasattr(module, "register"):
            module.register(app)
        else:
            app.add_typer(module.app, name=module.app.info.name)
    return app


def _only_listed() -> None:
    """A command that is listed by name and help alone."""


REMOTE = {
    "plan": "remote_plan",
    **dict.fromkeys(("apply", "resume", "cancel", "rollback"), "remote_apply"),
    **dict.fromkeys(("status", "runs", "pause", "continue", "throttle"), "remote_runs"),
}
"""The commands that also run through a server (`kedge --server URL …`), and their modules."""


def _wanted(arguments: Sequence[str]) -> typer.Typer:
    """No more of the tree than these words need."""
    first, server = _first_word(arguments)
    if server:
        return _remote(first)
    if first in COMMANDS:
        return tree((), [COMMANDS[first].module])
    completing = any(name.startswith("_KEDGE") for name in os.environ)
    modules = dict.fromkeys(each.module for each in COMMANDS.values()) if completing else ()
    return tree(list(COMMANDS), list(modules))


def _first_word(arguments: Sequence[str]) -> tuple[str | None, bool]:
    """The command, and whether a server was named before it."""
    server = value_follows = False
    for word in arguments:
        if not value_follows and not word.startswith("-"):
            return word, server
        server = server or word.partition("=")[0] == "--server"
        value_follows = not value_follows and word in ("--server", "--token", "--cluster")
    return None, server


def _remote(command: str | None) -> typer.Typer:
    """The commands that run through a server."""
    if command is not None and command not in REMOTE:
        raise InvalidRequest(
            f"kedge {command} does not run through a server",
            hint=f"those that do: {', '.join(sorted(REMOTE))}",
        )
    modules = list(dict.fromkeys(REMOTE.values())) if command is None else [REMOTE[command]]
    return tree((), modules)


def _print_version(wanted: bool) -> None:
    if wanted:
        echo(f"kedge {__version__}")
        raise typer.Exit


def root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show version")
    ] = False,
    server: Annotated[
        str,
        typer.Option("--server", help="Run the command through this server: http://host:8080"),
    ] = "",
    token: Annotated[
        str,
        typer.Option("--token", help="With --server: a token; better in the environment"),
    ] = "",
    cluster: Annotated[
        str, typer.Option("--cluster", help="With --server: which cluster, if it has several")
    ] = "",
) -> None:
    """Place, move and balance Kafka replicas"""
    if server:
        secret = token or os.environ.get("KEDGE_TOKEN", "")
        chosen_server.set(ServerTarget(server, secret, cluster))
    help_without_command(context)


def run(arguments: Sequence[str]) -> int:
    """Run one command line; the exit code."""
    try:
        outcome = _wanted(arguments)(args=list(arguments), prog_name="kedge", standalone_mode=False)
        sys.stdout.flush()
    except KedgeError as error:
        return _refuse(str(error), _exit_code(error))
    except typer.TyperException as error:
        return _refuse(_sentence(error, arguments), error.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        return _refuse("interrupted", EXIT_INTERRUPTED)
    except (BrokenPipeError, SystemExit) as ended:
        if isinstance(ended, SystemExit) and not ended.code:
            return 0
        # The reader has seen enough (typer and rich turn that into an exit): as quiet as tools
        # that end by SIGPIPE, and with the exit code that shells give those.
        _discard(sys.stdout)
        return EXIT_BROKEN_PIPE
    except OSError as error:
        _discard(sys.stdout)
        return _refuse(f"{_file_of(error)}: {error.strerror or error}", EXIT_FAILED)
    except MemoryError:
        return _refuse(
            "not enough memory for a request of this size; use a smaller one", EXIT_FAILED
        )
    except RecursionError:
        return _refuse("the input is nested too deeply", EXIT_BAD_REQUEST)
    return outcome if isinstance(outcome, int) else 0


def prepare_streams() -> None:
    """Make the standard streams fit for any text and any way of starting the process.

    What the locale's encoding lacks is written as an escape. A stream that was closed is opened on
    nothing: else the next file to be opened would get its number, and what is printed with it.
    """
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    if sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison]
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
    if sys.stderr is None:  # pyright: ignore[reportUnnecessaryComparison]
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _discard(stream: TextIO) -> None:
    """What a stream still holds goes nowhere, so that closing it at the end cannot fail."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _file_of(error: OSError) -> str:
    return "the output cannot be written" if error.filename is None else str(error.filename)


def _exit_code(error: KedgeError) -> int:
    bad_request = isinstance(error, InvalidRequest | Unsatisfiable | JournalDamaged)
    return EXIT_BAD_REQUEST if bad_request else EXIT_FAILED


def _sentence(error: typer.TyperException, arguments: Sequence[str]) -> str:
    """What is wrong with the command line, and where to read on."""
    text = " ".join(error.format_message().split()).rstrip(".")
    context = getattr(error, "ctx", None)
    where = getattr(context, "command_path", "kedge")
    known = getattr(getattr(context, "command", None), "commands", {})
    for word in arguments:
        if word.startswith("--") and word.removeprefix("--") in known:
            # Kafka's tools have options for what are commands here
            return f"no such option: {word}; use {where} {word.removeprefix('--')}"
    return f"{text[:1].lower()}{text[1:]}; see {where} --help"


def _refuse(sentence: str, code: int) -> int:
    line = " ".join(sentence.split())
    if len(line) > SENTENCE_MAX:  # it quotes what was read, which may be of any length
        half = SENTENCE_MAX // 2
        line = f"{line[:half]} … {line[-half:]}"
    try:
        typer.echo(f"kedge: {printable(line)}", err=True)
    except OSError:
        _discard(sys.stderr)
    return code
