"""Java's properties files."""

from __future__ import annotations

import pytest

from kedge.cluster.properties import parse_properties
from kedge.errors import MalformedInput


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", {}),
        ("a=1", {"a": "1"}),
        ("a = 1\nb: 2\nc 3\n", {"a": "1", "b": "2", "c": "3"}),
        ("  a=1  ", {"a": "1  "}),
        ("a==1", {"a": "=1"}),
        ("a = = 1", {"a": "= 1"}),
        ("a", {"a": ""}),
        ("a=", {"a": ""}),
        ("# a=1\n! b=2\n\n  # c\nd=4", {"d": "4"}),
        ("a=1\na=2", {"a": "2"}),
        ("a=one \\\n   two\\\n\tthree", {"a": "one twothree"}),
        ("a=one\\\\\nb=2", {"a": "one\\", "b": "2"}),
        ("a=1\\", {"a": "1"}),
        ("a\\ b\\=c=d", {"a b=c": "d"}),
        ("a=\\t\\n\\r\\f\\q\\\\", {"a": "\t\n\r\fq\\"}),
        ("a=caf\\u00e9", {"a": "café"}),
        ("a=1\r\nb=2\rc=3", {"a": "1", "b": "2", "c": "3"}),
        ("a=x # no comment", {"a": "x # no comment"}),
        ("=1", {"": "1"}),
    ],
)
def test_a_file_is_read_as_java_reads_it(text: str, expected: dict[str, str]) -> None:
    assert parse_properties(text) == expected


def test_a_broken_escape_names_its_line() -> None:
    with pytest.raises(MalformedInput, match="line 2"):
        parse_properties("a=1\nb=\\u12")
