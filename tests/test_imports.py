"""No modules of Kedge import each other in a circle, late and type-only imports included.

Import contracts see the direction between packages. This test sees single modules: an import
inside a function or under TYPE_CHECKING hides a circle from Python, not from its readers.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

SOURCES = Path(__file__).parent.parent / "src"


def module_name(path: Path, root: Path) -> str:
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(module: str, path: Path, known: Mapping[str, Path]) -> Iterator[str]:
    """The modules that a file names in import statements, wherever they stand."""
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names if each.name in known)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1]
            base = ".".join([*(above if node.level else []), *([node.module or ""])]).strip(".")
            for each in node.names:
                name = f"{base}.{each.name}"
                yield name if name in known else base


def import_graph(root: Path) -> dict[str, set[str]]:
    known = {module_name(path, root): path for path in sorted(root.rglob("*.py"))}
    return {
        module: {name for name in imports_of(module, path, known) if name in known} - {module}
        for module, path in known.items()
    }


def circle(graph: Mapping[str, set[str]]) -> list[str]:
    """One circle of modules, or none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as found:
        return list(found.args[1])
    return []


def test_no_modules_import_each_other_in_a_circle() -> None:
    assert circle(import_graph(SOURCES)) == []


@pytest.mark.parametrize(
    "statement",
    [
        "import pkg.a",
        "from pkg import a",
        "from pkg.a import X",
        "from .a import X",
        "from . import a",
        "def late():\n    from pkg.a import X",
        "if TYPE_CHECKING:\n    from pkg.a import X",
    ],
)
def test_a_circle_is_found_however_it_is_written(tmp_path: Path, statement: str) -> None:
    package = tmp_path / "pkg"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "a.py").write_text("from pkg.b import Y\n")
    (package / "b.py").write_text("Y = 1\n")
    assert circle(import_graph(tmp_path)) == []
    (package / "b.py").write_text(statement)
    assert set(circle(import_graph(tmp_path))) == {"pkg.a", "pkg.b"}
