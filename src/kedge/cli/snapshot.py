"""`kedge snapshot`: a cluster and its load at one moment, as a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kedge.cli.connection import CommandConfigOption, connected, echo_json
from kedge.cli.options import Output, OutputOption, echo, say

if TYPE_CHECKING:
    from kedge.cluster.port import Cluster
    from kedge.model import Snapshot


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("snapshot")(snapshot_command)


def snapshot_command(
    out: Annotated[
        Path, typer.Option("--out", help="x.json, x.json.gz, or a directory for Parquet")
    ],
    bootstrap_server: Annotated[
        str,
        typer.Option(
            "--bootstrap-server",
            help="Brokers of the cluster: host:port, separate several by commas",
        ),
    ] = "",
    command_config: CommandConfigOption = None,
    output: OutputOption = Output.TABLE,
) -> int:
    """Take a snapshot of a cluster: brokers, replicas, leaders and sizes

    Rates of network and cpu are in no answer of a cluster: `kedge pipeline` makes snapshots with
    them from metrics.

    Example: kedge snapshot --bootstrap-server localhost:9092 --out cluster.json
    """
    from kedge.balance import missing_loads_text
    from kedge.files import write_snapshot

    taken = live_snapshot(bootstrap_server, command_config)
    write_snapshot(taken, out)
    partitions, brokers = len(taken), len(taken.brokers)
    if output is Output.JSON:
        row = {"cluster_id": taken.cluster_id, "brokers": brokers, "partitions": partitions}
        echo_json(row | {"file": str(out)})
    else:
        echo(f"{partitions} partitions on {brokers} brokers: {out}")
    if missing := missing_loads_text(taken):
        say(f"note: {missing}; a live cluster reports sizes and counts only")
    return 0


def live_snapshot(bootstrap_server: str, command_config: Path | None) -> Snapshot:
    """A snapshot of a live cluster: metadata, sizes and log directories."""
    with connected(bootstrap_server, command_config) as cluster:
        return snapshot_now(cluster)


def snapshot_now(cluster: Cluster) -> Snapshot:
    """A snapshot of a cluster that is connected."""
    from datetime import UTC, datetime

    from kedge.cluster.snapshot_taker import take_snapshot

    return take_snapshot(cluster, taken_at=datetime.now(UTC).replace(microsecond=0))
