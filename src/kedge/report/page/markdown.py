"""A report as Markdown, for tickets and pull requests; pictures become their captions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from kedge.report.page.document import Document, Listing, Picture, Section

MARKUP = re.compile(r"([\\`*_{}\[\]<>#|~])")


def markdown_of(document: Document) -> str:
    """The text."""
    return "\n".join(_lines(document)).rstrip() + "\n"


def _lines(document: Document) -> Iterator[str]:
    yield f"# {_plain(document.title)}"
    yield ""
    yield f"*{_plain(document.subtitle)}*"
    yield ""
    yield _plain(document.lead)
    if document.facts:
        yield ""
        rows = [(fact.label, fact.value, fact.note) for fact in document.facts]
        yield from _table(("", "", ""), rows, frozenset())
    for section in document.sections:
        yield from _section(section)


def _section(section: Section) -> Iterator[str]:
    yield from ("", f"## {_plain(section.title)}")
    for sentence in section.sentences:
        yield from ("", _plain(sentence))
    for part in section.parts:
        yield ""
        if isinstance(part, Picture):
            yield f"> {_plain(part.caption)}"
        else:
            yield from _listing(part)


def _listing(listing: Listing) -> Iterator[str]:
    if listing.folded:
        yield f"<details><summary>{_plain(listing.title)}</summary>"
        yield ""
    yield from _table(listing.header, listing.rows, listing.right)
    if listing.left_out:
        yield from ("", f"and {listing.left_out:,} more")
    if listing.folded:
        yield from ("", "</details>")


def _table(
    header: Sequence[str], rows: Sequence[Sequence[str]], right: frozenset[int]
) -> Iterator[str]:
    yield f"| {' | '.join(map(_plain, header))} |"
    yield f"|{'|'.join('---:' if place in right else '---' for place in range(len(header)))}|"
    for row in rows:
        yield f"| {' | '.join(map(_plain, row))} |"


def _plain(text: str) -> str:
    """Text without a meaning as markup; names of topics may hold any sign of it."""
    return MARKUP.sub(r"\\\1", " ".join(text.split()))
