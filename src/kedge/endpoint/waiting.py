"""Waiting on an event loop for what other threads bring about."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable


class Waiting:
    """Whoever waits looks again each time that something has changed."""

    def __init__(self) -> None:
        self._changed = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = threading.Lock()
        self._waking = False

    def wake(self) -> None:
        """Something has changed. From any thread; many calls in a row wake once."""
        with self._lock:
            if self._waking or self._loop is None or self._loop.is_closed():
                return
            self._waking = True
            self._loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        with self._lock:
            self._waking = False
        before, self._changed = self._changed, asyncio.Event()
        before.set()

    async def until(self, done: Callable[[], bool], timeout_ms: int) -> bool:
        """Wait until it is done; False when the time is up before."""
        self._move_to(asyncio.get_running_loop())
        try:
            async with asyncio.timeout(max(0, timeout_ms) / 1000):
                while True:
                    # first the event, then the look: what changes in between sets this event
                    changed = self._changed
                    if done():
                        return True
                    await changed.wait()
        except TimeoutError:
            return done()

    def _move_to(self, loop: asyncio.AbstractEventLoop) -> None:
        """Whoever waits, waits on one event loop; on a new one all begins anew."""
        with self._lock:
            if self._loop is not loop:
                self._loop, self._changed, self._waking = loop, asyncio.Event(), False
