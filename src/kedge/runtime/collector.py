"""Python's cyclic collector, kept quiet while a script runs.

A script at scale makes hundreds of thousands of small values that live on in the context. None of
them is part of a cycle, yet the collector would walk through all of them again and again while
they are made: it costs as much as the script itself.
"""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager

WORTH_KEEPING = 50_000  # partitions


@contextmanager
def collector_paused() -> Generator[None]:
    """No collection of cycles in here; what is not part of a cycle is freed as ever."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def keep_for_good(partitions: int) -> None:
    """What was made so far will stay: the collector need not walk through it ever again.

    For the moment after a take-over, and only of a large cluster: cycles that are garbage by then
    are never found, which a process that takes over again and again would come to feel.
    """
    if partitions >= WORTH_KEEPING:
        gc.freeze()
