"""Read a large plan file column by column, which is faster than value by value.

Hundreds of thousands of objects are read by asking for the set of types in a column. Whatever is
not plainly well formed makes these functions answer None; `plan_reader` then walks through the
file value by value, and names the first place that is wrong (or finds that all is well after all).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, cast

from kedge.model import TopicPartition
from kedge.model.java_text import INT32_MAX, INT32_MIN
from kedge.plan.kafka_json import Reassignment, Replicas
from kedge.plan.log_dirs import ANY_LOG_DIR


class Names:
    """Partitions by name; equal columns share their objects, for most lists name the same."""

    def __init__(self) -> None:
        self._last: tuple[list[Any], list[Any], list[TopicPartition]] = ([], [], [])

    def of(self, items: Any) -> list[TopicPartition] | None:
        """The partitions that objects name; None where one does not, or two name the same."""
        if not isinstance(items, list):
            return None
        listed = cast("list[Any]", items)
        topics = [item["topic"] for item in listed]
        numbers = [item["partition"] for item in listed]
        if (topics, numbers) == self._last[:2]:
            return self._last[2]
        if not set(map(type, topics)) <= {str} or not _whole(numbers):
            return None
        names = list(map(TopicPartition, topics, numbers))
        if len(set(names)) < len(names):
            return None
        self._last = (topics, numbers, names)
        return names


def partitions_at_once(items: Any, names: Names) -> tuple[Reassignment, ...] | None:
    """The lines of `partitions`."""
    try:
        named, lists = names.of(items), _lists(items)
        if named is None or lists is None:
            return None
        told = _directories(items, lists)
    except (KeyError, TypeError, AttributeError):
        return None
    return None if told is None else tuple(map(Reassignment, named, lists, told))


def _directories(items: Sequence[Any], lists: list[Replicas]) -> list[tuple[str, ...]] | None:
    given: list[Any] = [item.get("log_dirs", ()) for item in items]
    if not set(map(type, given)) <= {list, tuple}:
        return None
    told: list[tuple[str, ...]] = list(map(tuple, given))
    if () in told:
        anywhere = ((ANY_LOG_DIR,) * len(ids) for ids in lists)
        listed = zip(told, anywhere, given, strict=True)
        told = [some if type(paths) is list else other for some, other, paths in listed]
    whole = list(map(len, told)) == list(map(len, lists))
    return told if whole and set(map(type, chain.from_iterable(told))) <= {str} else None


def before_at_once(items: Any, names: Names) -> dict[TopicPartition, Replicas] | None:
    """The lines of `before`."""
    try:
        named, lists = names.of(items), _lists(items)
    except (KeyError, TypeError):
        return None
    if named is None or lists is None:
        return None
    return dict(zip(named, lists, strict=True))


def reasons_at_once(items: Any, names: Names) -> dict[TopicPartition, str] | None:
    """The lines of `reasons`."""
    try:
        named: list[TopicPartition] | None = names.of(items)
        told: list[Any] = [item["why"] for item in items]
    except (KeyError, TypeError):
        return None
    if named is None or not set(map(type, told)) <= {str}:
        return None
    return dict(zip(named, told, strict=True))


def _lists(items: Sequence[Any]) -> list[Replicas] | None:
    lists: list[Any] = [item["replicas"] for item in items]
    if not set(map(type, lists)) <= {list}:
        return None
    if not _whole(list(chain.from_iterable(lists))):
        return None
    return list(map(tuple, lists))


def _whole(numbers: list[Any]) -> bool:
    """Whether all are whole numbers in 32 bits."""
    if not set(map(type, numbers)) <= {int}:
        return False
    return min(numbers, default=0) >= INT32_MIN and max(numbers, default=0) <= INT32_MAX
