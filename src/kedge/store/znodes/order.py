"""The order in which Kafka's maps come out, so that what we write is byte for byte the same.

Kafka writes JSON objects in the order of the hash tables that held them. No reader minds, but a
node that is rewritten unchanged should be unchanged. Both kinds of table spread a key's hash
(Java's, of its UTF-16 units) by folding its upper half down, and come out slot by slot.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

_SMALLEST_TABLE = 16


@lru_cache(maxsize=1 << 16)
def spread_hash(text: str) -> int:
    """Java's hash of a string, unsigned, with the upper half folded down."""
    found = 0
    units = text.encode("utf-16-be")
    for at in range(0, len(units), 2):
        found = (31 * found + (units[at] << 8 | units[at + 1])) & 0xFFFFFFFF
    return found ^ (found >> 16)


def scala_order(keys: Iterable[str]) -> list[str]:
    """Keys in the order of Scala's mutable map, which topics are held in.

    Within a slot, entries are sorted by their hash as a signed number.
    """
    keys = list(keys)
    mask = _table_size(len(keys)) - 1
    return sorted(keys, key=lambda key: _slot_and_signed(spread_hash(key), mask))


def properties_order(keys: Iterable[str]) -> list[str]:
    """Keys in the order of Java's Properties, which configs are held in.

    Within a slot, entries keep the order in which they came.
    """
    keys = list(keys)
    mask = _table_size(len(keys)) - 1
    return sorted(keys, key=lambda key: spread_hash(key) & mask)


def _table_size(count: int) -> int:
    size = _SMALLEST_TABLE
    while count >= size * 3 // 4:  # a table that gets three quarters full doubles
        size *= 2
    return size


def _slot_and_signed(spread: int, mask: int) -> tuple[int, int]:
    return spread & mask, spread - (1 << 32) if spread >> 31 else spread
