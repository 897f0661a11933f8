"""`kedge pipeline rates`: mean bytes per second of partitions, from the tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from kedge.cli.connection import echo_json
from kedge.cli.options import Output, OutputOption, console
from kedge.cli.pipeline_options import PipelineCommand, TablesOption
from kedge.model.printable import printable

if TYPE_CHECKING:
    from kedge.pipeline.rates_reader import PartitionRate


def register(app: typer.Typer) -> None:
    """Add the command to the group `pipeline`."""
    app.command("rates", cls=PipelineCommand)(rates_command)


def rates_command(
    tables: TablesOption,
    cluster: Annotated[str, typer.Option(help="The cluster")],
    start: Annotated[
        float | None, typer.Option("--from", help="Start of the time, in seconds since 1970")
    ] = None,
    end: Annotated[
        float | None, typer.Option("--to", help="End of the time, in seconds since 1970")
    ] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show the mean bytes per second of each partition, and how they were found

    Rules: measured, offsets, commits, growth, bytes_in, even.

    Example: kedge pipeline rates --tables history/ --cluster c00
    """
    from kedge.pipeline.rates_reader import read_rates

    found = read_rates(tables, cluster, start=start, end=end)
    if output is Output.JSON:
        echo_json([rate.to_row() for rate in found])
        return
    _show_rates(found)


def _show_rates(found: list[PartitionRate]) -> None:
    from rich.table import Table

    table = Table()
    table.add_column("partition", overflow="fold")
    for name in ("in, bytes/s", "out, bytes/s"):
        table.add_column(name, justify="right")
    for name in ("in by", "out by"):
        table.add_column(name)
    for one in sorted(found, key=lambda rate: -(rate.in_bytes_per_s + rate.out_bytes_per_s)):
        amounts = (f"{amount:,.0f}" for amount in (one.in_bytes_per_s, one.out_bytes_per_s))
        table.add_row(printable(f"{one.topic}-{one.partition}"), *amounts, one.in_by, one.out_by)
    console().print(table)
