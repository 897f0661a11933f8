"""`kedge cost`: what topics and their owners pay for bytes, from the tables."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Annotated

import typer

from kedge.cli.connection import echo_json, echo_lines
from kedge.cli.options import Output, OutputOption, say
from kedge.cli.pipeline_options import TablesOption
from kedge.errors import InvalidRequest

SHOWN = 20


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("cost")(cost_command)


def cost_command(
    tables: TablesOption,
    rates: Annotated[Path, typer.Option(help="TOML file with the price of a gigabyte")],
    owners: Annotated[
        Path | None, typer.Option(help="TOML file with the owners of topics; none without")
    ] = None,
    cluster: Annotated[str, typer.Option(help="Only this cluster")] = "",
    first: Annotated[str, typer.Option("--from", help="The first day, as 2027-03-01")] = "",
    last: Annotated[str, typer.Option("--to", help="The last day, as 2027-03-31")] = "",
    limit: Annotated[int, typer.Option(help="Topics to show at most", min=1)] = SHOWN,
    picture: Annotated[
        Path | None, typer.Option("--picture", help="Write a chart to this HTML file")
    ] = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show what topics and their owners pay for bytes in, out and stored, by day

    Every sum is exact, whichever way it is added. Topics without owner are listed. Reads the tables
    of `kedge pipeline ingest`; needs no Spark.

    Example: kedge cost --tables history/ --rates rates.toml --owners owners.toml
    """
    from kedge.analytics.cost import parse_rates, priced
    from kedge.analytics.owners import Owners, parse_owners
    from kedge.files import with_path_context, write_atomically
    from kedge.files.toml_files import read_toml
    from kedge.pipeline.load_reader import measured_shares, topic_usage
    from kedge.pipeline.table_reader import Tables
    from kedge.report.cost import Bill, cost_html, cost_lines, cost_row

    begin, end = _day(first, "--from", date.min), _day(last, "--to", date.max)
    if begin > end:
        raise InvalidRequest(f"--from {first} is after --to {last}", hint="swap them")
    document = read_toml(rates)
    with with_path_context(rates):
        prices = parse_rates(document)
    known = Owners()
    if owners is not None:
        document = read_toml(owners)
        with with_path_context(owners):
            known = parse_owners(document)
    opened = Tables(tables)
    chosen = cluster or None
    opened.chosen_clusters(chosen)
    usages = topic_usage(opened, chosen, begin.isoformat(), end.isoformat())
    bill = Bill(priced(usages, prices, known), prices, measured_shares(opened))
    if picture is not None:
        write_atomically(picture, cost_html(bill).encode())
    if output is Output.JSON:
        echo_json(cost_row(bill))
    else:
        echo_lines(cost_lines(bill, limit=limit))
    if picture is not None:
        say(f"cost by day and owner: {picture}")


def _day(text: str, option: str, missing: date) -> date:
    try:
        return date.fromisoformat(text) if text else missing
    except ValueError:
        raise InvalidRequest(f"{option} {text!r} is not a date", hint="write 2027-03-01") from None
