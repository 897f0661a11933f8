"""Clocks and rounds."""

from __future__ import annotations

import time
from collections.abc import Callable

from bench.report import Timing


def now_ms() -> float:
    """The system's clock, which all processes here share."""
    return time.time() * 1000


def cpu_seconds_of(call: Callable[[], object]) -> float:
    """How long a call keeps a processor busy, whoever else wants it."""
    before = time.process_time()
    call()
    return time.process_time() - before


def timing(seconds: list[float]) -> Timing:
    """The median and the best of several rounds."""
    return Timing(sorted(seconds)[len(seconds) // 2], min(seconds))
