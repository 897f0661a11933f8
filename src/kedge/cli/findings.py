"""`kedge pipeline findings` and `slow-brokers`: what stands out in the tables."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kedge.cli.connection import echo_json, echo_lines
from kedge.cli.options import Output, OutputOption, console, say
from kedge.cli.pipeline_options import PipelineCommand, TablesOption
from kedge.errors import InvalidRequest
from kedge.model.printable import printable

if TYPE_CHECKING:
    from kedge.analytics.finding_groups import FindingGroup
    from kedge.pipeline.table_reader import Tables

SHOWN = 50
RECENT_MINUTES_MAX = 7 * 24 * 60

PictureOption = Annotated[
    Path | None, typer.Option("--picture", help="Write the charts to this HTML file")
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("findings", cls=PipelineCommand)(findings_command)
    app.command("slow-brokers", cls=PipelineCommand)(slow_brokers_command)


def findings_command(
    tables: TablesOption,
    kind: Annotated[str, typer.Option(help="Only of this kind, as hot_broker")] = "",
    cluster: Annotated[str, typer.Option(help="Only of this cluster")] = "",
    every: Annotated[
        bool, typer.Option("--all", help="Every single finding, also below the noise floor")
    ] = False,
    limit: Annotated[int, typer.Option(help="Lines to show at most", min=1)] = SHOWN,
    picture: PictureOption = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show what stands out: hot brokers, skew, flapping, growth, disks that fill up

    Findings of one cause are one line, ranked, with what changed since the run before.

    Example: kedge pipeline findings --tables history/
    """
    from kedge.analytics.findings import KINDS
    from kedge.pipeline.findings_reader import SeriesReader
    from kedge.pipeline.table_reader import Tables

    if kind and kind not in KINDS:
        raise InvalidRequest(f"no kind {kind!r}", hint=f"there are {', '.join(KINDS)}")
    opened = Tables(tables)
    if every:
        _single_findings(opened, kind or None, cluster or None, limit, output)
        return
    groups, total = finding_groups(opened, kind or None, cluster or None)
    shown = [group for group in groups if not group.below_floor]
    hidden = len(groups) - len(shown)
    reader = SeriesReader(opened)
    courses = [reader.course(group.findings) for group in shown[:limit]]
    _draw(shown[:limit], courses, picture)
    _show_groups(shown[:limit], courses, output)
    parts = [f"{total} findings in {len(groups)} groups"]
    parts += [f"{limit} of them shown"] if len(shown) > limit else []
    parts += [f"{hidden} below the noise floor, which --all shows"] if hidden else []
    if output is Output.TABLE:
        say(", ".join(parts))


def finding_groups(
    tables: Tables, kind: str | None = None, cluster: str | None = None
) -> tuple[list[FindingGroup], int]:
    """The groups of all findings, and the number of findings."""
    from kedge.analytics.finding_groups import grouped
    from kedge.pipeline.findings_reader import read_findings, read_history
    from kedge.pipeline.load_reader import cluster_facts

    found = read_findings(tables, kind=kind, cluster=cluster)
    history = read_history(tables, kind=kind, cluster=cluster)
    gone = [one.finding for one in history or () if one.gone]
    names = sorted({one.cluster for one in (*found, *gone)} & set(tables.reference.clusters))
    facts = {name: cluster_facts(tables, name) for name in names}
    return grouped(found, facts, history), len(found)


def _draw(groups: list[FindingGroup], courses: list[list[float]], picture: Path | None) -> None:
    if picture is None:
        return
    from kedge.files import write_atomically
    from kedge.report.findings import findings_html

    write_atomically(picture, findings_html(groups, courses).encode())
    say(f"the course of each group: {picture}")


def _show_groups(groups: list[FindingGroup], courses: list[list[float]], output: Output) -> None:
    from kedge.report.findings import group_lines, group_row

    if output is Output.JSON:
        pairs = zip(groups, courses, strict=True)
        echo_json([group_row(group, course) for group, course in pairs])
    else:
        echo_lines(group_lines(groups, courses))


def _single_findings(
    tables: Tables, kind: str | None, cluster: str | None, limit: int, output: Output
) -> None:
    from kedge.pipeline.findings_reader import read_findings, read_history, with_time_series
    from kedge.report.findings import finding_row, sparkline

    found = read_findings(tables, kind=kind, cluster=cluster)
    drawn = with_time_series(tables, found[:limit])
    if output is Output.JSON:
        known = {one.finding.key: one for one in read_history(tables) or () if not one.gone}
        echo_json([finding_row(one, known.get(one.key)) for one in drawn])
        return
    from rich.table import Table

    table = Table(show_lines=False)
    for name in ("kind", "cluster", "of", "value", "course", "why"):
        table.add_column(name, overflow="fold", justify="right" if name == "value" else "left")
    for one in drawn:
        value = f"{one.value:g}"
        row = (one.kind, one.cluster, one.subject, value, sparkline(one.course), one.why)
        table.add_row(*map(printable, row))
    if drawn:
        console().print(table)
    say(f"{len(found)} findings" + (f", {limit} of them shown" if len(found) > limit else ""))


def slow_brokers_command(
    tables: TablesOption,
    cluster: Annotated[str, typer.Option(help="Only this cluster")] = "",
    recent: Annotated[int, typer.Option(help="Minutes that count as now")] = 30,
    picture: PictureOption = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show brokers whose latency or flush time stands out of their history and their peers

    Example: kedge pipeline slow-brokers --tables history/
    """
    from kedge.analytics.slow_brokers import slow_brokers
    from kedge.files import write_atomically
    from kedge.pipeline.load_reader import broker_health
    from kedge.pipeline.table_reader import Tables
    from kedge.report.findings import SLOW_HEADER, slow_cells, slow_html, slow_row
    from kedge.report.text_table import table_lines

    if not 1 <= recent <= RECENT_MINUTES_MAX:
        raise InvalidRequest(f"--recent {recent}", hint=f"minutes from 1 to {RECENT_MINUTES_MAX}")
    opened = Tables(tables)
    found = [
        (name, one)
        for name in opened.chosen_clusters(cluster or None)
        for one in slow_brokers(broker_health(opened, name), recent_s=60.0 * recent)
    ]
    if picture is not None:
        write_atomically(picture, slow_html(found).encode())
        say(f"brokers that stand out: {picture}")
    if output is Output.JSON:
        echo_json([slow_row(name, one) for name, one in found])
        return
    if found:
        rows = [slow_cells(name, one) for name, one in found]
        echo_lines(table_lines(SLOW_HEADER, rows, right=(2, 3, 4)))
    count = len({(name, one.broker) for name, one in found})
    say(f"{count} brokers stand out" if count != 1 else "1 broker stands out")
