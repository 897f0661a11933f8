"""The list of modules in docs/ARCHITECTURE.md, generated from the first lines of their docstrings.

`python -m tests.docs.modules` (`make modules`) writes it anew.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PAGE = ROOT / "docs" / "ARCHITECTURE.md"
SOURCE = ROOT / "src" / "kedge"
BEGIN, END = "<!-- modules: begin -->\n", "<!-- modules: end -->\n"


def written() -> str:
    """The list as it stands in the page."""
    _, _, after = PAGE.read_text().partition(BEGIN)
    return after.partition(END)[0]


def generated() -> str:
    """The list as the code has it: a table for each package, a row for each module."""
    return "".join(_package(directory) for directory in _packages())


def summary(module: Path) -> str:
    """The first line of a module's docstring, up to the first blank line or end of a sentence."""
    text = ast.get_docstring(ast.parse(module.read_text())) or ""
    paragraph = " ".join(text.partition("\n\n")[0].split())
    sentence, stop, _ = paragraph.partition(". ")
    return sentence + "." if stop else paragraph


def _packages() -> Iterator[Path]:
    yield SOURCE
    yield from sorted(p.parent for p in SOURCE.rglob("__init__.py") if p.parent != SOURCE)


def _package(directory: Path) -> str:
    name = ".".join(("kedge", *directory.relative_to(SOURCE).parts))
    modules = sorted(path for path in directory.glob("*.py") if path.name != "__init__.py")
    rows = "".join(f"| `{path.stem}` | {_cell(path)} |\n" for path in modules)
    table = f"\n| module | |\n|---|---|\n{rows}" if rows else ""
    return f"\n### {name}\n\n{summary(directory / '__init__.py')}\n{table}"


def _cell(module: Path) -> str:
    return summary(module).replace("|", r"\|")


def write() -> None:
    """Put the generated list into the page."""
    before, _, after = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(before + BEGIN + generated() + "\n" + END + after.partition(END)[2])


if __name__ == "__main__":
    write()
