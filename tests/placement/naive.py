"""Slow, obvious twins of the placement algorithms: rows made one at a time, from the rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kedge.model import Broker

Rows = dict[int, tuple[int, ...]]
Hand = dict[str, Any]  # ids, offset, index, epoch
Hands = dict[tuple[str | None, bool], Hand]  # by rack, and whether fenced


def naive_place(
    brokers: Sequence[Broker], partitions: int, rf: int, start: int, shift: int, first: int = 0
) -> Rows:
    """Placement with or without racks; the request is taken to be a legal one."""
    racked = brokers[0].rack is not None
    order = naive_alternate(brokers) if racked else list(brokers)
    rows: Rows = {}
    for partition in range(first, first + partitions):
        if partition > 0 and partition % len(order) == 0:
            shift += 1
        leader = (partition + start) % len(order)
        row = _racked_row if racked else _plain_row
        rows[partition] = tuple(b.id for b in row(order, leader, shift, rf))
    return rows


def naive_alternate(brokers: Sequence[Broker]) -> list[Broker]:
    """Racks in UTF-16 order give one broker each in turn until all are given."""
    left: dict[str, list[Broker]] = {}
    for broker in sorted(brokers, key=lambda b: b.id):
        left.setdefault(str(broker.rack), []).append(broker)
    order: list[Broker] = []
    while any(left.values()):
        for rack in sorted(left, key=_utf16_units):
            if left[rack]:
                order.append(left[rack].pop(0))
    return order


def _utf16_units(text: str) -> list[int]:
    units: list[int] = []
    for code in map(ord, text):
        if code < 0x10000:
            units.append(code)
        else:
            units += [0xD800 + ((code - 0x10000) >> 10), 0xDC00 + ((code - 0x10000) & 0x3FF)]
    return units


def _follower(order: list[Broker], leader: int, shift: int, step: int) -> Broker:
    distance = 1 + (shift + step) % (len(order) - 1)
    return order[(leader + distance) % len(order)]


def _plain_row(order: list[Broker], leader: int, shift: int, rf: int) -> list[Broker]:
    return [order[leader], *(_follower(order, leader, shift, step) for step in range(rf - 1))]


def _racked_row(order: list[Broker], leader: int, shift: int, rf: int) -> list[Broker]:
    all_racks = {b.rack for b in order}
    row = [order[leader]]
    step = 0
    while len(row) < rf:
        candidate = _follower(order, leader, shift * len(all_racks), step)
        step += 1
        used = {b.rack for b in row}
        if candidate not in row and (candidate.rack not in used or used == all_racks):
            row.append(candidate)
    return row


def naive_striped(
    brokers: Sequence[Broker],
    fenced: set[int],
    partitions: int,
    rf: int,
    draw: Callable[[int], int],
) -> Rows:
    """The striped placer, with its lists as dictionaries and no classes."""
    names = sorted({b.rack for b in brokers}, key=lambda r: (r is not None, _utf16_units(r or "")))
    hands: Hands = {}
    for name in names:
        for is_fenced in (False, True):
            ids = [b.id for b in brokers if b.rack == name and (b.id in fenced) == is_fenced]
            offset = draw(len(ids)) if ids else 0
            hands[name, is_fenced] = {"ids": sorted(ids), "offset": offset, "index": 0, "epoch": 0}
    state = {"offset": draw(len(names)), "epoch": 0}
    row = list(names)
    rows: Rows = {}
    for partition in range(partitions):
        if state["epoch"] == len(brokers) - len(fenced) and state["epoch"] > 1:
            _shuffle(row, draw)
            for hand in hands.values():
                _shuffle(hand["ids"], draw)
            state["epoch"] = 0
        if state["offset"] == len(row):
            state["offset"] = 0
        rows[partition] = _striped_row(row, hands, state["offset"], state["epoch"], rf)
        state["epoch"] += 1
        state["offset"] += 1
    return rows


def _striped_row(
    row: list[str | None], hands: Hands, offset: int, epoch: int, rf: int
) -> tuple[int, ...]:
    chosen: list[int] = []
    passed_over: int | None = None
    at = offset
    while not chosen:
        found = _deal(hands[row[at % len(row)], False], epoch)
        if found is not None:
            chosen.append(found)
            passed_over = at % len(row)
        at += 1
    at = offset
    while len(chosen) < rf:
        if at % len(row) == passed_over:
            passed_over = None
        else:
            found = _deal(hands[row[at % len(row)], False], epoch)
            if found is None:
                found = _deal(hands[row[at % len(row)], True], epoch)
            if found is not None:
                chosen.append(found)
        at += 1
    return tuple(chosen)


def _deal(hand: Hand, epoch: int) -> int | None:
    size = len(hand["ids"])
    if size and hand["epoch"] != epoch:
        hand.update(epoch=epoch, index=0, offset=(hand["offset"] + 1) % size)
    if hand["index"] >= size:
        return None
    hand["index"] += 1
    return hand["ids"][(hand["index"] - 1 + hand["offset"]) % size]


def _shuffle(items: list[Any], draw: Callable[[int], int]) -> None:
    i = len(items)
    while i >= 2:
        j = draw(i)
        items[i - 1], items[j] = items[j], items[i - 1]
        i -= 1
