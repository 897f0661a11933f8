"""In which order brokers are taken when one change concerns replicas on several of them.

Replicas of one partition that leave together leave the ISR one by one, and the last member of an
ISR stays: so the order decides who that is. Kafka takes brokers in the order of a hash table, which
looks random and is the same every time. Kedge takes them in that very order, so that both
controllers leave the same members behind:

    brokers 1 to 9      5, 1, 6, 9, 2, 7, 3, 8, 4

The table is a tree with 32 branches at each fork: the first fork looks at the lowest five bits of a
scrambled id, the next at the following five. Brokers alone on a branch come first, by branch; then
the forks below, by branch.
"""

from __future__ import annotations

from collections.abc import Iterable

from kedge.model import BrokerId

_WORD = 0xFFFFFFFF
_BITS = 5
_BRANCHES = 1 << _BITS


def in_kafkas_order(brokers: Iterable[BrokerId]) -> list[BrokerId]:
    """Each broker once, in the order in which Kafka's controller takes them."""
    return _walk({broker: _scramble(broker) for broker in brokers})


def _walk(bits: dict[BrokerId, int]) -> list[BrokerId]:
    branches: dict[int, dict[BrokerId, int]] = {}
    for broker, remaining in bits.items():
        below = branches.setdefault(remaining % _BRANCHES, {})
        below[broker] = remaining >> _BITS
    in_order = [branches[branch] for branch in sorted(branches)]
    alone = [broker for below in in_order if len(below) == 1 for broker in below]
    return alone + [b for below in in_order if len(below) > 1 for b in _walk(below)]


def _scramble(number: int) -> int:
    """Spread the bits of a 32-bit number, without two numbers becoming one."""
    mixed = (number + ~(number << 9)) & _WORD
    mixed ^= mixed >> 14
    mixed = (mixed + (mixed << 4)) & _WORD
    return mixed ^ (mixed >> 10)
