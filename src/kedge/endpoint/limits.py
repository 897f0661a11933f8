"""How much strangers may cost: connections, bytes and time."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from kedge.protocol import FRAME_BYTES_MAX

_FREE_BYTES = 64 << 10  # frames up to this size are read without asking


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one endpoint, over all of its nodes together."""

    frame_bytes_max: int = FRAME_BYTES_MAX
    connections_max: int = 1000
    buffered_bytes_max: int = 128 << 20  # of large frames that have not arrived whole
    idle_s: float = 600.0  # connections.max.idle.ms
    frame_s: float = 30.0  # from a frame's first byte to its last, and for taking an answer
    throttle_s_max: float = 30.0  # how long a client is not read from at most
    look_s: float = 1.0  # how often to look whether a client that waits is still there


class ByteBudget:
    """Room for large frames; whoever finds none waits. Small ones need no leave."""

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._free = bytes_max
        self._freed = asyncio.Condition()

    async def take(self, size: int) -> int:
        """Wait for room; how much was taken, to be given back."""
        wanted = 0 if size <= _FREE_BYTES else min(size, self._bytes_max)
        if wanted:
            async with self._freed:
                await self._freed.wait_for(lambda: self._free >= wanted)
                self._free -= wanted
        return wanted

    async def give_back(self, size: int) -> None:
        """Make room again."""
        if size:
            async with self._freed:
                self._free += size
                self._freed.notify_all()
