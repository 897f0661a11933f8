"""Texts as Java reads them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.model.java_text import INT64_MAX, INT64_MIN, split, trim, whole_number


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        ("+7", 7),
        ("-7", -7),
        ("007", 7),
        ("0" * 10_000 + "7", 7),
        ("2147483647", 2147483647),
        ("-2147483648", -2147483648),
        ("٣", 3),  # Arabic-Indic three
        ("2147483648", None),
        ("9" * 10_000, None),
        ("", None),
        ("+", None),
        ("--1", None),
        ("1_0", None),
        (" 1", None),
        ("1.0", None),
        ("𝟏", None),  # a digit beyond the basic plane: two characters to Java
    ],
)
def test_a_number_is_read_as_java_reads_it(text: str, number: int | None) -> None:
    assert whole_number(text) == number


@given(st.integers(INT64_MIN * 3, INT64_MAX * 3))
def test_a_number_in_range_reads_as_itself_and_no_other_reads(number: int) -> None:
    wanted = number if INT64_MIN <= number <= INT64_MAX else None
    assert whole_number(str(number), INT64_MIN, INT64_MAX) == wanted


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("", [""]),
        ("a", ["a"]),
        ("a,", ["a"]),
        (",a", ["", "a"]),
        ("a,,b", ["a", "", "b"]),
        (",,", []),
    ],
)
def test_empty_pieces_at_the_end_vanish(text: str, pieces: list[str]) -> None:
    assert split(text, ",") == pieces


def test_only_control_characters_and_the_space_are_blank() -> None:
    assert trim("\t\x01 a\u00a0 \n") == "a\u00a0"


@given(st.text(max_size=8))
def test_a_text_is_read_as_python_reads_it_or_not_at_all(text: str) -> None:
    value = whole_number(text)
    assert value is None or value == int(text)
