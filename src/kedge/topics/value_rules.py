"""Rules for config values beyond their type: ranges, lists of words, replica lists."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Protocol

from kedge.model.java_text import trim
from kedge.topics.config_types import Value

_PAIR = re.compile(r"(?:[0-9]+:[0-9]+)?")


class Validity(Protocol):
    """A rule for values, which can print itself."""

    def fault(self, value: Value) -> str | None:
        """What is wrong with the value; None if the rule is met."""
        ...


@dataclass(frozen=True, slots=True)
class AnyValue:
    """Any value of the type."""

    def fault(self, value: Value) -> str | None:
        return None

    def __str__(self) -> str:
        return "any"


@dataclass(frozen=True, slots=True)
class Range:
    """A number between two bounds, inclusive. NaN is neither below nor above them: it passes."""

    low: int | None = None
    high: int | None = None

    def fault(self, value: Value) -> str | None:
        if not isinstance(value, int | float):
            return "must be a number"
        if self.low is not None and value < self.low:
            return f"must be at least {self.low}"
        if self.high is not None and value > self.high:
            return f"must be at most {self.high}"
        return None

    def __str__(self) -> str:
        bounds = [str(bound) for bound in (self.low, self.high) if bound is not None]
        return f"[{',...,'.join(bounds)}]" if len(bounds) == 2 else f"[{bounds[0]},...]"


@dataclass(frozen=True, slots=True)
class RangeOr:
    """A number in a range, or one special number that means the default."""

    range: Range
    special: int

    def fault(self, value: Value) -> str | None:
        if value == self.special:
            return None
        wrong = self.range.fault(value)
        return wrong and f"{wrong}, or {self.special}"

    def __str__(self) -> str:
        return f"{self.range} or {self.special}"


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of a list of words, case-sensitive."""

    words: tuple[str, ...]

    def fault(self, value: Value) -> str | None:
        return None if value in self.words else f"must be one of {', '.join(self.words)}"

    def __str__(self) -> str:
        return f"[{', '.join(self.words)}]"


@dataclass(frozen=True, slots=True)
class EachOneOf:
    """A list of such words, which may be empty and may repeat words."""

    words: tuple[str, ...]

    def fault(self, value: Value) -> str | None:
        if isinstance(value, tuple) and set(value) <= set(self.words):
            return None
        return f"may only list {', '.join(self.words)}"

    def __str__(self) -> str:
        return f"[{', '.join(self.words)}]"


@dataclass(frozen=True, slots=True)
class ThrottledReplicas:
    """Pairs `partition:broker`, some of them empty; or a star, alone but for empty items."""

    def fault(self, value: Value) -> str | None:
        items = [trim(item) for item in value] if isinstance(value, tuple) else ["?"]
        if all(map(_PAIR.fullmatch, items)) or "".join(items) == "*":
            return None
        return "must be '*' or a list like 0:101,1:102 of partition and broker"

    def __str__(self) -> str:
        return "'*' or [partition]:[broker],…"


@dataclass(frozen=True, slots=True)
class VersionName:
    """The name of a message format version.

    A full name (`2.8-IV1`), the name of a finished release (`2.8`), or either with further parts
    after a point (`2.8.1`), which are ignored. A release is two parts long, or three if it begins
    with `0.`. A text that ends in a point has no further part, and so is no name.
    """

    names: frozenset[str]

    def fault(self, value: Value) -> str | None:
        return None if self._key(str(value)) in self.names else "is not a known version"

    def _key(self, text: str) -> str:
        parts = text.rstrip(".").split(".")
        size = 3 if text.startswith("0.") else 2
        return text if len(parts) <= size else ".".join(parts[:size])

    def __str__(self) -> str:
        return "a version such as 2.8-IV1, 2.8 or 2.8.1"
