"""A second event loop, on a thread of its own, for requests that cost much processor time.

Decoding a frame of megabytes, or writing an answer about every partition of a cluster, takes up to
seconds. On the loop that serves the connections it would stop all of them; here it delays only
other expensive requests. Waiting inside of a request (for the store, for leaders) blocks nothing.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class WorkerLoop:
    """Runs coroutines on its thread, which starts with the first of them."""

    def __init__(self, name: str = "endpoint-worker") -> None:
        self._name = name
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Await a coroutine on the worker's loop; cancelling the caller cancels it at its next
        suspension point."""
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._started()))

    def close(self) -> None:
        """Cancel what is under way, and end the thread."""
        if self._loop is None or self._thread is None:
            return
        asyncio.run_coroutine_threadsafe(_cancel_others(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()
        self._loop = self._thread = None

    def _started(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(
                target=self._loop.run_forever, name=self._name, daemon=True
            )
            self._thread.start()
        return self._loop


async def _cancel_others() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
