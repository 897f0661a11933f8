"""Events from threads to the browsers that listen, as server-sent events.

An event is encoded once, however many listen. A listener that does not read loses the oldest of its
events, never the newest: what is shown is a state, and the newest is the one that counts.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any

import orjson
from starlette.concurrency import run_in_threadpool

from kedge.errors import TooManyRequests

WAITING_MAX = 64
KEEP_ALIVE_S = 15.0
KEEP_ALIVE = b": keep-alive\n\n"


def encode_event(kind: str, document: Mapping[str, Any]) -> bytes:
    """One event in the form of the standard."""
    return b"event: " + kind.encode() + b"\ndata: " + orjson.dumps(document) + b"\n\n"


class Broadcaster:
    """Passes events of named channels on to all that listen to them."""

    def __init__(self, listeners_max: int) -> None:
        self._max = listeners_max
        self._channels: defaultdict[str, set[asyncio.Queue[bytes | None]]] = defaultdict(set)
        self._count = 0
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def listeners(self) -> int:
        """How many listen."""
        return self._count

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        """Deliver on this event loop."""
        self._loop = loop

    def publish(self, channel: str, kind: str, document: Mapping[str, Any]) -> None:
        """Send an event from any thread; no one waits for listeners."""
        loop = self._loop
        if loop is None or loop.is_closed() or channel not in self._channels:
            return
        data = encode_event(kind, document)
        loop.call_soon_threadsafe(self._deliver, channel, data)

    def close(self) -> None:
        """End every stream; on the event loop."""
        for queues in self._channels.values():
            for queue in queues:
                _put(queue, None)

    def _deliver(self, channel: str, data: bytes) -> None:
        for queue in self._channels.get(channel, ()):
            _put(queue, data)

    @contextmanager
    def _listening(self, channel: str) -> Generator[asyncio.Queue[bytes | None]]:
        queue: asyncio.Queue[bytes | None] = asyncio.Queue(WAITING_MAX)
        self._count += 1
        self._channels[channel].add(queue)
        try:
            yield queue
        finally:
            self._count -= 1
            self._channels[channel].discard(queue)
            if not self._channels[channel]:
                del self._channels[channel]

    def check_room(self) -> None:
        """Refuse one listener too many."""
        if self._count >= self._max:
            raise TooManyRequests(
                f"{self._max} streams are open", hint="[limits] streams sets the limit"
            )

    async def stream(self, channel: str, first: Callable[[], bytes]) -> AsyncGenerator[bytes]:
        """What a client of the channel reads until the server ends.

        `first` makes the first event, the present state, once no later event can be missed.
        """
        with self._listening(channel) as queue:
            yield await run_in_threadpool(first)
            while True:
                try:
                    data = await asyncio.wait_for(queue.get(), KEEP_ALIVE_S)
                except TimeoutError:
                    data = KEEP_ALIVE
                if data is None:
                    return
                yield data


def _put(queue: asyncio.Queue[bytes | None], data: bytes | None) -> None:
    if queue.full():
        queue.get_nowait()
    queue.put_nowait(data)
