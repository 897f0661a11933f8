"""Parses amounts of bytes, rates and durations (50MB, 1.5GiB, 200kB/s, 1e9, 15m), checks times."""

from __future__ import annotations

import re
from collections.abc import Mapping

from kedge.errors import InvalidRequest

FORM = re.compile(r"(\d+(?:\.\d+)?(?:e\d+)?)\s*([kmgtp]?)(i?)b?(?:/s)?", re.IGNORECASE)
DURATION = re.compile(r"(\d+(?:\.\d+)?)([a-z]*)")
POWERS = ["", "k", "m", "g", "t", "p"]
MOST = 2**62
MOMENT_MAX_S = 1e11  # the year 5138; times in milliseconds are above
RATE_LEAST = 1000  # bytes per second; below it a unit was most likely forgotten


def parse_bytes(text: str, what: str, *, least: int = 1) -> int:
    """A whole number of bytes; units are powers of 1000, or of 1024 with an i. `what` names the
    option in a refusal."""
    found = FORM.fullmatch(text.strip())
    if found is None or (found[3] and not found[2]):
        raise InvalidRequest(
            f"{what}: {text!r} is not an amount of bytes", hint="write it like 50MB"
        )
    base = 1024 if found[3] else 1000
    amount = float(found[1]) * base ** POWERS.index(found[2].lower())
    if not least <= amount <= MOST:
        raise InvalidRequest(
            f"{what}: {text!r} is not from {least} to 2^62 bytes", hint="write it like 50MB"
        )
    return round(amount)


def parse_rate(text: str, option: str) -> int:
    """Bytes per second. Rates that no move ever ends at are refused: a unit was forgotten."""
    rate = parse_bytes(text, option)
    if rate < RATE_LEAST:
        raise InvalidRequest(
            f"{option} {text} is {rate} bytes/s, less than 1 kB/s",
            hint=f"did you mean {text.strip()}MB?" if text.strip().isdigit() else "write 50MB",
        )
    return rate


def duration_s(text: str, units: Mapping[str, float]) -> float | None:
    """Seconds, from a number and one of these units; None for any other text."""
    found = DURATION.fullmatch(text)
    if found is None or found[2] not in units:
        return None
    return float(found[1]) * units[found[2]]


def check_moment(at_s: float | None, option: str) -> None:
    """Refuse a time that is no number of seconds since 1970: most of these are milliseconds."""
    if at_s is None or 0 <= at_s < MOMENT_MAX_S:
        return
    hint = "use seconds since 1970"
    if 0 < at_s < 1000 * MOMENT_MAX_S:
        hint = f"if it is in milliseconds, use {option} {at_s / 1000:.15g}"
    raise InvalidRequest(f"{option} {at_s:.15g} is not a time in seconds", hint=hint)
