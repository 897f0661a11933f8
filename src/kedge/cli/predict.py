"""`kedge predict`: replay a plan in a simulation before it is carried out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kedge.cli.apply_options import LimitOptions
from kedge.cli.connection import BootstrapOption, CommandConfigOption, echo_json, echo_lines
from kedge.cli.options import Output, OutputOption, say
from kedge.cli.run_options import (
    IntervalOption,
    NoThrottleOption,
    PlanArgument,
    RunsAccess,
    SlotsOption,
    StateOption,
    ThrottleOption,
    open_runs,
    state_directory,
)
from kedge.cli.steering_options import (
    LogDirThrottleOption,
    SteeringOptions,
    UntilOption,
    WindowOption,
    steering_of,
)
from kedge.errors import InvalidRequest
from kedge.model.parse_amounts import parse_rate

if TYPE_CHECKING:
    from kedge.apply.predict_run import Circumstances
    from kedge.execution.prediction import Rates
    from kedge.model import Snapshot
    from kedge.plan import Plan, ReassignmentFile

NetworkOption = Annotated[
    str, typer.Option("--network", help="Bytes per second of a broker's link each way, like 1GB")
]
DiskOption = Annotated[str, typer.Option("--disk", help="Bytes per second of a disk, like 200MB")]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("predict")(predict_command)


def predict_command(
    plan: PlanArgument,
    snapshot: Annotated[
        Path | None,
        typer.Option(help="The cluster; the snapshot beside the plan, if any, otherwise"),
    ] = None,
    throttle: ThrottleOption = "",
    no_throttle: NoThrottleOption = False,
    moves_per_broker: SlotsOption = 2,
    log_dir_throttle: LogDirThrottleOption = "",
    window: WindowOption = None,
    until: UntilOption = "",
    network: NetworkOption = "",
    disk: DiskOption = "",
    samples: Annotated[
        int | None,
        typer.Option("--samples", min=0, max=1000, help="Draws of uncertain rates; 20, or 10"),
    ] = None,
    interval: IntervalOption = 1.0,
    picture: Annotated[
        Path | None, typer.Option("--picture", help="Write a chart of all moves to this HTML file")
    ] = None,
    state: StateOption = None,
    bootstrap_server: BootstrapOption = "",
    command_config: CommandConfigOption = None,
    output: OutputOption = Output.TABLE,
) -> int:
    """Predict how long a plan takes, how full disks get, and whether it can end at all

    The plan is replayed with the scheduler that apply uses. A plan that would fill a disk or never
    end is refused. A plan of a live cluster has its snapshot beside it, which is found.

    Example: kedge predict plan.json --throttle 50MB
    """
    from kedge.apply.predict_run import predicted, predicted_end
    from kedge.execution.prediction import refuse_problems
    from kedge.files import with_path_context, write_atomically
    from kedge.report.prediction import end_fields, end_text, prediction_lines, prediction_row

    limits, adaptive = LimitOptions(throttle, no_throttle, moves_per_broker).limits()
    steering = steering_of(SteeringOptions(log_dir_throttle, window, until=until), adaptive)
    limits = replace(limits, log_dir_rate=steering.log_dir_rate)
    access = RunsAccess(bootstrap_server, command_config, state)
    wanted, cluster, around = _inputs(plan, snapshot, access, interval)
    around = replace(around, rates=_rates(network, disk), samples=samples)
    with with_path_context(plan):
        found = predicted(wanted, cluster, limits, around, adaptive)
    ends_at = predicted_end(found, steering, around)
    if picture is not None:
        from kedge.report.prediction_picture import gantt_html

        write_atomically(picture, gantt_html(found, plan.name).encode())
    if output is Output.JSON:
        echo_json(prediction_row(found) | end_fields(ends_at, steering))
    else:
        ends = end_text(ends_at, steering)
        echo_lines([*prediction_lines(found), *([f"begun now, the run {ends}"] if ends else [])])
    if picture is not None:
        say(f"the moves of each broker: {picture}")
    refuse_problems(found)
    return 0


def _rates(network: str, disk: str) -> Rates | None:
    """The rates as typed; None where neither is, so that learned ones may be used."""
    from kedge.execution.prediction import Rates

    if not network and not disk:
        return None
    usual = Rates()
    return Rates(
        float(parse_rate(network, "--network")) if network else usual.network,
        float(parse_rate(disk, "--disk")) if disk else usual.disk,
    )


def _inputs(
    file: Path, snapshot: Path | None, access: RunsAccess, poll_s: float
) -> tuple[Plan, Snapshot, Circumstances]:
    """The plan, the cluster that it is replayed on, and what a run depends on besides."""
    from kedge.apply.predict_run import Circumstances
    from kedge.cli.plan import snapshot_beside
    from kedge.files import read_snapshot
    from kedge.files.plan_files import read_plan_file
    from kedge.plan import Plan, from_kafka_file

    if snapshot is not None and access.bootstrap:
        raise InvalidRequest(
            "Both --snapshot and --bootstrap-server are given", hint="use one of them"
        )
    found = read_plan_file(file)
    around = Circumstances(state_directory(access.state), poll_s=poll_s)
    if access.bootstrap:
        return _live(found, access, poll_s)
    cluster: Snapshot | None = None
    if snapshot is not None:
        cluster = read_snapshot(snapshot)
    elif isinstance(found, Plan):
        cluster = snapshot_beside(file, found)
    if cluster is None:
        raise InvalidRequest(
            f"{file}: no snapshot of its cluster",
            hint="add --snapshot FILE or --bootstrap-server host:port",
        )
    return found if isinstance(found, Plan) else from_kafka_file(found, cluster), cluster, around


def _live(
    wanted: Plan | ReassignmentFile, access: RunsAccess, poll_s: float
) -> tuple[Plan, Snapshot, Circumstances]:
    """A cluster as it is now; the time of a lab may pass faster than ours."""
    from kedge.apply.predict_run import arrived_now, circumstances_of
    from kedge.cli.snapshot import snapshot_now
    from kedge.plan import Plan, from_kafka_file

    with open_runs(access) as (cluster, runs):
        now = snapshot_now(cluster)
        plan = wanted if isinstance(wanted, Plan) else from_kafka_file(wanted, now)
        around = circumstances_of(runs, state=state_directory(access.state), poll_s=poll_s)
        return plan, now, replace(around, arrived=arrived_now(cluster, plan))
