"""Parses Java's properties files as Kafka's tools do.

    # a comment; so is a line that begins with !
    security.protocol = SASL_SSL
    sasl.jaas.config: org.apache.kafka.common.security.plain.PlainLoginModule required \\
        username="ada" password="…";

A key ends at the first unescaped `=`, `:` or blank. A line that ends in an odd number of
backslashes goes on in the next one, whose leading blanks do not count. A later key wins.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from kedge.errors import MalformedInput

_BLANKS = " \t\f"
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_LINE_END = re.compile(r"\r\n|\n|\r")
_KEY = re.compile(r"(?:[^\\=: \t\f]|\\.)*", re.DOTALL)
_SEPARATOR = re.compile(r"[ \t\f]*[=:]?[ \t\f]*")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.|$)", re.DOTALL)


def parse_properties(text: str) -> dict[str, str]:
    """The keys and values of a properties file."""
    return dict(_pair(line, number) for number, line in _logical_lines(text))


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines with their continuations, comments and empty ones left out; numbered from 1."""
    natural = enumerate(_LINE_END.split(text), start=1)
    for number, line in natural:
        whole = line.lstrip(_BLANKS)
        if not whole or whole[0] in "#!":
            continue
        while _goes_on(whole):
            _, following = next(natural, (0, ""))
            whole = whole[:-1] + following.lstrip(_BLANKS)
        yield number, whole


def _goes_on(line: str) -> bool:
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _pair(line: str, number: int) -> tuple[str, str]:
    key = _KEY.match(line)
    end = key.end() if key else 0
    separator = _SEPARATOR.match(line, end)
    begin = separator.end() if separator else end
    return _unescaped(line[:end], number), _unescaped(line[begin:], number)


def _unescaped(text: str, number: int) -> str:
    def plain(match: re.Match[str]) -> str:
        sign = match.group(1)
        if len(sign) == 5:
            return chr(int(sign[1:], 16))
        if sign == "u":
            raise MalformedInput("\\u needs four hexadecimal digits", place=f"line {number}")
        return _ESCAPES.get(sign, sign)

    return _ESCAPE.sub(plain, text)
