"""`kedge status`, `runs` and `throttle`: the runs of a cluster and the throttles they have set."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from kedge.cli.connection import BootstrapOption, CommandConfigOption, echo_json, echo_lines
from kedge.cli.options import Output, OutputOption, note
from kedge.cli.run_options import IntervalOption, RunOption, StateOption, reading_runs


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("status")(status_command)
    app.command("throttle")(throttle_command)
    app.command("runs")(runs_command)


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

    with reading_runs(bootstrap_server, command_config, state) as (cluster, runs):
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
    """List the runs on a cluster that were started from here

    Example: kedge runs --bootstrap-server localhost:9092
    """
    from kedge.apply.run_status import moved_partitions
    from kedge.report.runs import run_lines, run_row

    with reading_runs(bootstrap_server, command_config, state) as (cluster, runs):
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


def throttle_command(
    clear: Annotated[
        bool, typer.Option("--clear", help="Remove them, even while moves are under way")
    ] = False,
    run: RunOption = None,
    state: StateOption = None,
    bootstrap_server: BootstrapOption = "",
    command_config: CommandConfigOption = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show the throttles that runs from here have set; remove them with --clear

    Example: kedge throttle --clear --bootstrap-server localhost:9092
    """
    from kedge.apply import Waiting, is_under_way, release
    from kedge.report.runs import lease_rows

    with reading_runs(bootstrap_server, command_config, state) as (cluster, runs):
        chosen = runs.all() if run is None else [runs.chosen(run)]
        before = [row for each in chosen for row in lease_rows(each.name, each.record().lease)]
        if clear and before:
            with runs.held():
                for each in chosen:
                    if each.record().lease and is_under_way(cluster, each):
                        note(f"moves of run {each.name} go on without a throttle")
                    release(cluster, each, Waiting())
        after = [row for each in chosen for row in lease_rows(each.name, each.record().lease)]
    if output is Output.JSON:
        echo_json({"throttles": after if clear else before, "cleared": len(before) - len(after)})
        return
    lines = [f"{row['run']}  {row['of']}  {row['config']} = {row['value']}" for row in after]
    echo_lines(lines or ["No throttles of kedge runs are set"])
    if clear and before:
        echo_lines([f"{len(before) - len(after)} throttle settings removed"])
