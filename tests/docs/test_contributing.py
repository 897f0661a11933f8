"""The files that CONTRIBUTING.md names exist."""

from __future__ import annotations

import re

import pytest

from tests.docs.modules import ROOT, SOURCE

NAMED = sorted(
    set(re.findall(r"`([a-z_]+(?:/[a-z_]+)+(?:\.\w+)?)`", (ROOT / "CONTRIBUTING.md").read_text()))
)


def test_the_page_names_files() -> None:
    assert len(NAMED) > 15


@pytest.mark.parametrize("name", NAMED)
def test_a_file_that_the_page_names_exists(name: str) -> None:
    assert (ROOT / name).exists() or (SOURCE / name).exists()
