"""Reports as documents: facts, pictures, tables and sentences, as one HTML file or as Markdown.

    document   the values that a report consists of
    html       one self-contained page: no script, nothing to fetch, light, dark and for paper
    style      its style sheet
    markdown   the same for a ticket or a pull request; pictures become their captions
    charts     pictures as SVG: dumbbells, curves, bars, and moves over time

A report puts its summary first; every picture has a caption that says what to see in it; long lists
are folded and cut off, so that a page stays below 300 kB however large the cluster is.
"""

from kedge.report.page.document import Document, Fact, Listing, Picture, Section
from kedge.report.page.html import html_of
from kedge.report.page.markdown import markdown_of

__all__ = ["Document", "Fact", "Listing", "Picture", "Section", "html_of", "markdown_of"]
