"""The iteration order of Scala's and Java's hash maps, which Kafka's results depend on.

Kafka writes JSON objects in the order of the hash tables that hold them. No reader depends on it,
but a node that is rewritten unchanged should keep its bytes. And replicas of one partition that go
offline together leave the ISR one by one, while the last member of an ISR stays: so the order of
brokers decides which replica that is. Both orders look random and are the same every time:

    brokers 1 to 9      5, 1, 6, 9, 2, 7, 3, 8, 4
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from kedge.model.partition import BrokerId

_WORD = 0xFFFFFFFF

# ---- mutable tables of strings -------------------------------------------------------------------

_SMALLEST_TABLE = 16


@lru_cache(maxsize=1 << 16)
def _spread_hash(text: str) -> int:
    """Java's hash of a string (of its UTF-16 units), unsigned, with the upper half folded down."""
    hashed = 0
    units = text.encode("utf-16-be")
    for at in range(0, len(units), 2):
        hashed = (31 * hashed + (units[at] << 8 | units[at + 1])) & _WORD
    return hashed ^ (hashed >> 16)


def mutable_map_order(keys: Iterable[str]) -> list[str]:
    """Keys in the order of Scala's mutable map, which Kafka uses for a topic's partitions.

    Tables are iterated slot by slot. Within a slot, entries are sorted by their signed hash.
    """
    keys = list(keys)
    mask = _table_size(len(keys)) - 1
    return sorted(keys, key=lambda key: _slot_and_signed(_spread_hash(key), mask))


def properties_order(keys: Iterable[str]) -> list[str]:
    """Keys in the order of Java's Properties, which Kafka uses for configs.

    Within a slot, entries keep the order of insertion.
    """
    keys = list(keys)
    mask = _table_size(len(keys)) - 1
    return sorted(keys, key=lambda key: _spread_hash(key) & mask)


def _table_size(count: int) -> int:
    size = _SMALLEST_TABLE
    while count >= size * 3 // 4:  # a table doubles when it is three quarters full
        size *= 2
    return size


def _slot_and_signed(spread: int, mask: int) -> tuple[int, int]:
    return spread & mask, spread - (1 << 32) if spread >> 31 else spread


# ---- immutable maps of broker ids ----------------------------------------------------------------

_BITS = 5
_BRANCHES = 1 << _BITS


def immutable_map_order(brokers: Iterable[BrokerId]) -> list[BrokerId]:
    """Each broker once, in the order of Scala's immutable map.

    The map is a trie with 32 branches at each node: the root uses the lowest five bits of a mixed
    hash of the id, the next level the following five. Brokers that are alone on a branch come
    first, by branch; then the subtrees, by branch.
    """
    return _walk({broker: _mixed_hash(broker) for broker in brokers})


def _walk(bits: dict[BrokerId, int]) -> list[BrokerId]:
    branches: dict[int, dict[BrokerId, int]] = {}
    for broker, remaining in bits.items():
        below = branches.setdefault(remaining % _BRANCHES, {})
        below[broker] = remaining >> _BITS
    in_order = [branches[branch] for branch in sorted(branches)]
    alone = [broker for below in in_order if len(below) == 1 for broker in below]
    return alone + [b for below in in_order if len(below) > 1 for b in _walk(below)]


def _mixed_hash(number: int) -> int:
    """Scala's bijective mix of a 32-bit hash."""
    mixed = (number + ~(number << 9)) & _WORD
    mixed ^= mixed >> 14
    mixed = (mixed + (mixed << 4)) & _WORD
    return mixed ^ (mixed >> 10)
