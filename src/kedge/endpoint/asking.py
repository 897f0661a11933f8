"""From the event loop to the other threads, and back: the store's and the controller's."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol, TypeVar

from kedge.controller.events import Event
from kedge.errors import RequestTimedOut
from kedge.runtime import ControllerView
from kedge.store.port import Notice, Session, SessionChanged, Store

T = TypeVar("T")


class Controller(Protocol):
    """A controller's loop, as far as a caller needs it."""

    @property
    def view(self) -> ControllerView:
        """What it knows, as a value."""
        ...

    def put(self, event: Event, replied: Callable[[Any], None] | None = None) -> None:
        """Queue an event; `replied` is called on the controller's thread, or never."""
        ...


async def ask(controller: Controller, event: Event, timeout_ms: int) -> Any:
    """A controller's answer to an event, or RequestTimedOut."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[Any] = loop.create_future()

    def take(found: Any) -> None:
        if not answer.done():
            answer.set_result(found)

    def replied(found: Any) -> None:
        with contextlib.suppress(RuntimeError):  # the event loop has ended meanwhile
            loop.call_soon_threadsafe(take, found)

    controller.put(event, replied)
    try:
        async with asyncio.timeout(max(timeout_ms, 0) / 1000):
            return await answer
    except TimeoutError:
        raise RequestTimedOut(
            f"the controller has not answered within {timeout_ms} ms",
            hint="it may do it yet; look before asking again",
        ) from None


class StoreThread:
    """The one thread that uses the store. A session that ended is begun anew before the next
    piece of work; the one that met its end is refused, for nobody knows what came of it."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._expired = False
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="endpoint-store")
        store.listen(self._hear)

    async def run(self, work: Callable[[], T]) -> T:
        """Do something on the thread."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, self._done, work)

    def close(self) -> None:
        """Finish what was begun, and end the thread."""
        self._pool.shutdown()

    def _done(self, work: Callable[[], T]) -> T:
        if self._expired:
            self._store.renew_session()
            self._expired = False
        return work()

    def _hear(self, notice: Notice) -> None:
        if isinstance(notice, SessionChanged) and notice.state is Session.EXPIRED:
            self._expired = True
