"""Compiles patterns of topic names as Kafka's tools take them: commas between alternatives."""

from __future__ import annotations

import re
import warnings

from kedge.errors import MalformedInput

LENGTH_MAX = 4_096


def topic_pattern(pattern: str, *, place: str) -> re.Pattern[str]:
    """The expression that a whole topic name must match; blanks and outer quotes do not count.

    `place` names the option or field in a refusal.
    """
    if len(pattern) > LENGTH_MAX:
        raise MalformedInput(
            f"a pattern of {len(pattern)} characters, more than {LENGTH_MAX}", place=place
        )
    text = pattern.replace(" ", "").replace(",", "|").strip("\"'")
    try:
        with warnings.catch_warnings(action="ignore", category=FutureWarning):
            return re.compile(text)
    except (re.error, OverflowError, RecursionError) as fault:
        reason = "nested too deeply" if isinstance(fault, RecursionError) else fault
        raise MalformedInput(
            f"{pattern!r} is not a valid pattern: {reason}", place=place
        ) from fault
