"""`kedge explain`: the reasons of a plan, of one partition or of one broker."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kedge.cli.connection import echo_json, echo_lines
from kedge.cli.options import Output, OutputOption, console
from kedge.errors import InvalidRequest, UnknownBroker, UnknownTopicOrPartition

if TYPE_CHECKING:
    from kedge.model import Snapshot, TopicPartition
    from kedge.plan import Change, Plan

HEAT_BROKERS_MAX = 200


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("explain")(explain_command)


def explain_command(
    file: Annotated[Path, typer.Argument(help="A plan")],
    partition: Annotated[
        str | None, typer.Option("--partition", help="Only this partition, like orders-3")
    ] = None,
    broker: Annotated[int | None, typer.Option("--broker", help="Only this broker, by id")] = None,
    snapshot: Annotated[
        Path | None,
        typer.Option(
            help="Draw the brokers of this cluster before and after; the snapshot beside the plan, "
            "if any"
        ),
    ] = None,
    output: OutputOption = Output.TABLE,
) -> int:
    """Explain a plan, or what it does with one partition or broker

    Example: kedge explain plan.json --partition orders-3
    """
    from kedge.cli.plan import snapshot_beside
    from kedge.files import read_bytes, read_snapshot, with_path_context
    from kedge.plan import parse_plan

    data = read_bytes(file)
    with with_path_context(file):
        plan = parse_plan(data)
    if partition is not None and broker is not None:
        raise InvalidRequest("--partition and --broker exclude each other", hint="use one of them")
    cluster = snapshot_beside(file, plan) if snapshot is None else read_snapshot(snapshot)
    if broker is not None:
        _check_broker(plan, cluster, broker)
    if output is Output.JSON:
        echo_json(_rows(plan, partition, broker))
        return 0
    echo_lines(_lines(plan, partition, broker))
    if cluster is not None:
        _draw(plan, cluster, broker)
    return 0


def _check_broker(plan: Plan, cluster: Snapshot | None, broker: int) -> None:
    """Refuse a broker that neither the plan nor the cluster has."""
    from kedge.model.columns import text_list

    known = {int(each) for change in plan.changes for each in (*change.before, *change.after)}
    if plan.summary is not None:
        known |= set(map(int, plan.summary.peak_disk))
    if cluster is not None:
        known |= {int(each.id) for each in cluster.brokers}
    if broker in known:
        return
    where = "plan" if cluster is None else "plan and its cluster"
    listed = text_list(sorted(known))
    raise UnknownBroker(
        f"Broker {broker} is not in the {where}", hint=f"brokers: {listed or 'none'}"
    )


def _lines(plan: Plan, partition: str | None, broker: int | None) -> list[str]:
    from kedge.model import BrokerId
    from kedge.report.plan_summary import plan_lines
    from kedge.report.plans import broker_lines, grounds, partition_lines

    if partition is not None:
        return partition_lines(plan, _change(plan, partition))
    if broker is not None:
        return broker_lines(plan, BrokerId(broker))
    counted = [f"{count:>6}  {why}" for why, count in grounds(plan)]
    return [*plan_lines(plan), *(["", "partitions, and why", *counted] if counted else [])]


def _rows(plan: Plan, partition: str | None, broker: int | None) -> object:
    from kedge.model import BrokerId
    from kedge.report.plans import change_row, summary_row

    if partition is not None:
        return change_row(plan, _change(plan, partition))
    if broker is not None:
        mine = BrokerId(broker)
        touched = [c for c in plan.changes if mine in c.before or mine in c.after]
        return {"broker": broker, "partitions": [change_row(plan, c) for c in touched]}
    return summary_row(plan)


def _change(plan: Plan, text: str) -> Change:
    from kedge.report.plans import change_of

    tp = _named(text)
    found = change_of(plan, tp)
    if found is None:
        raise UnknownTopicOrPartition(f"The plan does not change {tp}")
    return found


def _named(text: str) -> TopicPartition:
    from kedge.model import TopicPartition

    topic, dash, number = text.rpartition("-")
    if not dash or not number.isdigit():
        raise InvalidRequest(f"{text!r} is not a partition", hint="write it like orders-3")
    return TopicPartition(topic, int(number))


def _draw(plan: Plan, cluster: Snapshot, broker: int | None) -> None:
    from kedge.report.heat import heat_lines, heat_rows

    rows = heat_rows(plan, cluster)
    if broker is not None:
        rows = [row for row in rows if row["broker"] == broker]
    screen = console()
    for line in heat_lines(rows[:HEAT_BROKERS_MAX]):
        screen.print(line, markup=True)
    if len(rows) > HEAT_BROKERS_MAX:
        screen.print(f"and {len(rows) - HEAT_BROKERS_MAX} more brokers")
