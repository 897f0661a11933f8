"""Chooses which moves start next: the one scheduling core of `apply` and of predictions.

Moves start in the sequence of the plan, each as soon as both its ends have a free slot. One rule
comes before that sequence: a run is no faster than its busiest broker, so moves of brokers that
have nearly as many bytes left to send or to receive as the busiest one start first. Without sizes
nothing is critical, and the sequence of the plan is all that counts.

    one slot each way; bytes left: out of 1 30 GB, out of 2 10 GB, into each target 10 GB
    sequence of the plan   orders-0 2→4   orders-1 1→4   orders-2 1→5   orders-3 1→6
    starts                 orders-1 (broker 1 is critical); orders-0 waits for broker 4

The core works on arrays. A run passes all its waiting moves at each observation; a prediction
passes only those of the brokers where slots got free since, which gives the same moves: the ends
of all other moves are as full as they were.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kedge.jit import Kernel
from kedge.model.columns import Floats, Int32s, Int64s

CRITICAL = 0.8  # of the most bytes left: brokers with more are served before the plan's sequence


class SlotMoves(NamedTuple):
    """Moves in the sequence of the plan; brokers are indexes, -1 pads."""

    source: Int32s  # [N]: the broker that copies go out of; -1 where none do
    target: Int32s  # [N, K]: a broker for each copy into it


class Slots(NamedTuple):
    """What is in use, and what is left to do, at each broker."""

    sending: Int64s  # [B]: moves under way that copy out of the broker
    taking: Int64s  # [B]: copies under way into it
    bytes_out: Floats  # [B]: bytes of all moves that have not ended
    bytes_in: Floats  # [B]


def no_slots_taken(brokers: int) -> Slots:
    """The slots of brokers where nothing is under way."""
    return Slots(
        np.zeros(brokers, np.int64),
        np.zeros(brokers, np.int64),
        np.zeros(brokers),
        np.zeros(brokers),
    )


def fits(moves: SlotMoves, slots: Slots, row: int, each_way: int) -> bool:
    """Whether all brokers of a move have a free slot; what copies nothing always fits."""
    source = moves.source[row]
    if source >= 0 and slots.sending[source] >= each_way:
        return False
    for column in range(moves.target.shape[1]):
        target = moves.target[row, column]
        if target >= 0 and slots.taking[target] >= each_way:
            return False
    return True


def take_slots(moves: SlotMoves, slots: Slots, row: int, change: int) -> None:
    """Take the slots of a move (`change` 1), or free them (-1)."""
    if moves.source[row] >= 0:
        slots.sending[moves.source[row]] += change
    for column in range(moves.target.shape[1]):
        if moves.target[row, column] >= 0:
            slots.taking[moves.target[row, column]] += change


def bytes_at_busier_end(moves: SlotMoves, slots: Slots, row: int) -> float:
    """The bytes left at that end of a move where most are left."""
    most = 0.0
    if moves.source[row] >= 0:
        most = float(slots.bytes_out[moves.source[row]])
    for column in range(moves.target.shape[1]):
        if moves.target[row, column] >= 0:
            most = max(most, float(slots.bytes_in[moves.target[row, column]]))
    return most


def choose_moves(
    moves: SlotMoves, slots: Slots, rows: Int64s, each_way: int, critical: float
) -> Int64s:
    """Those of the waiting `rows` (ascending) that start now; their slots are taken."""
    longest = max(slots.bytes_out.max(), slots.bytes_in.max()) if len(slots.bytes_in) > 0 else 0.0
    urgency = np.zeros(len(rows))
    for place in range(len(rows)):
        most = bytes_at_busier_end(moves, slots, rows[place])
        if most > 0 and most >= critical * longest:
            urgency[place] = most
    sequence = np.argsort(-urgency, kind="mergesort")
    chosen = np.empty(len(rows), np.int64)
    count = 0
    for place in sequence:
        row = int(rows[place])
        if fits(moves, slots, row, each_way):
            take_slots(moves, slots, row, 1)
            chosen[count] = row
            count += 1
    return chosen[:count]


HELPERS = (fits, take_slots, bytes_at_busier_end)
CHOOSE_MOVES = Kernel(choose_moves, HELPERS)
