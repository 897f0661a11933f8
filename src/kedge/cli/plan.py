"""`kedge plan …`: plans on files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kedge.cli.options import EXIT_FAILED, Output, OutputOption, help_without_command, say
from kedge.errors import InvalidRequest

if TYPE_CHECKING:
    from kedge.model import Snapshot
    from kedge.plan import Finding, Plan

app = typer.Typer(name="plan", help="Check plans before anybody runs them")


@app.callback(invoke_without_command=True)
def root(context: typer.Context) -> None:
    """Check plans before anybody runs them"""
    help_without_command(context)


@app.command("verify")
def verify_command(
    file: Annotated[Path, typer.Argument(help="A plan, or a reassignment file of Kafka's tools")],
    snapshot: Annotated[
        Path | None, typer.Option(help="Also check against this cluster (file or directory)")
    ] = None,
    output: OutputOption = Output.TABLE,
) -> int:
    """Check a plan against itself and, if given, against a cluster's snapshot

    Example: kedge plan verify plan.json --snapshot cluster.json
    """
    from kedge.plan import verify_plan

    plan, cluster, digest = _inputs(file, snapshot)
    findings = verify_plan(plan, cluster, snapshot_sha256=digest)
    _show(findings, output)
    fatal = sum(finding.fatal for finding in findings)
    say(f"{len(plan.partitions)} partitions checked, {fatal} errors, {len(findings) - fatal} notes")
    return EXIT_FAILED if fatal else 0


def _inputs(file: Path, snapshot: Path | None) -> tuple[Plan, Snapshot | None, str | None]:
    """The plan, the cluster to hold it against, and that cluster's digest."""
    from kedge.files import read_bytes, read_snapshot, said_of
    from kedge.model import sha256_of_snapshot
    from kedge.plan import adopt, is_plan, parse_execute, parse_plan

    data = read_bytes(file)
    cluster = None if snapshot is None else read_snapshot(snapshot)
    with said_of(file):
        if is_plan(data):
            plan = parse_plan(data)
            wanted = None if plan.snapshot_sha256 is None else cluster
            return plan, cluster, None if wanted is None else sha256_of_snapshot(wanted)
        if cluster is None:
            raise InvalidRequest(
                f"{file}: a plain reassignment file has nothing to be held against",
                hint="give the cluster with --snapshot",
            )
        return adopt(parse_execute(data.decode(errors="replace")), cluster), cluster, None


def _show(findings: Sequence[Finding], output: Output) -> None:
    if output is Output.JSON:
        import orjson

        rows = [
            {"severity": f.severity, "kind": f.kind, "place": f.place, "what": f.what}
            for f in findings
        ]
        typer.echo(orjson.dumps({"findings": rows}).decode())
        return
    for finding in findings:
        typer.echo(f"{finding.severity}: {finding}")
