"""Events from threads to the browsers that listen, as server-sent events.

An event is encoded once, however many listen. A listener that does not read loses the oldest of its
events, never the newest: what is shown is a state, and the newest is the one that counts.

A stream lasts longer than the request that opened it, so its account is checked again now and then:
it ends when the account has signed out, or its token or session was revoked or has expired.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, defaultdict
from collections.abc import AsyncGenerator, Callable, Collection, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Listener:
    """Who opened a stream; `may_listen` asks again whether the account may, on a thread."""

    account: str
    may_listen: Callable[[], bool]


class Broadcaster:
    """Passes events of named channels on to all that listen to them."""

    def __init__(
        self,
        listeners_max: int,
        per_account_max: int | None = None,
        *,
        check_every_s: float = KEEP_ALIVE_S,
    ) -> None:
        self._max, self._per_account_max = listeners_max, per_account_max or listeners_max
        self.check_every_s = check_every_s
        self._channels: defaultdict[str, set[asyncio.Queue[bytes | None]]] = defaultdict(set)
        self._accounts: Counter[str] = Counter()
        self._loop: asyncio.AbstractEventLoop | None = None

    @property
    def listeners(self) -> int:
        """How many listen."""
        return self._accounts.total()

    @property
    def channels(self) -> list[str]:
        """The channels that someone listens to."""
        return list(self._channels)

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
    def _listening(
        self, channels: Collection[str], account: str
    ) -> Generator[asyncio.Queue[bytes | None]]:
        queue: asyncio.Queue[bytes | None] = asyncio.Queue(WAITING_MAX * max(1, len(channels)))
        self._accounts[account] += 1
        for channel in channels:
            self._channels[channel].add(queue)
        try:
            yield queue
        finally:
            self._accounts[account] -= 1
            self._accounts += Counter()  # those without a stream are forgotten
            for channel in channels:
                self._leave(channel, queue)

    def _leave(self, channel: str, queue: asyncio.Queue[bytes | None]) -> None:
        self._channels[channel].discard(queue)
        if not self._channels[channel]:
            del self._channels[channel]

    def check_room(self, account: str) -> None:
        """Refuse one listener too many, of all and of one account."""
        if self.listeners >= self._max:
            raise TooManyRequests(
                f"{self._max} streams are open", hint="[limits] streams sets the limit"
            )
        if self._accounts[account] >= self._per_account_max:
            raise TooManyRequests(
                f"{self._per_account_max} streams of this account are open",
                hint="close a page, or set [limits] streams_per_account",
            )

    def stream(
        self, channel: str, first: Callable[[], bytes], listener: Listener
    ) -> AsyncGenerator[bytes]:
        """What a client of one channel reads."""
        return self.stream_of([channel], first, listener)

    async def stream_of(
        self, channels: Collection[str], first: Callable[[], bytes], listener: Listener
    ) -> AsyncGenerator[bytes]:
        """What a client of channels reads until the server ends, or its account may not.

        `first` makes the first event, the present state, once no later event can be missed.
        """
        with self._listening(channels, listener.account) as queue:
            yield await run_in_threadpool(first)
            check_due = time.monotonic() + self.check_every_s
            while (data := await _next(queue, self.check_every_s)) is not None:
                if time.monotonic() >= check_due:
                    if not await run_in_threadpool(listener.may_listen):
                        return
                    check_due = time.monotonic() + self.check_every_s
                yield data


async def _next(queue: asyncio.Queue[bytes | None], within_s: float) -> bytes | None:
    """The next event, or a sign of life where none came; None at the end."""
    try:
        return await asyncio.wait_for(queue.get(), within_s)
    except TimeoutError:
        return KEEP_ALIVE


def _put(queue: asyncio.Queue[bytes | None], data: bytes | None) -> None:
    if queue.full():
        queue.get_nowait()
    queue.put_nowait(data)
