"""Suspension points in long loops, where work for a closed connection is cancelled."""

from __future__ import annotations

import asyncio

_EVERY = 256


async def yield_now(done: int) -> None:
    """Suspend after every so many items."""
    if done % _EVERY == 0:
        await asyncio.sleep(0)
