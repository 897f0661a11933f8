"""Selects the topics whose whole name matches the pattern of `--topic`."""

from __future__ import annotations

from collections.abc import Iterable

from kedge.errors import UnknownTopicOrPartition
from kedge.model.topic_pattern import topic_pattern


def select_topics(
    names: Iterable[str], pattern: str | None, *, must_exist: bool = True
) -> list[str]:
    """The names that match the pattern, in the given sequence; all of them without a pattern."""
    if pattern is None:
        return list(names)
    expression = topic_pattern(pattern, place="--topic")
    found = [name for name in names if expression.fullmatch(name)]
    if must_exist and not found:
        raise UnknownTopicOrPartition(f"Topic {pattern!r} not found")
    return found
