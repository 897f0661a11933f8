"""The values that a report consists of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

ROWS_MAX = 300  # of a table; more make a page heavy, and no person reads them


class Tone(StrEnum):
    """How a fact or a row is meant: it sets a colour, and a word for those who see none."""

    PLAIN = ""
    GOOD = "good"
    WARN = "warn"
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Fact:
    """One figure of the summary, with what it is compared with."""

    label: str
    value: str
    note: str = ""
    tone: Tone = Tone.PLAIN


@dataclass(frozen=True, slots=True)
class Picture:
    """A drawing as SVG, and the sentence that says what to see in it."""

    svg: str
    caption: str


@dataclass(frozen=True, slots=True)
class Listing:
    """A table; `right` are the columns with figures. A folded one shows its title alone."""

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    right: frozenset[int] = frozenset()
    folded: bool = False
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class Section:
    """A heading, sentences, and what is shown."""

    title: str
    sentences: Sequence[str] = ()
    parts: Sequence[Picture | Listing] = ()


@dataclass(frozen=True, slots=True)
class Document:
    """A whole report; `lead` says in a sentence or two what it comes to."""

    title: str
    subtitle: str
    lead: str
    facts: Sequence[Fact] = ()
    sections: Sequence[Section] = ()


def listing(
    title: str,
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    right: Sequence[int] = (),
    folded: bool = False,
    rows_max: int = ROWS_MAX,
) -> Listing:
    """A table of no more rows than a page bears."""
    kept = rows[:rows_max]
    return Listing(title, header, kept, frozenset(right), folded, len(rows) - len(kept))
