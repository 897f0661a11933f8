"""Parses brokers: `0:rack1,1:rack1`, one per line in a file, or those of a snapshot."""

from __future__ import annotations

from pathlib import Path

from kedge.errors import InvalidRequest, MalformedInput, MalformedNumber
from kedge.model import Broker, BrokerId

BROKER_ID_MAX = 2**31 - 1


def parse_brokers(text: str, *, place: str = "--brokers") -> tuple[Broker, ...]:
    """Brokers from `id` or `id:rack`, separated by commas."""
    pieces = text.split(",")
    return _unique([_broker(piece, f"{place}[{i}]") for i, piece in enumerate(pieces)], place)


def brokers_from_file(path: Path) -> tuple[Broker, ...]:
    """Brokers from a snapshot (file or directory), or from lines of `id` or `id:rack`."""
    from kedge.files import read_bytes, read_snapshot, read_text  # imports numpy

    if path.is_dir() or not _is_lines(read_bytes(path)):
        return read_snapshot(path).brokers
    found = [
        _broker(line, f"{path} line {number}")
        for number, line in enumerate(read_text(path).splitlines(), start=1)
        if line.strip() and not line.lstrip().startswith("#")
    ]
    if not found:
        raise MalformedInput("has no brokers", place=str(path), hint="write one id:rack a line")
    return _unique(found, str(path))


def _is_lines(data: bytes) -> bool:
    """Whether a file holds lines of brokers rather than a snapshot."""
    return not data.lstrip().startswith(b"{")


def _broker(piece: str, place: str) -> Broker:
    number, colon, rack = piece.strip().partition(":")
    if not number.isascii() or not number.isdigit() or int(number[:11]) > BROKER_ID_MAX:
        shown = number if len(number) <= 20 else number[:20] + "…"
        raise MalformedNumber(
            f"{shown!r} is not a broker id",
            place=place,
            hint=f"write a whole number from 0 to {BROKER_ID_MAX}, then :rack if it has one",
        )
    if colon and not rack:
        raise MalformedInput("nothing behind the colon", place=place, hint="write id:rack or id")
    return Broker(BrokerId(int(number)), rack if colon else None)


def _unique(brokers: list[Broker], place: str) -> tuple[Broker, ...]:
    seen: set[BrokerId] = set()
    for broker in brokers:
        if broker.id in seen:
            raise InvalidRequest(
                f"{place}: broker {broker.id} is listed twice", hint="list it once"
            )
        seen.add(broker.id)
    return tuple(brokers)
