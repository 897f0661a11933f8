"""The list of modules in docs/ARCHITECTURE.md is the code's."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.modules import SOURCE, generated, summary, written


def test_the_page_lists_every_module_as_the_code_describes_it() -> None:
    assert written().strip() == generated().strip(), "run `make modules`"


@pytest.mark.parametrize("module", sorted(SOURCE.rglob("*.py")), ids=str)
def test_every_module_says_in_one_sentence_what_it_is(module: Path) -> None:
    said = summary(module)
    assert said.endswith("."), said
    assert len(said) <= 200, said
