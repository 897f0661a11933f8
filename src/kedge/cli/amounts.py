"""Amounts as people type them: 50MB, 1.5GiB, 200kB/s."""

from __future__ import annotations

import re

from kedge.errors import InvalidRequest

UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "p": 10**15}
BINARY = {"ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40, "pi": 2**50}
FORM = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgtp]?i?)b?(?:/s)?", re.IGNORECASE)


def parse_bytes(text: str, what: str) -> int:
    """A whole number of bytes; `what` names the option in a refusal."""
    found = FORM.fullmatch(text.strip())
    factor = (UNITS | BINARY).get(found[2].lower()) if found else None
    if found is None or factor is None or float(found[1]) == 0:
        raise InvalidRequest(f"{what}: {text!r} is no amount of bytes", hint="write it like 50MB")
    return round(float(found[1]) * factor)
