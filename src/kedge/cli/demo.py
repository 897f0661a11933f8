"""`kedge demo`: the story so far, on this machine alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from kedge.model import Broker
    from kedge.placement import Placement


@dataclass(frozen=True, slots=True)
class Scene:
    """One placement, and what to see in it."""

    title: str
    moral: str
    brokers: Sequence[Broker]
    play: Callable[[Sequence[Broker]], Placement]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("demo")(demo_command)


def demo_command() -> None:
    """Show how Kafka places replicas, scene by scene, with pictures

    Example: kedge demo
    """
    from kedge.cli.options import console
    from kedge.cli.show import show_grid
    from kedge.report.assignment import placement_lines

    screen = console()
    for number, scene in enumerate(_scenes(), start=1):
        screen.print(f"[bold]{number}. {scene.title}[/]")
        assignment = scene.play(scene.brokers).as_mapping()
        for line in placement_lines(assignment, {b.id: b.rack for b in scene.brokers}):
            screen.print(f"   {line}", markup=False)
        screen.print()
        show_grid(assignment, scene.brokers)
        screen.print(f"[italic]{scene.moral}[/]\n")


def _scenes() -> list[Scene]:
    from kedge.cli.brokers_text import parse_brokers
    from kedge.model import BrokerId
    from kedge.placement import Start, expand, parse_manual, place, place_striped

    def created(partitions: int, factor: int) -> Callable[[Sequence[Broker]], Placement]:
        return lambda brokers: place(
            brokers, partitions=partitions, replication_factor=factor, start=Start(0, 0)
        )

    five = parse_brokers("0,1,2,3,4")
    racked = parse_brokers("0:a,1:a,2:a,3:b,4:b,5:b,6:c,7:c,8:c")
    three = {0: (0, 1, 2), 1: (1, 2, 0), 2: (2, 0, 1)}
    now = {p: tuple(map(BrokerId, ids)) for p, ids in three.items()}
    return [
        Scene(
            "Ten partitions, three replicas, five brokers without racks",
            "Leaders go round; after each round the followers shift by one.",
            five,
            created(10, 3),
        ),
        Scene(
            "Nine brokers on three racks",
            "Brokers alternate by rack, so that no partition has two replicas in one.",
            racked,
            created(11, 3),
        ),
        Scene(
            "A topic of three partitions grows to six",
            "New partitions start where partition 0 does; old ones never move.",
            parse_brokers("0,1,2"),
            lambda brokers: expand(brokers, existing=now, total=6),
        ),
        Scene(
            "An assignment by hand: 0:1:2,1:2:0,2:0:1",
            "The first of each list is the preferred leader.",
            parse_brokers("0,1,2"),
            lambda _: parse_manual("0:1:2,1:2:0,2:0:1"),
        ),
        Scene(
            "The same nine brokers under KRaft's striped placer",
            "KRaft stripes over racks first, then over the brokers of each.",
            racked,
            lambda brokers: place_striped(
                brokers, partitions=9, replication_factor=3, draw=lambda _: 0
            ),
        ),
    ]
