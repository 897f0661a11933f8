"""`kedge --server URL status`, `runs`, `throttle`, `pause` and `continue`."""

from __future__ import annotations

from typing import Annotated

import typer

from kedge.cli.connection import echo_json, echo_lines
from kedge.cli.options import EXIT_FAILED, Output, OutputOption
from kedge.cli.remote import remote, show_result
from kedge.cli.run_options import RunOption


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("status")(status_command)
    app.command("runs")(runs_command)
    app.command("throttle")(throttle_command)
    app.command("pause")(pause_command)
    app.command("continue")(continue_command)


def status_command(run: RunOption = None, output: OutputOption = Output.TABLE) -> None:
    """Show how far a run is

    Example: kedge --server http://localhost:8080 status
    """
    from kedge.report.runs import status_lines

    with remote() as cluster:
        row = cluster.api.get(cluster.run_path(run))
    row.pop("job")
    if output is Output.JSON:
        echo_json(row)
    else:
        echo_lines(status_lines(row))


def runs_command(output: OutputOption = Output.TABLE) -> None:
    """List the runs on a cluster

    Example: kedge --server http://localhost:8080 runs
    """
    from kedge.report.runs import run_lines

    with remote() as cluster:
        rows = cluster.api.get(cluster.path("runs"))["runs"][::-1]
    if output is Output.JSON:
        echo_json({"runs": rows})
    else:
        echo_lines(run_lines(rows))


def throttle_command(
    rate: Annotated[
        str, typer.Option("--rate", help="The new throttle of a run: 80MB, or auto:LOW-HIGH")
    ],
    run: RunOption = None,
    output: OutputOption = Output.TABLE,
) -> int:
    """Change the throttle of a run, at work or not

    Example: kedge --server http://localhost:8080 throttle --rate 80MB
    """
    return _requested(run, "throttle", output, {"throttle": rate})


def pause_command(run: RunOption = None, output: OutputOption = Output.TABLE) -> int:
    """Start no more moves of a run that is at work, until kedge continue

    Example: kedge --server http://localhost:8080 pause
    """
    return _requested(run, "pause", output)


def continue_command(run: RunOption = None, output: OutputOption = Output.TABLE) -> int:
    """Go on with a run that was paused

    Example: kedge --server http://localhost:8080 continue
    """
    return _requested(run, "continue", output)


def _requested(
    run: str | None, verb: str, output: Output, body: dict[str, str] | None = None
) -> int:
    with remote() as cluster:
        row = cluster.api.change(cluster.run_path(run, verb), body)
    show_result(row, output)
    return EXIT_FAILED if row["unconfirmed"] else 0
