"""Options of the commands about runs, and the runs of a cluster opened for one command."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kedge.cli.connection import connected
from kedge.cli.options import note
from kedge.cli.steering_options import SteeringOptions, parse_throttle, steering_of

if TYPE_CHECKING:
    from kedge.apply import RunOptions, Runs
    from kedge.cluster.port import Cluster
    from kedge.execution import Steering

StateOption = Annotated[
    Path | None,
    typer.Option("--state", help="Directory of runs; ~/.local/state/kedge/runs by default"),
]
RunOption = Annotated[
    str | None, typer.Option("--run", help="Id of a run (kedge runs lists them), if not the latest")
]
ThrottleOption = Annotated[
    str,
    typer.Option(
        "--throttle",
        help="Bytes per second in and out of each broker: 50MB; auto:10MB-100MB adapts",
    ),
]
NoThrottleOption = Annotated[bool, typer.Option("--no-throttle", help="As fast as the brokers can")]
SlotsOption = Annotated[
    int, typer.Option("--moves-per-broker", min=1, help="Copies at a time into and out of a broker")
]
SkipDriftedOption = Annotated[
    bool, typer.Option("--skip-drifted", help="Leave out what has moved since the plan was made")
]
IgnoreHealthOption = Annotated[
    bool,
    typer.Option(
        "--ignore-health",
        help="Move although brokers are down or other partitions are under-replicated",
    ),
]
IntervalOption = Annotated[
    float, typer.Option("--interval", min=0.05, help="Seconds between two reads of the cluster")
]
PlanArgument = Annotated[
    Path, typer.Argument(help="A plan, or a reassignment file of Kafka's tools")
]


@contextmanager
def open_runs(
    bootstrap: str, command_config: Path | None, state: Path | None
) -> Generator[tuple[Cluster, Runs]]:
    """The runs of a cluster, as they are."""
    from kedge.apply import Runs, default_state

    with connected(bootstrap, command_config) as cluster:
        yield cluster, Runs(state or default_state(), cluster.describe().cluster_id)


@contextmanager
def acting_on_runs(
    bootstrap: str, command_config: Path | None, state: Path | None, *, dry_run: bool = False
) -> Generator[tuple[Cluster, Runs]]:
    """The runs of a cluster, locked; what processes that died have left is cleaned up first."""
    with open_runs(bootstrap, command_config, state) as (cluster, runs), runs.held():
        if not dry_run:
            _settle(cluster, runs, finish_cancels=False)
        yield cluster, runs


@contextmanager
def reading_runs(
    bootstrap: str, command_config: Path | None, state: Path | None
) -> Generator[tuple[Cluster, Runs]]:
    """The runs of a cluster; leftovers are cleaned up unless another process works on them."""
    from kedge.errors import ReassignmentInProgress

    with open_runs(bootstrap, command_config, state) as (cluster, runs):
        if runs.all():
            try:
                with runs.held():
                    _settle(cluster, runs, finish_cancels=True)
            except ReassignmentInProgress:
                pass
        yield cluster, runs


def _settle(cluster: Cluster, runs: Runs, *, finish_cancels: bool) -> None:
    from kedge.apply import Waiting, settle

    settle(cluster, runs, Waiting(), note, finish_cancels=finish_cancels)


def run_options(
    throttle: str,
    no_throttle: bool,
    each_way: int,
    skip_drifted: bool,
    ignore_health: bool,
    steering: SteeringOptions | None = None,
    *,
    base: Steering | None = None,
) -> RunOptions:
    """The limits and exceptions of a run, from the options as typed.

    `base` is how a run that continues was steered before.
    """
    from kedge.apply import RunOptions
    from kedge.errors import InvalidRequest
    from kedge.execution import Limits

    if bool(throttle) == no_throttle:
        what = "Both --throttle and --no-throttle are given" if throttle else "No throttle given"
        raise InvalidRequest(what, hint="use --throttle 50MB (per second) or --no-throttle")
    rate, adaptive = parse_throttle(throttle, "--throttle") if throttle else (None, None)
    steered = steering_of(steering, adaptive, base)
    return RunOptions(Limits(rate, each_way), skip_drifted, ignore_health, steered)


def options_to_continue(
    runs: Runs,
    run_id: str | None,
    throttle: str,
    no_throttle: bool,
    skip_drifted: bool,
    ignore_health: bool,
    steering: SteeringOptions | None = None,
) -> RunOptions:
    """The limits of the run that continues, and how it was steered, unless others are given."""
    from kedge.apply import RunOptions
    from kedge.execution import Limits

    run = runs.chosen(run_id)
    record = (runs.rollback_of(run) or run).record()
    if throttle or no_throttle:
        each_way, base = record.each_way, record.steering
        exceptions = skip_drifted, ignore_health
        return run_options(throttle, no_throttle, each_way, *exceptions, steering, base=base)
    steered = steering_of(steering, record.steering.adaptive, record.steering)
    limits = Limits(record.rate, record.each_way)
    return RunOptions(limits, skip_drifted, ignore_health, steered)
