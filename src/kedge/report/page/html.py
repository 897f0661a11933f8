"""A report as one HTML page: no script, nothing to fetch."""

from __future__ import annotations

from html import escape

from kedge.report.page.document import Document, Fact, Listing, Picture, Section, Tone
from kedge.report.page.style import STYLE

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
WORDS = {Tone.GOOD: "good", Tone.WARN: "to be looked at", Tone.BAD: "bad"}


def html_of(document: Document) -> str:
    """The page."""
    title = escape(document.title)
    facts = "".join(map(_fact, document.facts))
    parts = [
        f"<header><div class=kind>{escape(document.subtitle)}</div><h1>{title}</h1>",
        f"<p class=lead>{escape(document.lead)}</p></header>",
        f"<dl class=facts>{facts}</dl>" if facts else "",
        *map(_section, document.sections),
        "<footer>Made by Kedge. The page is self-contained: it can be mailed, kept and "
        "printed.</footer>",
    ]
    head = (
        "<meta charset=utf-8><meta name=viewport content='width=device-width, initial-scale=1'>"
        f'<meta http-equiv=Content-Security-Policy content="{POLICY}">'
        f"<title>{title}</title><style>{STYLE}</style>"
    )
    body = "\n".join(parts)
    page = f"<html lang=en><head>{head}</head>\n<body><main>{body}</main></body></html>"
    return f"<!doctype html>\n{page}\n"


def _fact(fact: Fact) -> str:
    word = f" ({WORDS[fact.tone]})" if fact.tone else ""
    note = f"<div class=note>{escape(fact.note)}</div>" if fact.note else ""
    title = f' title="{escape(fact.label + word)}"' if word else ""
    return (
        f"<div class='fact {fact.tone}'{title}><dt>{escape(fact.label)}</dt>"
        f"<dd><div class=value>{escape(fact.value)}</div>{note}</dd></div>"
    )


def _section(section: Section) -> str:
    sentences = "".join(f"<p>{escape(each)}</p>" for each in section.sentences)
    pictures = [_picture(part) for part in section.parts if isinstance(part, Picture)]
    listings = [_listing(part) for part in section.parts if isinstance(part, Listing)]
    beside = len(pictures) > 1
    drawn = f"<div class=beside>{''.join(pictures)}</div>" if beside else "".join(pictures)
    parts = drawn + "".join(listings)
    return f"<section><h2>{escape(section.title)}</h2>{sentences}{parts}</section>"


def _picture(picture: Picture) -> str:
    return f"<figure>{picture.svg}<figcaption>{escape(picture.caption)}</figcaption></figure>"


def _listing(listing: Listing) -> str:
    table = _table(listing)
    if not listing.folded:
        return table
    return f"<details><summary>{escape(listing.title)}</summary>{table}</details>"


def _table(listing: Listing) -> str:
    def cells(row: list[str], tag: str) -> str:
        return "".join(
            f"<{tag} class=r>{escape(text)}</{tag}>"
            if place in listing.right
            else f"<{tag}>{escape(text)}</{tag}>"
            for place, text in enumerate(row)
        )

    body = "".join(f"<tr>{cells(list(row), 'td')}</tr>" for row in listing.rows)
    more = f"<p class=more>and {listing.left_out:,} more</p>" if listing.left_out else ""
    head = cells(list(listing.header), "th")
    return f"<div class=table><table><thead><tr>{head}</tr></thead>{body}</table>{more}</div>"
