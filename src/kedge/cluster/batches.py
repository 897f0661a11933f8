"""Splits large calls into requests of bounded size.

A controller takes so many records at once and no more, and a broker answers others meanwhile only
between requests. So a call of ten thousand partitions goes out in several requests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

PARTITIONS_MAX = 2_000
TOPICS_MAX = 500
RESOURCES_MAX = 500

T = TypeVar("T")


def one_each(item: object) -> int:
    """The weight of items that all count alike."""
    return 1


def batches(
    items: Iterable[T], limit: int, weight: Callable[[T], int] = one_each
) -> Iterator[list[T]]:
    """The items in lists whose weights stay within the limit; a single item may exceed it."""
    batch: list[T] = []
    filled = 0
    for item in items:
        if batch and filled + weight(item) > limit:
            yield batch
            batch, filled = [], 0
        batch.append(item)
        filled += weight(item)
    if batch:
        yield batch
