"""The text of --broker-list, piece by piece as Kafka takes it."""

from __future__ import annotations

import pytest

from kedge.errors import MalformedNumber, RefusedCommand
from kedge.plan import parse_broker_list


@pytest.mark.parametrize(
    ("text", "brokers"),
    [
        ("5", (5,)),
        ("2,0,1", (2, 0, 1)),
        ("0,", (0,)),
        ("0,,,", (0,)),
        (",", ()),
        (",,", ()),
        ("+1,-1,01", None),
        ("+1,-1,02", (1, -1, 2)),
        ("-2147483648,2147483647", (-(2**31), 2**31 - 1)),
        ("0" * 5000 + "7", (7,)),
        ("٣", (3,)),
        ("１", (1,)),
    ],
)
def test_a_list_of_brokers_is_read_in_order(text: str, brokers: tuple[int, ...] | None) -> None:
    if brokers is None:
        with pytest.raises(RefusedCommand, match="broker 1 more than once"):
            parse_broker_list(text)
    else:
        assert parse_broker_list(text) == brokers


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "0, 1", " 0", "0 ", "0,,1", ",0", "1_0", "1.0", "0x1", "+", "-", "--1", "x"),
        *("2147483648", "-2147483649", "9" * 5000, "\U0001d7ce", "²", "5,5,x", "1\n"),
    ],
)
def test_what_is_not_a_number_is_refused(text: str) -> None:
    with pytest.raises(MalformedNumber):
        parse_broker_list(text)


def test_a_bad_piece_is_named_by_its_position() -> None:
    with pytest.raises(MalformedNumber, match="broker list, item 2: ' 1'"):
        parse_broker_list("0, 1")
