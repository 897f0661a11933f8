"""`kedge demo`: topics, moves, faults and a plan on a lab in this process, with explanations.

demo_lab   the lab, the cluster as an admin client sees it, and the output
topics     topics created in every way that exists, growth, configs, deletion
moves      a throttled move with its progress, one that is cancelled, one through a failover
faults     a broker that is killed and comes back
balance    metrics, a load model and a plan, on Spark
pages      with `--web`: the pages on the lab, and a broker that dies while they are watched
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
    web: Annotated[
        bool, typer.Option("--web", help="End with the pages on the lab, until Ctrl-C")
    ] = False,
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="Of the pages; 0 takes a free one")
    ] = 8080,
) -> None:
    """Show everything on a cluster in this process, with pictures

    Example: kedge demo
    """
    from kedge.cli.demo import balance, faults, moves, pages, topics
    from kedge.cli.demo.demo_lab import running_demo

    with running_demo(seed) as demo:
        topics.created_every_way(demo)
        topics.grown_and_configured(demo)
        moves.moved_with_a_throttle(demo)
        moves.cancelled(demo)
        faults.a_broker_dies_and_returns(demo)
        moves.moved_through_a_failover(demo)
        topics.deleted(demo)
        if not without_spark:
            balance.planned_and_applied(demo, balance.measured(demo), html)
        if web:
            pages.offered(demo, port)
        demo.close(with_pages=web)
