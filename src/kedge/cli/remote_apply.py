"""`kedge --server URL apply`, `resume`, `cancel` and `rollback`: the server carries them out."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any

import typer

from kedge.cli.apply_options import LimitOptions
from kedge.cli.connection import DryRunOption, YesOption, confirm
from kedge.cli.option_group import with_option_group
from kedge.cli.options import EXIT_FAILED, Output, OutputOption, say
from kedge.cli.remote import Remote, remote, show_result
from kedge.cli.run_options import RunOption
from kedge.errors import InvalidRequest

PLAN_ID = re.compile("[0-9a-f]{1,32}")


@dataclass(frozen=True)
class RemoteRunOptions(LimitOptions):
    """The options of a run that a server carries out."""

    window: Annotated[
        list[str] | None,
        typer.Option("--window", help="Moves start only in it: 22:00-05:00[Europe/Berlin]"),
    ] = field(default=None)
    hard_window: Annotated[
        bool, typer.Option("--hard-window", help="Cancel moves that are under way at its end")
    ] = False
    cancel_stuck: Annotated[
        bool, typer.Option("--cancel-stuck", help="Cancel moves that make no progress")
    ] = False
    dry_run: DryRunOption = False
    yes: YesOption = False
    output: OutputOption = Output.TABLE

    def limits_row(self) -> dict[str, Any]:
        """How fast it goes, as the API takes it."""
        self.limits()  # refused here as a local command refuses it
        return {
            "throttle": None if self.no_throttle else self.throttle,
            "moves_per_broker": self.moves_per_broker,
            "ignore_health": self.ignore_health,
        }


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("apply")(apply_command)
    app.command("resume")(resume_command)
    app.command("cancel")(cancel_command)
    app.command("rollback")(rollback_command)


@with_option_group(RemoteRunOptions)
def apply_command(
    options: RemoteRunOptions,
    plan: Annotated[str, typer.Argument(help="The id of a plan of the server, or its file")],
) -> int:
    """Carry a plan out: throttled, a few moves at a time, with progress; always tidied up

    Example: kedge --server http://localhost:8080 apply plan.json --throttle 50MB
    """
    body = options.limits_row() | {
        "windows": options.window or [],
        "hard_window": options.hard_window,
        "cancel_stuck": options.cancel_stuck,
        "skip_drifted": options.skip_drifted,
    }
    with remote() as cluster:
        body["plan_id"] = _plan_id(cluster, plan)
        for line in cluster.api.post(cluster.path("runs", "preview"), body)["lines"]:
            say(line)
        if options.dry_run:
            return 0
        confirm("Apply this plan?", yes=options.yes)
        return _carried_out(cluster, cluster.path("runs"), body, options.output)


def resume_command(
    run: RunOption = None,
    throttle: Annotated[str, typer.Option("--throttle", help="Another throttle: 50MB")] = "",
    output: OutputOption = Output.TABLE,
) -> int:
    """Continue a run that was stopped or killed, with its own throttle unless another is given

    Example: kedge --server http://localhost:8080 resume
    """
    with remote() as cluster:
        body = {"throttle": throttle or None}
        return _carried_out(cluster, cluster.run_path(run, "resume"), body, output)


def cancel_command(
    run: RunOption = None, yes: YesOption = False, output: OutputOption = Output.TABLE
) -> int:
    """Cancel the moves of a run that are under way; what has arrived stays

    Example: kedge --server http://localhost:8080 cancel
    """
    with remote() as cluster:
        confirm("Cancel this run?", yes=yes)
        result = cluster.follow(cluster.api.change(cluster.run_path(run, "cancel")))["result"]
    show_result(result, output)
    return EXIT_FAILED if result["reverting"] else 0


@with_option_group(
    RemoteRunOptions, without=("window", "hard_window", "cancel_stuck", "skip_drifted", "dry_run")
)
def rollback_command(options: RemoteRunOptions, run: RunOption = None) -> int:
    """Bring back what a run has moved, whether it ended or not

    Example: kedge --server http://localhost:8080 rollback --throttle 50MB
    """
    body = options.limits_row()
    with remote() as cluster:
        confirm("Roll back?", yes=options.yes)
        return _carried_out(cluster, cluster.run_path(run, "rollback"), body, options.output)


def _carried_out(cluster: Remote, path: str, body: dict[str, Any], output: Output) -> int:
    result = cluster.follow(cluster.api.change(path, body))["result"]
    show_result(result, output)
    return 0 if result["complete"] else EXIT_FAILED


def _plan_id(cluster: Remote, plan: str) -> str:
    """The id of a plan: as it was typed, or of the plan that the server made for this file."""
    file = Path(plan)
    if not file.exists():
        if PLAN_ID.fullmatch(plan):
            return plan
        raise InvalidRequest(f"{plan} is neither a file nor the id of a plan")
    from kedge.files import read_text

    digest = sha256(read_text(file).encode()).hexdigest()
    found = cluster.api.get(cluster.path("plans"), sha256=digest)["plans"]
    if not found:
        raise InvalidRequest(
            f"{plan} is not a plan that this server has made",
            hint="make it with kedge --server … plan --out, or apply it with --bootstrap-server",
        )
    return found[0]["id"]
