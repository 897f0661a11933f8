"""Waiting on event loops for what other threads bring about."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable


class Waiting:
    """Blocks coroutines until a predicate holds; re-evaluated after every change. Any number of
    event loops may wait at the same time."""

    def __init__(self) -> None:
        self._changed: dict[asyncio.AbstractEventLoop, asyncio.Event] = {}
        self._waking: set[asyncio.AbstractEventLoop] = set()
        self._waiters: dict[asyncio.AbstractEventLoop, int] = {}
        self._lock = threading.Lock()

    def wake(self) -> None:
        """Something has changed. From any thread; many calls in a row wake once."""
        with self._lock:
            for loop in self._changed.keys() - self._waking:
                if not loop.is_closed():
                    self._waking.add(loop)
                    loop.call_soon_threadsafe(self._wake, loop)

    def _wake(self, loop: asyncio.AbstractEventLoop) -> None:
        with self._lock:
            self._waking.discard(loop)
            before = self._changed.get(loop)
            if before is not None:
                self._changed[loop] = asyncio.Event()
        if before is not None:
            before.set()

    async def until(self, done: Callable[[], bool], timeout_ms: int) -> bool:
        """Wait until it is done; False when the time is up before."""
        loop = asyncio.get_running_loop()
        self._enter(loop)
        try:
            async with asyncio.timeout(max(0, timeout_ms) / 1000):
                while True:
                    # first the event, then the look: what changes in between sets this event
                    changed = self._changed[loop]
                    if done():
                        return True
                    await changed.wait()
        except TimeoutError:
            return done()
        finally:
            self._leave(loop)

    def _enter(self, loop: asyncio.AbstractEventLoop) -> None:
        with self._lock:
            self._changed.setdefault(loop, asyncio.Event())
            self._waiters[loop] = self._waiters.get(loop, 0) + 1

    def _leave(self, loop: asyncio.AbstractEventLoop) -> None:
        """Forget a loop on which nothing waits any more: it may be closed next."""
        with self._lock:
            self._waiters[loop] -= 1
            if not self._waiters[loop]:
                del self._waiters[loop], self._changed[loop]
                self._waking.discard(loop)
