"""Texts as Java reads them: Kafka's tools and servers do, and Python's own ways are others.

Python's `int` takes underscores and any blank, its `split` keeps empty pieces at the end, and its
`strip` knows more blanks.
"""

from __future__ import annotations

import unicodedata

INT32_MIN, INT32_MAX = -(2**31), 2**31 - 1
INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1

_BLANKS = "".join(map(chr, range(0x21)))
_DIGITS_MAX = 20  # more than any 64-bit number has: what is longer is out of range anyway


def trim(text: str) -> str:
    """The text without what Java calls blank at its ends: U+0020 and everything below."""
    return text.strip(_BLANKS)


def split(text: str, separator: str) -> list[str]:
    """Split; empty pieces at the end vanish, but a text without separator is one piece."""
    pieces = text.split(separator)
    if len(pieces) == 1:
        return pieces
    while pieces and not pieces[-1]:
        pieces.pop()
    return pieces


def whole_number(text: str, low: int = INT32_MIN, high: int = INT32_MAX) -> int | None:
    """A decimal number from `low` to `high`, with or without a sign; None if it is none.

    Digits of any script count, save those that Java sees as two characters.
    """
    digits = text[1:] if text[:1] in ("+", "-") else text
    values = [unicodedata.decimal(c, None) if c <= "\uffff" else None for c in digits]
    if not values or None in values:
        return None
    # Python refuses to read very long numbers, and leading zeros are no reason to
    significant = "".join(map(str, values)).lstrip("0")[:_DIGITS_MAX]
    number = int(significant or "0") * (-1 if text[0] == "-" else 1)
    return number if low <= number <= high else None
