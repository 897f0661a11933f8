"""Rows and lines of findings and of the accounts of ingested rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import pairwise
from typing import Any

from kedge.pipeline.findings_reader import Finding
from kedge.pipeline.manifest import Accounts

BARS = "▁▂▃▄▅▆▇█"
WIDTH = 24


def sparkline(values: Sequence[float], width: int = WIDTH) -> str:
    """A course as a row of bars, from the least value to the greatest; empty without values."""
    if not values:
        return ""
    count = min(width, len(values))
    edges = [place * len(values) // count for place in range(count + 1)]
    drawn = [_mean(values[a:b]) for a, b in pairwise(edges)]
    low, high = min(drawn), max(drawn)
    if high == low:
        return BARS[3] * len(drawn)
    scale = (len(BARS) - 1) / (high - low)
    return "".join(BARS[round((value - low) * scale)] for value in drawn)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def finding_row(one: Finding) -> dict[str, Any]:
    """A finding for programs."""
    return asdict(one)


def account_rows(accounts: Accounts) -> list[tuple[str, int]]:
    """Where the rows went, as lines of a table; the reasons are set in."""
    reasons: Mapping[str, int] = accounts.quarantined_by_reason
    return [
        ("rows read", accounts.rows_read),
        ("kept", accounts.kept),
        ("duplicates", accounts.duplicates),
        ("superseded", accounts.superseded),
        ("late", accounts.late),
        ("quarantined", accounts.quarantined),
        *((f"  {reason}", count) for reason, count in reasons.items()),
    ]
