"""String functions with Java's rules, as Kafka's tools and servers apply them.

Python's differ: `int` accepts underscores and any blank, `split` keeps empty pieces at the end, and
`strip` removes more kinds of blanks.
"""

from __future__ import annotations

import unicodedata

INT32_MIN, INT32_MAX = -(2**31), 2**31 - 1
INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1

_BLANKS = "".join(map(chr, range(0x21)))
_DIGITS_MAX = 20  # more than any 64-bit number has: longer ones are out of range


def trim(text: str) -> str:
    """Return the text without leading and trailing blanks of Java: U+0020 and everything below."""
    return text.strip(_BLANKS)


def split(text: str, separator: str) -> list[str]:
    """Split; trailing empty pieces are dropped, but a text without separator is one piece."""
    pieces = text.split(separator)
    if len(pieces) == 1:
        return pieces
    while pieces and not pieces[-1]:
        pieces.pop()
    return pieces


def whole_number(text: str, low: int = INT32_MIN, high: int = INT32_MAX) -> int | None:
    """Return a decimal number from `low` to `high`, with or without a sign; None for anything else.

    Digits of any script count, except those outside the basic plane, which Java sees as two
    characters.
    """
    digits = text[1:] if text[:1] in ("+", "-") else text
    values = [unicodedata.decimal(c, None) if c <= "\uffff" else None for c in digits]
    if not values or None in values:
        return None
    # Python refuses to parse very long numbers; leading zeros do not count
    significant = "".join(map(str, values)).lstrip("0")[:_DIGITS_MAX]
    number = int(significant or "0") * (-1 if text[0] == "-" else 1)
    return number if low <= number <= high else None
