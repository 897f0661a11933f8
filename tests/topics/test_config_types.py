"""Texts as Java reads them. Every row was tried on the real classes of Kafka 3.9.1."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedge.errors import MalformedInput
from kedge.model.java_text import trim
from kedge.topics.config_types import ConfigType, parse_type, show, split_list


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("5", 5),
        ("+5", 5),
        ("-0", 0),
        (" 5\x00", 5),
        ("٣", 3),
        ("５1", 51),
        ("0" * 5000 + "7", 7),
        ("2147483647", 2**31 - 1),
        ("-2147483648", -(2**31)),
    ],
)
def test_whole_numbers(text: str, number: int) -> None:
    assert parse_type(text, ConfigType.INT) == number


@pytest.mark.parametrize(
    "text",
    [
        *("", "+", "-", "+-1", "1_0", "1.0", "1e3", "0x10", "1L", "\xa05", "𝟓", "²", "½", "Ⅷ"),
        *("1 0", "2147483648", "-2147483649", "1" * 5000),
    ],
)
def test_what_is_no_int(text: str) -> None:
    with pytest.raises(MalformedInput):
        parse_type(text, ConfigType.INT)


def test_a_long_has_sixty_four_bits() -> None:
    assert parse_type("9223372036854775807", ConfigType.LONG) == 2**63 - 1
    with pytest.raises(MalformedInput, match="is not a whole number from"):
        parse_type("9223372036854775808", ConfigType.LONG)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1d", 1.0),
        ("+.5F", 0.5),
        ("5.", 5.0),
        ("5e-1D", 0.5),
        ("0x1p-3", 0.125),
        ("0X.8P1", 1.0),
        ("0x1.8p-1f", 0.75),
        ("1e400", math.inf),
        ("-0x1p2000", -math.inf),
        ("0x1p2000", math.inf),
        ("-Infinity", -math.inf),
        ("1e-99999999999", 0.0),
        ("0x1p-99999999999", 0.0),
    ],
)
def test_doubles(text: str, number: float) -> None:
    assert parse_type(text, ConfigType.DOUBLE) == number


def test_not_a_number_is_a_double() -> None:
    for text in ("NaN", "-NaN", "+NaN"):
        assert math.isnan(float(str(parse_type(text, ConfigType.DOUBLE))))


@pytest.mark.parametrize(
    "text",
    ["", ".", "nan", "inf", "INFINITY", "1e", "0x1", "0x.p1", "0xp1", "٠", "1_0", "1dd", "1 d"],
)
def test_what_is_no_double(text: str) -> None:
    with pytest.raises(MalformedInput):
        parse_type(text, ConfigType.DOUBLE)


@pytest.mark.parametrize(
    ("text", "truth"),
    [("true", True), ("TrUe", True), (" false\t", False), ("falſe", False), ("FALſE", False)],
)
def test_booleans(text: str, truth: bool) -> None:
    assert parse_type(text, ConfigType.BOOLEAN) is truth


@pytest.mark.parametrize("text", ["", "yes", "1", "t", "true.", "ｔrue", "t rue", "\xa0true"])
def test_what_is_no_boolean(text: str) -> None:
    with pytest.raises(MalformedInput, match="neither true nor false"):
        parse_type(text, ConfigType.BOOLEAN)


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("", ()),
        (" \t", ()),
        (",", ("", "")),
        ("a", ("a",)),
        (" a , b,,c\v,\fd, ", ("a", "b", "", "c", "d", "")),
        ("a\xa0,b", ("a\xa0", "b")),
        ("a\x1f,b", ("a\x1f", "b")),
    ],
)
def test_lists(text: str, items: tuple[str, ...]) -> None:
    assert split_list(text) == items


def test_trimming_stops_at_the_blank() -> None:
    assert trim("\x00\x1f \ta\xa0 ") == "a\xa0"


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.5, "0.5"),
        (1.0, "1.0"),
        (-0.0, "-0.0"),
        (0.001, "0.001"),
        (0.0001, "1.0E-4"),
        (-1.25e-7, "-1.25E-7"),
        (1e7, "1.0E7"),
        (1.5e300, "1.5E300"),
        (math.nan, "NaN"),
        (math.inf, "Infinity"),
        (-math.inf, "-Infinity"),
    ],
)
def test_doubles_are_shown_as_java_shows_them(number: float, text: str) -> None:
    assert show(number) == text


def test_other_values_are_shown_plainly() -> None:
    assert [show(v) for v in (True, False, 7, "x", ("a", "b"), ())] == [
        *("true", "false", "7", "x", "a,b", "")
    ]


@given(st.floats(allow_nan=False))
def test_a_shown_double_reads_back(number: float) -> None:
    assert parse_type(show(number), ConfigType.DOUBLE) == number


@given(st.lists(st.text(alphabet="ab", min_size=1), min_size=1))
def test_a_shown_list_reads_back(items: list[str]) -> None:
    assert split_list(show(tuple(items))) == tuple(items)
