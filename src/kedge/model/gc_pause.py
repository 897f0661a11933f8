"""Pauses Python's cyclic garbage collector while many values without cycles are built.

A document or a controller script at scale creates hundreds of thousands of small values. None of
them is part of a cycle, but the collector traverses all of them again and again while they are
created: reading 200,000 partitions takes twice as long with it.
"""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager

FREEZE_PARTITIONS_MIN = 50_000


@contextmanager
def gc_pause() -> Generator[None]:
    """Disable cyclic collection in the block; a collector that was off before stays off."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def freeze_after_takeover(partitions: int) -> None:
    """Exclude the live objects from all later collections, if the cluster is large.

    The metadata that a controller has just loaded stays for the life of the process. Cycles that
    are garbage at this moment are never freed, so a small cluster is left alone.
    """
    if partitions >= FREEZE_PARTITIONS_MIN:
        gc.freeze()
