"""The topics that `--topic` means: a pattern for the whole name, commas between alternatives."""

from __future__ import annotations

import re
from collections.abc import Iterable

from kedge.errors import MalformedInput, UnknownTopicOrPartition


def chosen_topics(
    names: Iterable[str], pattern: str | None, *, must_exist: bool = True
) -> list[str]:
    """The names that the pattern fits, in their order; without a pattern all of them."""
    if pattern is None:
        return list(names)
    expression = topic_expression(pattern)
    found = [name for name in names if expression.fullmatch(name)]
    if must_exist and not found:
        raise UnknownTopicOrPartition(f"Topic {pattern!r} not found")
    return found


def topic_expression(pattern: str) -> re.Pattern[str]:
    """Kafka's way to write a choice: blanks do not count, nor do quotes around it all."""
    text = pattern.strip().replace(",", "|").replace(" ", "").strip("\"'")
    try:
        return re.compile(text)
    except re.error as error:
        raise MalformedInput(
            f"{pattern!r} is not a valid pattern: {error}", place="--topic"
        ) from error
