"""`kedge status`, `runs`, `throttle`, `pause` and `continue`: show runs, and steer them."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from kedge.cli.connection import BootstrapOption, CommandConfigOption, echo_json, echo_lines
from kedge.cli.option_group import with_option_group
from kedge.cli.options import EXIT_FAILED, Output, OutputOption, note
from kedge.cli.run_options import (
    IntervalOption,
    RunOption,
    RunsAccess,
    StateOption,
    open_runs,
    reading_runs,
)
from kedge.model.parse_amounts import parse_rate

if TYPE_CHECKING:
    from kedge.execution import Request


@dataclass(frozen=True, slots=True)
class RequestOptions:
    """Which run a command steers, and where it is, as typed."""

    run: RunOption = None
    state: StateOption = None
    bootstrap_server: BootstrapOption = ""
    command_config: CommandConfigOption = None
    output: OutputOption = Output.TABLE

    @property
    def place(self) -> RunsAccess:
        """The cluster, and where its runs are kept."""
        return RunsAccess(self.bootstrap_server, self.command_config, self.state)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("status")(status_command)
    app.command("throttle")(throttle_command)
    app.command("runs")(runs_command)
    app.command("pause")(pause_command)
    app.command("continue")(continue_command)


def status_command(
    run: RunOption = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="Show it again and again until the run is at rest")
    ] = False,
    interval: IntervalOption = 1.0,
    state: StateOption = None,
    bootstrap_server: BootstrapOption = "",
    command_config: CommandConfigOption = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show how far a run is

    Example: kedge status --bootstrap-server localhost:9092
    """
    from kedge.apply.run_status import run_status
    from kedge.cli.watch import watch_run
    from kedge.report.runs import status_lines, status_row

    with reading_runs(RunsAccess(bootstrap_server, command_config, state)) as (cluster, runs):
        chosen = runs.chosen(run)
        if watch:
            watched = (runs.rollback_of(chosen) if run is None else None) or chosen
            watch_run(lambda: run_status(cluster, runs, watched), interval, output)
            return
        row = status_row(run_status(cluster, runs, chosen), time.time())
    if output is Output.JSON:
        echo_json(row)
    else:
        echo_lines(status_lines(row))


def runs_command(
    state: StateOption = None,
    bootstrap_server: BootstrapOption = "",
    command_config: CommandConfigOption = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """List the runs on a cluster

    Example: kedge runs --bootstrap-server localhost:9092
    """
    from kedge.apply.run_status import moved_partitions
    from kedge.report.runs import run_lines, run_row

    with reading_runs(RunsAccess(bootstrap_server, command_config, state)) as (cluster, runs):
        rows = [
            run_row(
                each.name,
                each.record(),
                runs.state_of(each),
                moved=moved_partitions(cluster, runs, each),
                partitions=len(each.plan().partitions),
                now=time.time(),
            )
            for each in runs.all()
        ]
    if output is Output.JSON:
        echo_json({"runs": rows})
    else:
        echo_lines(run_lines(rows))


@with_option_group(RequestOptions)
def throttle_command(
    options: RequestOptions,
    clear: Annotated[
        bool, typer.Option("--clear", help="Remove them, even while moves are under way")
    ] = False,
    rate: Annotated[
        str,
        typer.Option(
            "--rate", help="Change the throttle of a run, at work or not: 80MB, or auto:LOW-HIGH"
        ),
    ] = "",
    log_dir_rate: Annotated[
        str,
        typer.Option("--log-dir-rate", help="The same for copies between log directories"),
    ] = "",
) -> int:
    """Show, change or remove the throttles of runs from here

    Example: kedge throttle --clear --bootstrap-server localhost:9092
    """
    if rate or log_dir_rate:
        request = _rate_request(rate, log_dir_rate, clear=clear)
        return _requested(request, options)
    from kedge.apply import Waiting, is_under_way, release
    from kedge.report.runs import lease_rows

    with reading_runs(options.place) as (cluster, runs):
        chosen = runs.all() if options.run is None else [runs.chosen(options.run)]
        before = [row for each in chosen for row in lease_rows(each.name, each.record().lease)]
        if clear and before:
            with runs.held():
                for each in chosen:
                    if each.record().lease and is_under_way(cluster, each):
                        note(f"moves of run {each.name} go on without a throttle")
                    release(cluster, each, Waiting())
        after = [row for each in chosen for row in lease_rows(each.name, each.record().lease)]
    if options.output is Output.JSON:
        echo_json({"throttles": after if clear else before, "cleared": len(before) - len(after)})
        return 0
    lines = [f"{row['run']}  {row['of']}  {row['config']} = {row['value']}" for row in after]
    echo_lines(lines or ["No throttles of kedge runs are set"])
    if clear and before:
        echo_lines([f"{len(before) - len(after)} throttle settings removed"])
    return 0


@with_option_group(RequestOptions)
def pause_command(options: RequestOptions) -> int:
    """Start no more moves of a run that is at work, until kedge continue

    Example: kedge pause --bootstrap-server localhost:9092
    """
    from kedge.apply import new_request
    from kedge.execution import RequestKind

    return _requested(new_request(RequestKind.PAUSE), options)


@with_option_group(RequestOptions)
def continue_command(options: RequestOptions) -> int:
    """Go on with a run that was paused

    Example: kedge continue --bootstrap-server localhost:9092
    """
    from kedge.apply import new_request
    from kedge.execution import RequestKind

    return _requested(new_request(RequestKind.CONTINUE), options)


# ---- requests -----------------------------------------------------------------------------------


def _rate_request(rate: str, log_dir_rate: str, *, clear: bool) -> Request:
    from kedge.apply import new_request
    from kedge.errors import InvalidRequest
    from kedge.execution import RequestKind
    from kedge.execution.adaptive_throttle import parse_throttle

    if clear:
        raise InvalidRequest(
            "Both --clear and a rate are given", hint="change the throttle, or remove it"
        )
    new, adaptive = parse_throttle(rate, "--rate") if rate else (None, None)
    within = parse_rate(log_dir_rate, "--log-dir-rate") if log_dir_rate else None
    return new_request(RequestKind.RATE, rate=new, log_dir_rate=within, adaptive=adaptive)


def _requested(request: Request, options: RequestOptions) -> int:
    """Send a request to a run, wait for it, and show what came of it."""
    from kedge.apply import Waiting, send
    from kedge.report.steering import requested_lines, requested_row

    with open_runs(options.place) as (cluster, runs):
        done = send(cluster, runs, options.run, request, Waiting())
    if options.output is Output.JSON:
        echo_json(requested_row(done))
    else:
        echo_lines(requested_lines(done))
    return EXIT_FAILED if done.reply.refused or done.reply.unconfirmed else 0
