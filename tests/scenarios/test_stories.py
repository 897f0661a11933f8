"""Every story is played and compared with its text."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scenarios.text import read_story, told

STORIES = sorted(Path(__file__).parent.glob("*.txt"))


@pytest.mark.parametrize("path", STORIES, ids=lambda path: path.stem)
def test_the_story_is_as_it_is_written(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert told(read_story(text)) == text


def test_a_story_with_another_course_differs() -> None:
    text = STORIES[0].read_text(encoding="utf-8").replace("> brokers 1", "> brokers 7")
    assert told(read_story(text)) != text
