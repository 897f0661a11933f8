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


def bytes_text(amount: float) -> str:
    """An amount for people, in powers of a thousand."""
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} PB"


def duration_text(seconds: float) -> str:
    """A time for people: the two largest units that matter."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    if whole < 86_400:
        return f"{whole // 3600} h {whole % 3600 // 60:02} min"
    return f"{whole // 86_400} d {whole % 86_400 // 3600:02} h"
