"""The walks through the code in docs/ARCHITECTURE.md name functions and classes that exist."""

from __future__ import annotations

import re
from importlib import import_module

import pytest

from tests.docs.modules import PAGE

_, _, after = PAGE.read_text().partition("## Four walks")
NAMES = sorted(set(re.findall(r"`([a-z_]+(?:\.\w+)+)`", after.partition("\n## ")[0])))


def test_the_page_has_the_walks() -> None:
    assert len(NAMES) > 25


@pytest.mark.parametrize("name", NAMES)
def test_a_name_in_a_walk_exists(name: str) -> None:
    parts = ["kedge", *name.split(".")]
    for end in range(len(parts), 1, -1):
        try:
            found = import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        for attribute in parts[end:]:
            found = getattr(found, attribute)
        return
    raise AssertionError(name)
