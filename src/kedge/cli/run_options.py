"""Options of the commands about runs, and the runs of a cluster opened for one command."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kedge.cli.connection import connected, read_properties
from kedge.cli.options import note

if TYPE_CHECKING:
    from kedge.apply import RunStore
    from kedge.cluster.port import Cluster

StateOption = Annotated[
    str | None,
    typer.Option(
        "--state",
        help="Where runs are kept: cluster, or a directory. Default: in the cluster; without the "
        "rights for that in ~/.local/state/kedge/runs",
    ),
]
TakeOverOption = Annotated[
    bool,
    typer.Option("--take-over", help="Replace the process that acts on runs of the cluster now"),
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


@dataclass(frozen=True, slots=True)
class RunsAccess:
    """The cluster and the place of its runs as typed, and what the command does with them."""

    bootstrap: str
    command_config: Path | None
    state: str | None
    begins: bool = False  # a run
    take_over: bool = False


@contextmanager
def open_runs(access: RunsAccess) -> Generator[tuple[Cluster, RunStore]]:
    """The runs of a cluster, as they are."""
    from kedge import wiring

    with connected(access.bootstrap, access.command_config) as cluster:
        settings = read_properties(access.command_config)
        place = wiring.RunsPlace(access.bootstrap, settings, access.state)
        with wiring.open_runs(
            cluster,
            place,
            on_note=note,
            begins=access.begins,
            take_over=access.take_over,
        ) as runs:
            yield runs.guarded(cluster), runs


def state_directory(state: str | None) -> Path:
    """Where measured rates are: the directory of runs, the usual one for runs in the cluster."""
    from kedge.apply import default_state
    from kedge.wiring import IN_CLUSTER

    return default_state() if state in (None, IN_CLUSTER) else Path(state)


@contextmanager
def acting_on_runs(
    access: RunsAccess, *, dry_run: bool = False
) -> Generator[tuple[Cluster, RunStore]]:
    """The runs of a cluster, locked; what processes that died have left is cleaned up first."""
    with ExitStack() as stack:
        if dry_run:  # it changes nothing, so it takes no lock either
            yield stack.enter_context(open_runs(access))
            return
        cluster, runs = _held(stack, access)
        _settle(cluster, runs, finish_cancels=False)
        yield cluster, runs


def _held(stack: ExitStack, access: RunsAccess) -> tuple[Cluster, RunStore]:
    """The runs, locked: in a directory if no place was named and the cluster refuses to."""
    from kedge.apply import default_state
    from kedge.apply.runs_place import REFUSALS, kept_in_directory

    cluster, runs = stack.enter_context(open_runs(access))
    try:
        stack.enter_context(runs.held())
    except REFUSALS as refusal:
        if access.state is not None:
            raise
        stack.close()
        instead = replace(access, state=str(default_state()))
        cluster, runs = stack.enter_context(open_runs(instead))
        note(kept_in_directory(runs, refusal))
        stack.enter_context(runs.held())
    return cluster, runs


@contextmanager
def reading_runs(access: RunsAccess) -> Generator[tuple[Cluster, RunStore]]:
    """The runs of a cluster; leftovers are cleaned up unless another process works on them."""
    from kedge.apply import has_leftovers
    from kedge.errors import ReassignmentInProgress, Unauthorised

    with open_runs(access) as (cluster, runs):
        if any(has_leftovers(run, runs.record_of(run)) for run in runs.all()):
            try:
                with runs.held(patient=False):
                    _settle(cluster, runs, finish_cancels=True)
            except ReassignmentInProgress:
                pass
            except Unauthorised as refusal:
                note(f"leftovers of runs are not cleaned up: {refusal.what}")
        yield cluster, runs


def _settle(cluster: Cluster, runs: RunStore, *, finish_cancels: bool) -> None:
    from kedge.apply import Waiting, settle

    settle(cluster, runs, Waiting(), note, finish_cancels=finish_cancels)
