"""Estimates how long the remaining moves take, at a rate per broker.

The moves are replayed with the slots of the executor: a copy runs at the rate that its busier end
leaves it, and the next move starts when a slot is free. So the estimate includes the time at the
end when one busy broker is left, which the recent rate of a run does not show.

    rate 10 MB/s, one slot each way, two moves of 100 MB out of broker 1
    20 s: broker 1 sends one after the other; out of two brokers they would take 10 s

Replaying is quadratic in the number of moves, so beyond `REPLAYED` open moves the bound is used:
the bytes through the busiest broker, at the rate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from kedge.model import BrokerId

REPLAYED = 400


@dataclass(frozen=True, slots=True)
class Transfer:
    """Bytes that are left to be copied from a leader to each of some brokers."""

    source: BrokerId | None
    destinations: tuple[BrokerId, ...]
    bytes_left: int
    started: bool = False


Ends = Counter[tuple[str, BrokerId]]


def busiest_bytes(transfers: Sequence[Transfer]) -> int:
    """The bytes through the broker with the most to send or to receive."""
    through: Ends = Counter()
    for each in transfers:
        for end in _ends(each):
            through[end] += each.bytes_left
    return max(through.values(), default=0)


def seconds_left(transfers: Sequence[Transfer], rate: float, each_way: int) -> float:
    """The seconds that all transfers take, in their order, at so many bytes per second."""
    open_transfers = [each for each in transfers if each.bytes_left > 0]
    if len(open_transfers) > REPLAYED:
        return busiest_bytes(open_transfers) / rate
    waiting = [each for each in open_transfers if not each.started]
    active = [(each, float(each.bytes_left)) for each in open_transfers if each.started]
    elapsed = 0.0
    while waiting or active:
        waiting, chosen = _startable(waiting, [each for each, _ in active], each_way)
        active += [(each, float(each.bytes_left)) for each in chosen]
        load = _load([each for each, _ in active])
        speeds = [rate / max(load[end] for end in _ends(each)) for each, _ in active]
        step = min(left / speed for (_, left), speed in zip(active, speeds, strict=True))
        elapsed += step
        after = [(e, left - step * v) for (e, left), v in zip(active, speeds, strict=True)]
        active = [(each, left) for each, left in after if left > 1.0]
    return elapsed


def _startable(
    waiting: Sequence[Transfer], active: Sequence[Transfer], each_way: int
) -> tuple[list[Transfer], list[Transfer]]:
    """What still waits, and what starts now; the first starts in any case where nothing runs."""
    load = _load(active)
    chosen: list[Transfer] = []
    left: list[Transfer] = []
    for each in waiting:
        free = all(load[end] < each_way for end in _ends(each))
        if free or not (active or chosen):
            load.update(_ends(each))
            chosen.append(each)
        else:
            left.append(each)
    return left, chosen


def _load(transfers: Sequence[Transfer]) -> Ends:
    load: Ends = Counter()
    for each in transfers:
        load.update(_ends(each))
    return load


def _ends(transfer: Transfer) -> list[tuple[str, BrokerId]]:
    """Where a transfer takes bandwidth: out of the source once per copy, into each destination."""
    sending = [("out", transfer.source)] * len(transfer.destinations)
    return [
        *((way, broker) for way, broker in sending if broker is not None),
        *(("in", broker) for broker in transfer.destinations),
    ]
