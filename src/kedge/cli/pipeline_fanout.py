"""`kedge pipeline fleet`, `what-if` and `verify-plans`: the planner on Spark workers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kedge.cli.connection import echo_json
from kedge.cli.options import EXIT_FAILED, Output, OutputOption, console, say
from kedge.cli.pipeline_options import (
    LimitOption,
    MasterOption,
    MemoryOption,
    PipelineCommand,
    TablesOption,
    spark_settings,
)
from kedge.errors import InvalidRequest
from kedge.model.printable import printable
from kedge.report.amounts import bytes_text

if TYPE_CHECKING:
    from kedge.pipeline.fanout.scenarios import Scenario
    from kedge.pipeline.jobs.context import SessionFactory

ToleranceOption = Annotated[
    str, typer.Option(help="Share above the best possible maximum: 0.05, or 0.05,cpu=0.2")
]
WeightsOption = Annotated[
    str, typer.Option(help="Of disk, in, out, cpu, replicas, leaders: disk=2,cpu=0; 0 leaves out")
]
LimitsOption = Annotated[
    str, typer.Option(help="Share of each capacity that may be filled: disk=0.9,cpu=off")
]
ExcludeOption = Annotated[
    str | None,
    typer.Option(help="Topics that must not change: a pattern, separate several by commas"),
]

Row = dict[str, Any]


def register(app: typer.Typer) -> None:
    """Add the commands to the group `pipeline`."""
    app.command("fleet", cls=PipelineCommand)(fleet_command)
    app.command("what-if", cls=PipelineCommand)(what_if_command)
    app.command("verify-plans", cls=PipelineCommand)(verify_plans_command)


def _sessions(master: str, driver_memory: str) -> SessionFactory:
    from kedge.pipeline.session import spark_session

    settings = spark_settings(master, driver_memory)
    return lambda: spark_session(settings)


# ---- fleet --------------------------------------------------------------------------------------


def fleet_command(
    tables: TablesOption,
    out: Annotated[Path, typer.Option(help="Directory for the plans, one file per cluster")],
    tolerance: ToleranceOption = "0.05",
    max_bytes: Annotated[str | None, typer.Option(help="Most bytes to move, each cluster")] = None,
    max_moves: Annotated[int | None, typer.Option(help="Most replicas, each cluster")] = None,
    exclude_topics: ExcludeOption = None,
    weights: WeightsOption = "",
    limits: LimitsOption = "",
    seed: Annotated[
        int, typer.Option(help="Seed of the random search; the same seed gives the same plan")
    ] = 0,
    master: MasterOption = "local[2]",
    driver_memory: MemoryOption = "2g",
    limit: LimitOption = 50,
    output: OutputOption = Output.TABLE,
) -> int:
    """Make a plan for every cluster of the tables, each as a file

    The plans are those that `kedge plan` makes of the same snapshots one at a time. A cluster that
    no plan can be made for is listed with the reason; exit 1 if there is no plan at all.

    Example: kedge pipeline fleet --tables history/ --out plans/ --tolerance 0.05
    """
    from kedge.cli.goal_options import GoalOptions
    from kedge.cli.pipeline_progress import shown
    from kedge.pipeline.fanout.fleet_plans import FleetRequest, fleet
    from kedge.pipeline.fanout.map_rows import rows_of_table

    options = GoalOptions(
        tolerance=tolerance,
        max_bytes=max_bytes,
        max_moves=max_moves,
        exclude_topics=exclude_topics,
        weights=weights,
        limits=limits,
    )
    request = FleetRequest(tables, out, options.goals(), seed)
    session = _sessions(master, driver_memory)
    with shown() as progress:
        rows = rows_of_table(fleet(request, session, progress=progress))
    made = sum(row["feasible"] for row in rows)
    if output is Output.JSON:
        echo_json(rows)
    else:
        _table(
            ("cluster", "moves", "bytes", "at least", "disk", "why"), map(_of_fleet, rows), limit
        )
    say(f"{made} plans in {out}, {len(rows) - made} clusters without")
    return 0 if made else EXIT_FAILED


def _of_fleet(row: Row) -> tuple[str, ...]:
    if not row["feasible"]:
        return (row["cluster"], "-", "-", "-", "-", row["reason"])
    return (
        row["cluster"],
        f"{row['replicas_moved']:,}",
        _bytes(row["bytes_moved"]),
        _bytes(row["bytes_moved_lower_bound"]),
        _from_to(row, "disk"),
        row["notes"],
    )


def _from_to(row: Row, name: str) -> str:
    before, after = row["imbalance_before"].get(name), row["imbalance_after"].get(name)
    return "-" if before is None or after is None else f"{before:.2f} → {after:.2f}"


# ---- what if ------------------------------------------------------------------------------------


def what_if_command(
    snapshot: Annotated[Path, typer.Option(help="The cluster: a snapshot file or directory")],
    scenarios: Annotated[
        Path | None, typer.Option(help="File of JSON: a list of scenarios")
    ] = None,
    grid: Annotated[
        str, typer.Option(help='Every combination: "traffic=1,2;lose-rack=none,r0;add-brokers=0,4"')
    ] = "",
    tolerance: ToleranceOption = "0.1",
    exclude_topics: ExcludeOption = None,
    weights: WeightsOption = "",
    limits: LimitsOption = "",
    out: Annotated[Path | None, typer.Option(help="Write the table to this .parquet file")] = None,
    html: Annotated[Path | None, typer.Option(help="Write a picture to this file")] = None,
    master: MasterOption = "local[2]",
    driver_memory: MemoryOption = "2g",
    limit: LimitOption = 50,
    output: OutputOption = Output.TABLE,
) -> None:
    """Plan for scenarios: more traffic, a rack lost, brokers added, other replication factors

    Axes of a grid: traffic, size, lose-rack, add-brokers, replication-factor, tolerance, seed. A
    scenario that no plan can serve is a row with its reason.

    Example: kedge pipeline what-if --snapshot c00.snapshot/
    --grid "traffic=1,1.5,2;lose-rack=none,r0,r1;add-brokers=0,2,4" --out if.parquet --html if.html
    """
    from kedge.cli.goal_options import GoalOptions
    from kedge.cli.pipeline_progress import shown
    from kedge.files import write_atomically
    from kedge.pipeline.fanout.map_rows import rows_of_table
    from kedge.pipeline.fanout.what_if import WhatIfRequest, what_if
    from kedge.pipeline.fanout.what_if_chart import what_if_html

    wanted = _scenarios(scenarios, grid)
    goals = GoalOptions(
        tolerance=tolerance, exclude_topics=exclude_topics, weights=weights, limits=limits
    ).goals()
    _check_places(out, html)
    session = _sessions(master, driver_memory)
    with shown() as progress:
        table = what_if(WhatIfRequest(snapshot, wanted, goals), session, progress=progress)
    rows = rows_of_table(table)
    _write_table(table, out)
    if html is not None:
        write_atomically(html, what_if_html(rows, str(snapshot)).encode())
    if output is Output.JSON:
        echo_json(rows)
    else:
        header = ("scenario", "moves", "bytes", "at least", "fullest broker", "why")
        _table(header, map(_of_scenario, rows), limit)
    refused = sum(not row["feasible"] for row in rows)
    say(f"{len(rows)} scenarios, {refused} that no plan serves")


def _scenarios(file: Path | None, grid: str) -> list[Scenario]:
    from kedge.files import read_bytes, with_path_context
    from kedge.pipeline.fanout.scenario_parsing import parse_grid, parse_scenarios

    if (file is None) == (not grid):
        hint = 'use --scenarios FILE.json or --grid "traffic=1,2"'
        raise InvalidRequest("No scenarios given", hint=hint)
    if file is None:
        return parse_grid(grid)
    data = read_bytes(file)
    with with_path_context(file):
        return parse_scenarios(data)


def _of_scenario(row: Row) -> tuple[str, ...]:
    if not row["feasible"]:
        return (row["name"], "-", "-", "-", "-", row["reason"])
    why: list[str] = []
    if not row["balanced"]:
        why.append("not within the tolerance")
    if row["partitions_without_copy"]:
        why.append(f"{row['partitions_without_copy']:,} partitions have no copy elsewhere")
    return (
        row["name"],
        f"{row['replicas_moved']:,}",
        _bytes(row["bytes_moved"]),
        _bytes(row["bytes_moved_lower_bound"]),
        _fullest(row["fullest_after"]),
        ", ".join(why),
    )


def _fullest(shares: dict[str, float]) -> str:
    if not shares:
        return "-"
    name, share = max(shares.items(), key=lambda one: one[1])
    return f"{name} {100 * share:.0f} %"


# ---- verify -------------------------------------------------------------------------------------


def verify_plans_command(
    plans: Annotated[Path, typer.Option(help="Directory of plans: *.json")],
    snapshots: Annotated[Path, typer.Option(help="Directory of snapshots, named as the plans")],
    out: Annotated[Path | None, typer.Option(help="Write the table to this .parquet file")] = None,
    master: MasterOption = "local[2]",
    driver_memory: MemoryOption = "2g",
    limit: LimitOption = 50,
    output: OutputOption = Output.TABLE,
) -> int:
    """Check many plans against the snapshots that they were made from

    Every figure and every bound is computed again, as `kedge plan verify` does. Exit 1 if a plan
    is wrong, cannot be read or has no snapshot.

    Example: kedge pipeline verify-plans --plans plans/ --snapshots history/gold/snapshot
    """
    from kedge.cli.pipeline_progress import shown
    from kedge.pipeline.fanout.map_rows import rows_of_table
    from kedge.pipeline.fanout.verify_plans import ERROR, OK, VerifyRequest, verify_plans

    _check_places(out)
    session = _sessions(master, driver_memory)
    with shown() as progress:
        table = verify_plans(VerifyRequest(plans, snapshots), session, progress=progress)
    _write_table(table, out)
    rows = rows_of_table(table)
    found = [row for row in rows if row["severity"] != OK]
    if output is Output.JSON:
        echo_json(rows)
    elif found:
        header = ("plan", "severity", "place", "what")
        _table(header, (tuple(row[name] for name in header) for row in found), limit)
    wrong = {row["plan"] for row in found if row["severity"] == ERROR}
    say(f"{len({row['plan'] for row in rows})} plans checked, {len(wrong)} of them wrong")
    return EXIT_FAILED if wrong else 0


# ---- tables -------------------------------------------------------------------------------------


def _table(header: Sequence[str], rows: Any, limit: int) -> None:
    from rich.table import Table

    listed: list[tuple[str, ...]] = list(rows)
    table = Table()
    for name in header:
        right = name in ("moves", "bytes", "at least")
        table.add_column(name, overflow="fold", justify="right" if right else "left")
    for row in listed[:limit]:
        table.add_row(*map(printable, row))
    console().print(table)
    if len(listed) > limit:
        say(f"{limit} of {len(listed)} rows shown")


def _check_places(*paths: Path | None) -> None:
    """Refuse files that have no directory to be in, before the work is done."""
    for path in filter(None, paths):
        if not path.absolute().parent.is_dir():
            raise InvalidRequest(f"{path}: there is no such directory to write to")


def _write_table(table: Any, path: Path | None) -> None:
    import io

    from kedge.files import parquet, write_atomically

    if path is not None:
        packed = io.BytesIO()
        parquet().write_table(table, packed, compression="zstd")
        write_atomically(path, packed.getvalue())


def _bytes(amount: int | None) -> str:
    return "-" if amount is None else bytes_text(amount)
