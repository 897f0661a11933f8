"""Placement on a ring of brokers that all have racks (KIP-36).

The ring alternates racks: the first broker of each rack in order of name, then the second of each,
and so on; a rack that has run out is passed over. Leaders go round that ring as ever. Followers
are looked for from a distance of 1 + (shift × racks) mod (n-1) behind the leader, one position
after the other, and a broker is taken if its rack has no replica yet, or if every rack has one.

    rack1 {0,1,2}  rack2 {3,4,5}  rack3 {6,7,8}     ring 0 3 6 1 4 7 2 5 8
    partition 0: 0,3,6    1: 3,6,1    …    8: 8,0,3    9: 0,4,7 (shift 1: from distance 1 + 3)

With no more replicas than racks, no rack has two; with more, every rack has one at least. Beyond
that the rack is not looked at again, and racks of different size are loaded unevenly: a rack with
one broker among two racks has a replica of everything.

Where racks follow each other in turn, as they do nearly everywhere on the ring, a row is the row
before it moved on by one place. So a row is worked out once and then copied down for as long as
the leader and the places that were looked at stay among racks in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kedge.jit import kernel
from kedge.model import Broker
from kedge.placement.brokers import id_column, rack_order
from kedge.placement.rounds import Rounds

Numbers = NDArray[np.int64] | list[int]
Cells = NDArray[np.int32] | list[int]

# Starting the compiler takes as long as so many steps of the interpreter.
_WORTH_COMPILING = 6_000_000

# Up to here a list is filled faster than an array, slice by tiny slice.
_FEW_CELLS = 5_000


def alternate_racks(brokers: Sequence[Broker]) -> list[Broker]:
    """The brokers with racks taking turns: racks by name, ids ascending within a rack."""
    by_rack: dict[str, list[Broker]] = {}
    for broker in sorted(brokers, key=lambda b: b.id):
        assert broker.rack is not None
        by_rack.setdefault(broker.rack, []).append(broker)
    columns = [by_rack[rack] for rack in sorted(by_rack, key=rack_order)]
    tallest = max(map(len, columns), default=0)
    return [column[turn] for turn in range(tallest) for column in columns if turn < len(column)]


def rack_aware(brokers: Sequence[Broker], rounds: Rounds, width: int) -> NDArray[np.int32]:
    """Fill the distinct rounds of a table with `width` replicas per partition."""
    ring = _ring(brokers)
    table = rounds.empty_table(width)
    cells = table[: rounds.distinct].reshape(-1)
    fill = fill_rounds.for_size(_steps_about(ring, rounds, width), worth_compiling=_WORTH_COMPILING)
    if fill is not fill_rounds.plain:
        _fill(fill, cells, ring.ids, _array, ring, rounds, width)
    elif cells.size > _FEW_CELLS:
        _fill(fill, cells, ring.ids, list[int], ring, rounds, width)
    else:
        few = [0] * cells.size
        _fill(fill, few, ring.ids.tolist(), list[int], ring, rounds, width)
        cells[:] = few
    return table


@dataclass(frozen=True, slots=True)
class _Ring:
    """The ring, three times over, so that no reader has to wrap."""

    ids: NDArray[np.int32]
    racks: list[int]  # numbered in the order of their turns
    in_turn: list[int]  # for each place, the last one that follows from it in turn
    rack_count: int


def _ring(brokers: Sequence[Broker]) -> _Ring:
    order = alternate_racks(brokers)
    numbers = {rack: number for number, rack in enumerate(dict.fromkeys(b.rack for b in order))}
    racks = [numbers[b.rack] for b in order] * 3
    ids = id_column([b.id for b in order] * 3)
    return _Ring(ids, racks, in_turn_until(racks, len(numbers)), len(numbers))


def _fill(
    fill: Callable[..., None],
    cells: Cells,
    ids: Cells,
    form: Callable[[list[int]], Numbers],
    ring: _Ring,
    rounds: Rounds,
    width: int,
) -> None:
    """Call the kernel with its columns as lists or as arrays.

    The interpreter reads lists several times faster than arrays; compiled code wants arrays.
    """
    scratch = [form([0] * length) for length in (width, ring.rack_count, rounds.size)]
    where = (rounds.distinct, rounds.position, rounds.shift)
    fill(cells, ids, form(ring.racks), form(ring.in_turn), *scratch, *where)


def _array(numbers: list[int]) -> NDArray[np.int64]:
    return np.array(numbers, dtype=np.int64)


def _steps_about(ring: _Ring, rounds: Rounds, width: int) -> int:
    """About how many positions of the ring are visited: rows that cannot be copied take the time.

    Where a stretch of the ring does not alternate (one large rack is left), a search for another
    rack from within it visits all positions up to its end.
    """
    odd = sum(ring.in_turn[at] == at for at in range(rounds.size))
    return rounds.distinct * (odd * (odd + 4 * width) + 16 * width)


def in_turn_until(racks: Sequence[int], rack_count: int) -> list[int]:
    """For each place, the last one that is reached from it through racks that follow in turn."""
    until = list(range(len(racks)))
    for at in range(len(racks) - 2, -1, -1):
        if racks[at + 1] == (racks[at] + 1) % rack_count:
            until[at] = until[at + 1]
    return until


@kernel
def fill_rounds(
    cells: Cells,
    ring: Cells,  # ids in alternating order, three times over
    racks: Numbers,  # the rack number of each place on the ring, three times over
    in_turn: Numbers,  # for each place, the last one that follows from it in turn
    picks: Numbers,  # scratch: the places of one row's replicas
    rack_marks: Numbers,  # scratch, zeros: per rack, the last row that used it
    broker_marks: Numbers,  # scratch, zeros: per broker, the last row that used it
    rounds: int,
    position: int,
    shift: int,
) -> None:
    """Fill whole rounds of rows."""
    size, rack_count, width = len(broker_marks), len(rack_marks), len(picks)
    others = max(size - 1, 1)
    distance = shift * rack_count % others
    cell = 0
    row = 0
    for _ in range(rounds):
        leader = position
        while leader < position + size:
            # one row, place by place
            row += 1
            picks[0] = leader
            rack_marks[racks[leader]] = row
            broker_marks[leader % size] = row
            unused_racks = rack_count - 1
            first = at = leader + 1 + distance
            walked = 0
            found = 1
            while found < width:
                rack = racks[at]
                new_rack = rack_marks[rack] != row
                if new_rack or (unused_racks == 0 and broker_marks[at % size] != row):
                    picks[found] = at
                    found += 1
                    unused_racks -= new_rack
                    rack_marks[rack] = row
                    broker_marks[at % size] = row
                walked += 1
                at += 1
                if at == leader + size:  # once around: the leader itself is never a candidate
                    at = leader + 1
            # how many rows have the same shape, moved on by one place each
            rows = 1
            last = first + max(walked, 1) - 1
            if last < leader + size:
                more = min(in_turn[leader] - leader, in_turn[first] - last)
                rows += max(0, min(more, position + size - 1 - leader))
            end = cell + rows * width
            for replica in range(width):
                place = picks[replica]
                cells[cell + replica : end : width] = ring[place : place + rows]
            cell = end
            leader += rows
        distance = (distance + rack_count) % others
