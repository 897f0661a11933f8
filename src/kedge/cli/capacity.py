"""`kedge capacity`: when brokers are full, and how many a date needs, from the tables."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kedge.cli.connection import echo_json, echo_lines
from kedge.cli.options import Output, OutputOption, say
from kedge.cli.pipeline_options import TablesOption
from kedge.errors import InvalidRequest

if TYPE_CHECKING:
    from kedge.analytics.capacity import BrokerSeries, CapacityAnswer, CapacityQuestion
    from kedge.pipeline.table_reader import Tables

DAYS_AHEAD, DAYS_MAX = 90, 5 * 365
HEADROOM_MAX = 0.95
ADD_MAX = 100_000

PictureOption = Annotated[
    Path | None, typer.Option("--picture", help="Write the charts to this HTML file")
]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("capacity")(capacity_command)


def capacity_command(
    tables: TablesOption,
    cluster: Annotated[str, typer.Option(help="Only this cluster")] = "",
    by: Annotated[
        str, typer.Option(help="The date to be ready for, as 2027-03-01; in 90 days without")
    ] = "",
    headroom: Annotated[float, typer.Option(help="Share of each capacity to keep free")] = 0.3,
    network: Annotated[
        str, typer.Option(help="Bytes per second of a broker's link each way, like 1GB")
    ] = "",
    disk: Annotated[
        str, typer.Option(help="Disk of brokers whose capacity is not in the tables, like 4TB")
    ] = "",
    add: Annotated[int, typer.Option(help="Show what this many more brokers change")] = 0,
    picture: PictureOption = None,
    output: OutputOption = Output.TABLE,
) -> None:
    """Forecast when brokers are full and how many are needed by a date

    Disk, bytes in and bytes out are forecast with their trend and weekly pattern. Reads the tables
    of `kedge pipeline ingest`; needs no Spark.

    Example: kedge capacity --tables history/ --by 2027-03-01 --headroom 0.3
    """
    from kedge.files import write_atomically
    from kedge.model.parse_amounts import parse_bytes, parse_rate
    from kedge.pipeline.table_reader import Tables
    from kedge.report.capacity import capacity_html, capacity_lines, capacity_row

    if not 0 <= headroom <= HEADROOM_MAX:
        hint = f"a share from 0 to {HEADROOM_MAX}, like 0.3"
        raise InvalidRequest(f"--headroom {headroom:g}", hint=hint)
    if not 0 <= add <= ADD_MAX:
        raise InvalidRequest(f"--add {add}", hint=f"a number from 0 to {ADD_MAX}")
    day = _date(by) if by else None
    rate = float(parse_rate(network, "--network")) if network else None
    size = float(parse_bytes(disk, "--disk")) if disk else None
    opened = Tables(tables)
    answers: dict[str, CapacityAnswer] = {}
    questions: dict[str, CapacityQuestion] = {}
    for name in opened.chosen_clusters(cluster or None):
        answers[name], questions[name] = _answered(opened, name, day, (headroom, rate, size, add))
    if picture is not None:
        page = capacity_html(answers, next(iter(questions.values())), ("disk", "in", "out"))
        write_atomically(picture, page.encode())
    if output is Output.JSON:
        rows = [capacity_row(name, answers[name], questions[name]) for name in answers]
        echo_json(rows)
    else:
        for place, name in enumerate(answers):
            echo_lines([""] * bool(place) + capacity_lines(name, answers[name], questions[name]))
    if picture is not None:
        say(f"forecasts and capacities: {picture}")


def _answered(
    tables: Tables,
    cluster: str,
    day: date | None,
    options: tuple[float, float | None, float | None, int],
) -> tuple[CapacityAnswer, CapacityQuestion]:
    from kedge.analytics.capacity import CapacityQuestion, capacity_answer
    from kedge.pipeline.load_reader import broker_series, replica_bounds

    headroom, network, disk, add = options
    brokers = broker_series(tables, cluster, disk=disk)
    replicas, largest = replica_bounds(tables, cluster)
    question = CapacityQuestion(_deadline(brokers, day), headroom, network, add, replicas, largest)
    answer = capacity_answer(brokers, question)
    if answer is None:
        what = f"{tables.root}: cluster {cluster} has no series to forecast from"
        raise InvalidRequest(what, hint="ingest at least two windows of metrics")
    return answer, question


def _deadline(brokers: list[BrokerSeries], day: date | None) -> float:
    """The start of the day asked for, which must be after the last sample; else in 90 days."""
    last = max((float(each.times[-1]) for each in brokers if len(each.times)), default=0.0)
    if day is None:
        return (last // 86_400 + DAYS_AHEAD) * 86_400
    wanted = datetime.combine(day, time(), UTC).timestamp()
    if not last < wanted <= last + DAYS_MAX * 86_400:
        until = datetime.fromtimestamp(last, UTC)
        where = "not after" if wanted <= last else "more than five years after"
        what = f"--by {day} is {where} the last sample, {until:%Y-%m-%d %H:%M} UTC"
        raise InvalidRequest(what, hint="use a later date" if wanted <= last else "use an earlier")
    return wanted


def _date(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise InvalidRequest(f"--by {text!r} is not a date", hint="write 2027-03-01") from None
