"""`kedge demo`: a cluster's life on the lab, told act by act. Nothing but this machine is needed.

stage      the lab, the cluster as an admin client sees it, and how the story is told
topics     topics created in every way that exists, growth, configs, deletion
moves      a throttled move with its progress, one that is cancelled, one through a failover
faults     a broker that is killed and comes back
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("demo")(demo_command)


def demo_command(
    html: Annotated[
        Path, typer.Option("--html", help="Where the page with the pictures goes")
    ] = Path("kedge-demo.html"),
    without_spark: Annotated[
        bool, typer.Option("--without-spark", help="End before the load model and the plan")
    ] = False,
    seed: Annotated[int, typer.Option(help="Decides placement and traffic")] = 1,
) -> None:
    """Tell the whole story on a cluster in this process, with pictures

    Example: kedge demo
    """
    from kedge.cli.demo import balance, faults, moves, topics
    from kedge.cli.demo.stage import on_stage

    with on_stage(seed) as stage:
        topics.created_every_way(stage)
        topics.grown_and_configured(stage)
        moves.moved_with_a_throttle(stage)
        moves.cancelled(stage)
        faults.a_broker_dies_and_returns(stage)
        moves.moved_through_a_failover(stage)
        topics.deleted(stage)
        if not without_spark:
            balance.planned_and_applied(stage, balance.measured(stage), html)
        stage.close()
