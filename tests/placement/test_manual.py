"""Placement by hand: what the text means, and which texts mean nothing."""

from __future__ import annotations

import pytest

from kedge.errors import KedgeError, MalformedInput, MalformedNumber, RefusedCommand
from kedge.placement import parse_manual


@pytest.mark.parametrize(
    ("text", "lists"),
    [
        ("0:1:2,1:2:0,2:0:1", [(0, 1, 2), (1, 2, 0), (2, 0, 1)]),
        ("7", [(7,)]),
        ("0:1,", [(0, 1)]),
        ("0:1:", [(0, 1)]),
        ("0:1::,,,", [(0, 1)]),
        (" 0 : 1 ,\t1:0\n", [(0, 1), (1, 0)]),
        ("+1:-1:02", [(1, -1, 2)]),
        (":", [()]),
        (":,:", [(), ()]),
        (",", []),
        ("-2147483648:2147483647", [(-(2**31), 2**31 - 1)]),
        ("0" * 5000 + "3", [(3,)]),
        ("\u0663", [(3,)]),
    ],
)
def test_texts_that_read(text: str, lists: list[tuple[int, ...]]) -> None:
    assert parse_manual(text).as_mapping() == dict(enumerate(lists))


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("", MalformedNumber, "partition 0: '' is not a broker id"),
        (" ", MalformedNumber, "partition 0"),
        (",0:1", MalformedNumber, "partition 0"),
        ("0:1,,1:0", MalformedNumber, "partition 1: '' is not a broker id"),
        ("0:1, ", MalformedNumber, "partition 1"),
        (":1", MalformedNumber, "partition 0"),
        ("0::1", MalformedNumber, "partition 0"),
        ("1_0", MalformedNumber, "'1_0'"),
        ("1\u00a0", MalformedNumber, "is not a broker id"),
        ("\u2003 1", MalformedNumber, "is not a broker id"),
        ("2147483648", MalformedNumber, "'2147483648'"),
        ("-2147483649", MalformedNumber, "'-2147483649'"),
        ("+", MalformedNumber, "'+'"),
        ("+-1", MalformedNumber, "'+-1'"),
        ("1.0", MalformedNumber, "'1.0'"),
        ("0x1", MalformedNumber, "'0x1'"),
        ("\u00b2", MalformedNumber, "is not a broker id"),
        ("\U0001d7d1", MalformedNumber, "is not a broker id"),
        ("0:0", RefusedCommand, "partition 0: a broker twice in 0:0"),
        ("1:01", RefusedCommand, "a broker twice in 1:01"),
        ("1,0:0", RefusedCommand, "partition 1: a broker twice"),
        ("0:1,1", MalformedInput, "partition 1: 1 replicas, partition 0 has 2"),
        ("0:1,:", MalformedInput, "partition 1: 0 replicas, partition 0 has 2"),
        ("0:1,1,x", MalformedInput, "partition 1"),
        ("0:1,x,1", MalformedNumber, "partition 1"),
    ],
)
def test_texts_that_do_not(text: str, error: type[KedgeError], words: str) -> None:
    with pytest.raises(error) as refused:
        parse_manual(text)
    assert type(refused.value) is error
    assert words in str(refused.value)
