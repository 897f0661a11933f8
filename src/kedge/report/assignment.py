"""Lays out an assignment as rows, and as a grid of brokers against partitions.

The grid has one line per broker, grouped by rack, and one column per partition:

    rack a  broker 0  █▒▒·▒ …   leads 2, holds 6
            broker 1  ▒█·▒▒ …   leads 2, holds 6
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from kedge.model import Broker, BrokerId

LEADER, FOLLOWER, NOTHING = "█", "▒", "·"
LEGEND = f"{LEADER} preferred leader   {FOLLOWER} follower   {NOTHING} nothing"

Replicas = Mapping[int, Sequence[BrokerId]]


@dataclass(frozen=True, slots=True)
class GridLine:
    """One broker's line of the grid."""

    rack: str  # empty where the line above has the same rack
    broker: BrokerId
    cells: str  # one sign per partition; empty where they would not fit
    leads: int
    holds: int


@dataclass(frozen=True, slots=True)
class Grid:
    """Brokers against partitions."""

    lines: tuple[GridLine, ...]
    partitions: tuple[int, ...]
    has_racks: bool


def rack_grid(assignment: Replicas, brokers: Sequence[Broker], *, columns: int) -> Grid:
    """The grid of an assignment; cells only where its partitions fit into so many columns."""
    partitions = tuple(sorted(assignment))
    cells = _cells(assignment, partitions) if len(partitions) <= columns else {}
    leads, holds = _counts(assignment)
    listed = _with_strangers(brokers, holds)
    lines = [
        GridLine(
            rack=rack if first else "",
            broker=broker.id,
            cells=cells.get(broker.id, NOTHING * len(partitions)) if cells else "",
            leads=leads.get(broker.id, 0),
            holds=holds.get(broker.id, 0),
        )
        for rack, first, broker in _by_rack(listed)
    ]
    return Grid(tuple(lines), partitions, any(b.rack is not None for b in listed))


def placement_lines(assignment: Replicas, racks: Mapping[BrokerId, str | None]) -> Iterator[str]:
    """One line per partition: its name, its replicas, and their racks where brokers have any."""
    names = {p: f"P{p}" for p in sorted(assignment)}
    lists = {p: ",".join(map(str, assignment[p])) for p in names}
    name_width = max((len(n) for n in names.values()), default=0)
    list_width = max((len(r) for r in lists.values()), default=0)
    racked = any(rack is not None for rack in racks.values())
    for p, name in names.items():
        line = f"{name:<{name_width}}  {lists[p]:<{list_width}}"
        behind = ",".join(racks.get(b) or "-" for b in assignment[p])
        yield f"{line}  {behind}" if racked else line.rstrip()


def _by_rack(brokers: Sequence[Broker]) -> Iterator[tuple[str, bool, Broker]]:
    """Brokers by rack and id, each with its rack's name and whether it opens the rack."""

    def rack_of(broker: Broker) -> str:
        return "-" if broker.rack is None else broker.rack

    ordered = sorted(brokers, key=lambda b: (rack_of(b), b.id))
    for rack, members in groupby(ordered, key=rack_of):
        for place, broker in enumerate(members):
            yield rack, place == 0, broker


def _cells(assignment: Replicas, partitions: Sequence[int]) -> dict[BrokerId, str]:
    signs: dict[BrokerId, list[str]] = {}
    for column, partition in enumerate(partitions):
        for place, broker in enumerate(assignment[partition]):
            line = signs.setdefault(broker, [NOTHING] * len(partitions))
            line[column] = LEADER if place == 0 else FOLLOWER
    return {broker: "".join(line) for broker, line in signs.items()}


def _counts(assignment: Replicas) -> tuple[dict[BrokerId, int], dict[BrokerId, int]]:
    leads: dict[BrokerId, int] = {}
    holds: dict[BrokerId, int] = {}
    for replicas in assignment.values():
        for place, broker in enumerate(replicas):
            holds[broker] = holds.get(broker, 0) + 1
            if place == 0:
                leads[broker] = leads.get(broker, 0) + 1
    return leads, holds


def _with_strangers(brokers: Sequence[Broker], holds: Mapping[BrokerId, int]) -> list[Broker]:
    """The brokers, and those that hold replicas without being listed (a manual assignment may)."""
    known = {broker.id for broker in brokers}
    return [*brokers, *(Broker(b) for b in sorted(holds) if b not in known)]
