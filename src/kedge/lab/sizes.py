"""Sizes as people write them: `1TB`, `125MB`, `64KiB`, `1e9`, `500`."""

from __future__ import annotations

import re
from math import isfinite

from kedge.errors import MalformedNumber

_FORM = re.compile(r"\s*(\d+(?:\.\d+)?(?:e\d+)?)\s*([kmgtp]?i?b?)(?:/s)?\s*", re.IGNORECASE)
_POWERS = " kmgtp"


def parse_size(text: str, what: str = "a size") -> int:
    """Bytes; units are powers of 1000, or of 1024 with an i (`KiB`)."""
    found = _FORM.fullmatch(text)
    if found is None:
        raise MalformedNumber(f"{what} {text!r} is not a number of bytes", hint="write 500MB")
    number, unit = float(found[1]), found[2].lower()
    base = 1024 if "i" in unit else 1000
    value = number * base ** _POWERS.index(unit.rstrip("ib") or " ")
    if not isfinite(value) or value > 2**62:
        raise MalformedNumber(f"{what} {text!r} is more than can be", hint="write 500MB")
    return int(value)
