"""Owners of topics: by exact name, by prefix or by glob, the most specific rule first.

    [payments]
    topics = ["payments", "refunds"]
    prefixes = ["billing."]
    globs = ["*-dead-letters"]

A topic belongs to the owner of its exact name; else of the longest prefix that it starts with; else
of the longest glob that matches. A rule of two owners is refused, since it would bill one of them
by chance. Topics without owner are listed as such, never left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, cast

from kedge.errors import MalformedInput

KINDS = ("topics", "prefixes", "globs")
OWNER_LIST = "write [owner] tables with topics, prefixes or globs"


@dataclass(frozen=True, slots=True)
class Owners:
    """The owner of each exact name, prefix and glob."""

    topics: Mapping[str, str] = field(default_factory=dict[str, str])
    prefixes: Mapping[str, str] = field(default_factory=dict[str, str])
    globs: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def names(self) -> list[str]:
        """All owners, ascending."""
        return sorted({*self.topics.values(), *self.prefixes.values(), *self.globs.values()})

    def owner_of(self, topic: str) -> str | None:
        """The owner of a topic; None if no rule has it."""
        if topic in self.topics:
            return self.topics[topic]
        for rules, matches in ((self.prefixes, topic.startswith), (self.globs, _glob(topic))):
            found = [rule for rule in rules if matches(rule)]
            if found:
                return rules[max(found, key=lambda rule: (len(rule), rule))]
        return None


class _glob:
    """Whether a topic matches a glob, with case."""

    def __init__(self, topic: str) -> None:
        self.topic = topic

    def __call__(self, pattern: str) -> bool:
        return fnmatchcase(self.topic, pattern)


def parse_owners(document: Mapping[str, Any]) -> Owners:
    """The owners of a TOML document; one sentence about the first fault."""
    rules: dict[str, dict[str, str]] = {kind: {} for kind in KINDS}
    for owner, table in document.items():
        if not isinstance(table, dict):
            raise MalformedInput("not a table", place=owner, hint=OWNER_LIST)
        for kind, listed in cast("dict[str, object]", table).items():
            if kind not in KINDS:
                hint = f"an owner has {', '.join(KINDS)}"
                raise MalformedInput("unknown key", place=f"{owner}.{kind}", hint=hint)
            for rule in _texts(listed, f"{owner}.{kind}"):
                _add_rule(rules[kind], rule, owner, f"{owner}.{kind}")
    return Owners(**rules)


def _texts(listed: object, place: str) -> Sequence[str]:
    hint = 'write a list of names, like ["orders"]'
    if not isinstance(listed, list):
        raise MalformedInput("not a list", place=place, hint=hint)
    for text in cast("list[object]", listed):
        if not isinstance(text, str) or not text:
            raise MalformedInput(f"{text!r} is not a name", place=place, hint=hint)
    return cast("list[str]", listed)


def _add_rule(rules: dict[str, str], rule: str, owner: str, place: str) -> None:
    other = rules.setdefault(rule, owner)
    if other != owner:
        what = f"{rule!r} belongs to {other} already"
        raise MalformedInput(what, place=place, hint="leave it to one of them")
