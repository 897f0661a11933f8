from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.model.printable import printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("orders-7 é 漢 █", "orders-7 é 漢 █"),
        ("\tTopic: a", "\tTopic: a"),
        ("\x1b]0;owned\x07", "\\x1b]0;owned\\x07"),
        ("a\nb\rc", "a\\nb\\rc"),
        ("\x9b31m\x7f", "\\u009b31m\\u007f"),
        ("\u202egpj", "\\u202egpj"),
        ("\udcff", "\\udcff"),
    ],
)
def test_what_steers_a_terminal_is_shown_as_its_escape(text: str, shown: str) -> None:
    assert printable(text) == shown


@given(st.text(st.characters()))
def test_no_control_character_is_left(text: str) -> None:
    shown = printable(text)
    assert not any((ord(c) < 32 and c != "\t") or 127 <= ord(c) < 160 for c in shown)
    shown.encode()
    assert printable(shown) == shown


@given(st.text(st.characters()))
def test_a_line_of_json_stays_the_same_json(text: str) -> None:
    line = json.dumps({text: [text]}, ensure_ascii=False)
    assert json.loads(printable(line)) == {text: [text]}
