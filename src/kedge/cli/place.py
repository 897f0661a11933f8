"""`kedge place`: where Kafka would put replicas."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Annotated

import typer

from kedge.cli.options import Output, OutputOption, echo, say
from kedge.errors import InvalidPartitions, InvalidRequest

if TYPE_CHECKING:
    from kedge.model import Broker, BrokerId
    from kedge.placement import Start

Replicas = dict[int, "tuple[BrokerId, ...]"]


class Placer(StrEnum):
    """Whose algorithm to follow."""

    ZOOKEEPER = "zookeeper"
    KRAFT = "kraft"


class RackModeName(StrEnum):
    """What to do with racks (Kafka's RackAwareMode)."""

    ENFORCED = "enforced"
    SAFE = "safe"
    DISABLED = "disabled"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("place")(place_command)


def place_command(
    brokers: Annotated[str, typer.Option(help="Brokers as id or id:rack, by commas")] = "",
    brokers_file: Annotated[
        Path | None, typer.Option(help="Brokers from a snapshot, or a file of id:rack lines")
    ] = None,
    partitions: Annotated[
        int | None, typer.Option(help="Number of partitions (with --existing: the new total)")
    ] = None,
    replication_factor: Annotated[int | None, typer.Option(help="Replicas of each")] = None,
    replica_assignment: Annotated[
        str, typer.Option(help="A manual assignment instead: 0:1:2,1:2:0,… as kafka-topics")
    ] = "",
    existing: Annotated[
        Path | None,
        typer.Option(help="Expand the topic of this reassignment JSON; shows new partitions only"),
    ] = None,
    topic: Annotated[str, typer.Option(help="Topic name in the JSON output")] = "topic",
    start: Annotated[
        int | None, typer.Option(help="Place of the first leader; drawn if not given", min=0)
    ] = None,
    shift: Annotated[
        int | None, typer.Option(help="Shift of the followers; the start's value if not given")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(help="Draw start and shift (or KRaft's draws) from this seed")
    ] = None,
    rack_mode: Annotated[
        RackModeName, typer.Option(help="enforced: all brokers or none have racks")
    ] = RackModeName.ENFORCED,
    disable_rack_aware: Annotated[
        bool, typer.Option("--disable-rack-aware", help="The same as --rack-mode disabled")
    ] = False,
    placer: Annotated[
        Placer, typer.Option(help="zookeeper: up to Kafka 3.9; kraft: the striped placer")
    ] = Placer.ZOOKEEPER,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show where Kafka would put the replicas of a new or growing topic

    Example: kedge place --brokers 0:a,1:a,2:b,3:b --partitions 8 --replication-factor 2 --start 0
    """
    from kedge.placement import RackMode, choose_brokers
    from kedge.topics import validate_name

    validate_name(topic)
    mode = RackMode.DISABLED if disable_rack_aware else RackMode[rack_mode.name]
    listed = _brokers(brokers, brokers_file, wanted=not replica_assignment)
    if placer is Placer.ZOOKEEPER:
        listed = choose_brokers(listed, mode)
    if replica_assignment and existing is None:
        _refuse_counts(partitions, replication_factor)
        assignment = _manual(replica_assignment)
    elif existing is not None:
        assignment = _expanded(existing, topic, listed, _needed(partitions), replica_assignment)
    else:
        drawn = None if start is None and shift is None else (start, shift)
        assignment = _created(
            listed, _needed(partitions), _needed_rf(replication_factor), drawn, seed, placer
        )
    _show(assignment, listed, topic, output)


def _brokers(text: str, path: Path | None, *, wanted: bool) -> Sequence[Broker]:
    from kedge.cli.parse_brokers import brokers_from_file, parse_brokers

    if text and path is not None:
        raise InvalidRequest("--brokers and --brokers-file exclude each other", hint="give one")
    if text:
        return parse_brokers(text)
    if path is not None:
        return brokers_from_file(path)
    if wanted:
        raise InvalidRequest("no brokers given", hint="use --brokers 0,1,2 or --brokers-file FILE")
    return ()


def _refuse_counts(partitions: int | None, replication_factor: int | None) -> None:
    if partitions is not None or replication_factor is not None:
        raise InvalidRequest(
            "--replica-assignment excludes --partitions and --replication-factor",
            hint="the assignment has both",
        )


def _needed(partitions: int | None) -> int:
    if partitions is None:
        raise InvalidPartitions("no partition count given", hint="use --partitions N")
    return partitions


def _needed_rf(replication_factor: int | None) -> int:
    if replication_factor is None:
        raise InvalidRequest("no replication factor given", hint="use --replication-factor N")
    return replication_factor


def _manual(text: str) -> Replicas:
    from kedge.placement import parse_manual

    return parse_manual(text).as_mapping()


def _expanded(
    path: Path, topic: str, brokers: Sequence[Broker], total: int, manual: str
) -> Replicas:
    from kedge.placement import expand, parse_manual

    now = _existing(path, topic)
    lists = parse_manual(manual).as_mapping() if manual else None
    added = None if lists is None else {p: ids for p, ids in lists.items() if p >= len(now)}
    return expand(brokers, existing=now, total=total, manual=added).as_mapping()


def _existing(path: Path, topic: str) -> Replicas:
    """The present partitions of one topic, from a reassignment file."""
    from kedge.files import read_text, with_path_context
    from kedge.plan import parse_reassignment

    text = read_text(path)
    with with_path_context(path):
        targets = parse_reassignment(text).targets
    names = sorted({tp.topic for tp in targets})
    if topic not in names and len(names) != 1:
        raise InvalidRequest(
            f"{path} holds {len(names)} topics", hint="choose one of them with --topic"
        )
    chosen = topic if topic in names else names[0]
    return {tp.partition: ids for tp, ids in targets.items() if tp.topic == chosen}


def _created(
    brokers: Sequence[Broker],
    partitions: int,
    replication_factor: int,
    fixed: tuple[int | None, int | None] | None,
    seed: int | None,
    placer: Placer,
) -> Replicas:

    from kedge.placement import place, place_striped

    if fixed is not None and (seed is not None or placer is Placer.KRAFT):
        raise InvalidRequest(
            "--start and --shift fix what --seed and --placer kraft draw", hint="leave them out"
        )
    rng = Random(secrets.randbits(32) if seed is None else seed)
    if placer is Placer.KRAFT:
        return place_striped(
            brokers,
            partitions=partitions,
            replication_factor=replication_factor,
            draw=rng.randrange,
        ).as_mapping()
    begin = _start(fixed, rng, brokers)
    placed = place(
        brokers, partitions=partitions, replication_factor=replication_factor, start=begin
    ).as_mapping()
    if fixed is None:
        say(f"drew --start {begin.start} --shift {begin.shift}")
    return placed


def _start(
    fixed: tuple[int | None, int | None] | None, rng: Random, brokers: Sequence[Broker]
) -> Start:
    from kedge.placement import Start, drawn

    if fixed is not None:
        begin = 0 if fixed[0] is None else fixed[0]
        return Start(begin, begin if fixed[1] is None else fixed[1])
    return drawn(rng.randrange, max(1, len(brokers)))


def _show(assignment: Replicas, brokers: Sequence[Broker], topic: str, output: Output) -> None:
    if output is Output.JSON:
        from kedge.model import TopicPartition
        from kedge.plan import reassignment_text

        lists = {TopicPartition(topic, p): ids for p, ids in assignment.items()}
        echo(reassignment_text(lists))
        return
    from kedge.cli.draw_grid import show_grid
    from kedge.report.assignment import placement_lines

    racks = {broker.id: broker.rack for broker in brokers}
    for line in placement_lines(assignment, racks):
        echo(line)
    echo()
    show_grid(assignment, brokers)
