"""The diagram and the table of states in docs/concepts/quorum.md, generated from the transitions.

`python -m tests.docs.quorum_states` writes them anew.
"""

from __future__ import annotations

from pathlib import Path

from kedge.quorum.transitions import diagram_lines, table_lines

PAGE = Path(__file__).parent.parent.parent / "docs" / "concepts" / "quorum.md"
BEGIN, END = "<!-- states: begin -->\n", "<!-- states: end -->\n"


def written() -> str:
    """What stands in the page."""
    _, _, after = PAGE.read_text().partition(BEGIN)
    return after.partition(END)[0]


def generated() -> str:
    """What the code has."""
    diagram = "\n".join(diagram_lines())
    table = "\n".join(table_lines())
    return f"\n```mermaid\n{diagram}\n```\n\n{table}\n\n"


def write() -> None:
    """Put the generated text into the page."""
    before, _, after = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(before + BEGIN + generated() + END + after.partition(END)[2])


if __name__ == "__main__":
    write()
