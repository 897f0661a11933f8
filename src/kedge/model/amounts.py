"""Formats amounts of bytes and time."""

from __future__ import annotations


def bytes_text(amount: float) -> str:
    """An amount of bytes, in powers of a thousand."""
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} PB"


def duration_text(seconds: float) -> str:
    """A duration in its two largest units."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    if whole < 86_400:
        return f"{whole // 3600} h {whole % 3600 // 60:02} min"
    return f"{whole // 86_400} d {whole % 86_400 // 3600:02} h"
