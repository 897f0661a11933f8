"""`kedge --server URL plan`: a plan that the server makes of the cluster as it is now."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kedge.cli.connection import echo_json, echo_lines
from kedge.cli.goal_options import GoalOptions
from kedge.cli.option_group import with_option_group
from kedge.cli.options import Output, OutputOption, say
from kedge.cli.remote import Remote, remote

LOCAL = ("snapshot", "bootstrap_server", "command_config")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("plan")(plan_command)


@with_option_group(GoalOptions, without=LOCAL)
def plan_command(
    options: GoalOptions,
    out: Annotated[Path | None, typer.Option("--out", help="Write the plan to this file")] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Make a plan that evens out what brokers carry, at the least movement of data

    The server keeps the plan: `kedge --server … apply` takes its id, or the file of --out.

    Example: kedge --server http://localhost:8080 plan --tolerance 0.05 --out plan.json
    """
    from kedge.plan import parse_plan
    from kedge.report.plan_summary import plan_lines
    from kedge.report.plans import summary_row

    body = {"goals": options.goals().to_json(), "seed": options.seed}
    with remote() as cluster:
        made = _made(cluster, {**body, "time_limit_s": options.time_limit})
        data = cluster.api.download(cluster.path("plans", made["plan_id"], "file"))
        if out is not None:
            _write(cluster, out, data, made["snapshot_id"])
    plan = parse_plan(data)
    if output is Output.JSON:
        echo_json(summary_row(plan))
    else:
        echo_lines(plan_lines(plan))
    say(f"the server keeps the plan: {made['plan_id']}")


def _made(cluster: Remote, body: dict[str, object]) -> dict[str, str]:
    from kedge.cli.live_progress import status_line

    job = cluster.api.change(cluster.path("plans"), body)
    with status_line() as show:
        ended = cluster.api.ended(job, lambda progress: show(str(progress.get("text", ""))))
    return ended["result"]


def _write(cluster: Remote, out: Path, data: bytes, snapshot_id: str) -> None:
    """Write the plan, with the snapshot that it was made from beside it."""
    import gzip

    from kedge.files import write_atomically
    from kedge.files.plan_files import write_plan_snapshot
    from kedge.model.snapshot_json import parse_snapshot

    packed = cluster.api.download(cluster.path("snapshots", snapshot_id))
    snapshot = parse_snapshot(gzip.decompress(packed))
    write_atomically(out, data)
    kept = write_plan_snapshot(snapshot, out)
    say(f"the snapshot that the plan was made from: {kept}")
