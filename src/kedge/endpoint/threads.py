"""Work on other threads: the store's, the controller's, and a second loop for costly requests."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol, TypeVar

from kedge.controller.events import Event
from kedge.errors import RequestTimedOut
from kedge.runtime import ControllerView
from kedge.store.port import Session, SessionChanged, Store, StoreEvent

T = TypeVar("T")

CHUNK = 500  # items of a large request that are handled in one call on the store's thread


# ---- the controller ------------------------------------------------------------------------------


class Controller(Protocol):
    """A controller's loop, as far as a caller needs it."""

    @property
    def view(self) -> ControllerView:
        """What it knows, as a value."""
        ...

    def put(self, event: Event, replied: Callable[[Any], None] | None = None) -> None:
        """Queue an event; `replied` is called on the controller's thread, or never."""
        ...


async def ask_controller(controller: Controller, event: Event, timeout_ms: int) -> Any:
    """A controller's answer to an event, or RequestTimedOut."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[Any] = loop.create_future()

    def set_answer(found: Any) -> None:
        if not answer.done():
            answer.set_result(found)

    def replied(found: Any) -> None:
        with contextlib.suppress(RuntimeError):  # the event loop may be closed by now
            loop.call_soon_threadsafe(set_answer, found)

    controller.put(event, replied)
    try:
        async with asyncio.timeout(max(timeout_ms, 0) / 1000):
            return await answer
    except TimeoutError:
        raise RequestTimedOut(
            f"the controller did not answer within {timeout_ms} ms",
            hint="the request may still be carried out; check before sending it again",
        ) from None


# ---- the store -----------------------------------------------------------------------------------


def chunks(items: Sequence[T]) -> Iterator[Sequence[T]]:
    """The items of a large request in order, `CHUNK` at a time."""
    return (items[start : start + CHUNK] for start in range(0, len(items), CHUNK))


class StoreThread:
    """The only thread that uses the store. An expired session is renewed before the next call; the
    call during which it expired fails, because its outcome is unknown."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._expired = False
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="endpoint-store")
        store.listen(self._on_store_event)

    async def run(self, work: Callable[[], T]) -> T:
        """Call a function on the thread."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, self._run, work)

    def close(self) -> None:
        """Finish the calls that were begun, and end the thread."""
        self._pool.shutdown()

    def _run(self, work: Callable[[], T]) -> T:
        if self._expired:
            self._store.renew_session()
            self._expired = False
        return work()

    def _on_store_event(self, event: StoreEvent) -> None:
        if isinstance(event, SessionChanged) and event.state is Session.EXPIRED:
            self._expired = True


# ---- changes of metadata -------------------------------------------------------------------------


class ChangeNotifier:
    """Blocks coroutines until a predicate holds; re-evaluated after every metadata update. Any
    number of event loops may wait at the same time."""

    def __init__(self) -> None:
        self._changed: dict[asyncio.AbstractEventLoop, asyncio.Event] = {}
        self._waking: set[asyncio.AbstractEventLoop] = set()
        self._waiters: dict[asyncio.AbstractEventLoop, int] = {}
        self._lock = threading.Lock()

    def notify(self) -> None:
        """Re-evaluate all predicates. From any thread; many calls in a row wake a loop once."""
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

    async def wait_until(self, done: Callable[[], bool], timeout_ms: int) -> bool:
        """Wait until the predicate holds; whether it does when the time is up."""
        loop = asyncio.get_running_loop()
        self._enter(loop)
        try:
            async with asyncio.timeout(max(0, timeout_ms) / 1000):
                while True:
                    # take the event before the check: a change in between sets this event
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
        """Forget a loop without waiters: it may be closed next."""
        with self._lock:
            self._waiters[loop] -= 1
            if not self._waiters[loop]:
                del self._waiters[loop], self._changed[loop]
                self._waking.discard(loop)


# ---- costly requests -----------------------------------------------------------------------------


class WorkerLoop:
    """A second event loop on its own thread, for requests that cost much processor time.

    Decoding a frame of megabytes, or encoding an answer about every partition of a cluster, takes
    up to seconds. On the loop that serves the connections it would stop all of them; here it delays
    only other costly requests. A request that waits for the store or for leaders blocks nothing.
    """

    def __init__(self, name: str = "endpoint-worker") -> None:
        self._name = name
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Await a coroutine on the worker's loop, which starts with the first of them. Cancelling
        the caller cancels the coroutine at its next suspension point."""
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._started()))

    def close(self) -> None:
        """Cancel all coroutines, and end the thread."""
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
