"""Compiles patterns of topic names as Kafka's tools take them: commas between alternatives.

There are two syntaxes, for two places of use:

    topic_pattern         `--topic` of a command: Python's `re`, as close to Java's as Python has
    linear_topic_pattern  goals of a plan: RE2, which matches in time linear in the length of a name

Goals come from clients of a server and are matched on its threads. With `re`, one pattern like
`([a-z]+)+1` takes exponential time and keeps the interpreter's lock; RE2 has no pattern like that,
and therefore neither look-around nor backreferences.
"""

from __future__ import annotations

import re
import warnings
from typing import Protocol, cast

import re2

from kedge.errors import MalformedInput

LENGTH_MAX = 4_096
PROGRAM_BYTES_MAX = 1 << 20  # names and repetitions of 4,096 characters fit; a name costs < 5 ms
REFUSALS = cast("tuple[type[Exception], ...]", (re2.error, UnicodeEncodeError))
UNREAD_COUNT = re.compile(r"\{(?:\d+,)?\d{9,}")  # RE2 reads it as text, which no name has
LINEAR_SYNTAX = "patterns have RE2's syntax, without look-around and backreferences"


class NamePattern(Protocol):
    """A compiled pattern."""

    def fullmatch(self, string: str, /) -> object | None:
        """The match of a whole name, or None."""
        ...


def topic_pattern(pattern: str, *, place: str) -> NamePattern:
    """The expression that a whole topic name must match; blanks and outer quotes do not count.

    `place` names the option or field in a refusal.
    """
    text = _expression(pattern, place)
    try:
        with warnings.catch_warnings(action="ignore", category=FutureWarning):
            return re.compile(text)
    except (re.error, OverflowError, RecursionError) as fault:
        reason = "nested too deeply" if isinstance(fault, RecursionError) else fault
        raise MalformedInput(
            f"{pattern!r} is not a valid pattern: {reason}", place=place
        ) from fault


def linear_topic_pattern(pattern: str, *, place: str) -> NamePattern:
    """The same for patterns that others have written: no pattern takes more than linear time."""
    text = _expression(pattern, place)
    if UNREAD_COUNT.search(text):
        raise MalformedInput(
            f"{pattern!r} is not a valid pattern: a count that is too large", place=place
        )
    try:
        return cast("NamePattern", re2.compile(text, _linear_options()))
    except REFUSALS as fault:
        raise MalformedInput(
            f"{pattern!r} is not a valid pattern: {_reason(fault)}", place=place, hint=LINEAR_SYNTAX
        ) from fault


def _expression(pattern: str, place: str) -> str:
    if len(pattern) > LENGTH_MAX:
        raise MalformedInput(
            f"a pattern of {len(pattern)} characters, more than {LENGTH_MAX}", place=place
        )
    return pattern.replace(" ", "").replace(",", "|").strip("\"'")


def _linear_options() -> re2.Options:
    options = re2.Options()
    options.log_errors = False  # the refusal says it
    options.never_capture = True
    options.max_mem = PROGRAM_BYTES_MAX
    return options


def _reason(fault: Exception) -> str:
    """RE2's errors carry bytes."""
    said: object = fault.args[0]
    return said.decode(errors="replace") if isinstance(said, bytes) else "not Unicode text"
