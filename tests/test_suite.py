"""Rules that the tests themselves keep."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

TESTS = Path(__file__).parent


@pytest.mark.parametrize("module", sorted(TESTS.rglob("*.py")), ids=lambda path: path.stem)
def test_no_module_imports_from_a_test_module(module: Path) -> None:
    tree = ast.parse(module.read_text())
    imported = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    imported += [
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    ]
    of_tests = [name for name in imported if name.rpartition(".")[2].startswith("test_")]
    assert of_tests == [], "what several test modules share is in a module of its own"
