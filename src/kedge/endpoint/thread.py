"""The endpoint on a thread of its own, for programs that have no event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from kedge.endpoint.server import Endpoint
from kedge.model import BrokerId

T = TypeVar("T")


class EndpointThread:
    """Runs an endpoint until it is stopped.

    with EndpointThread(lambda: Endpoint(backend)) as endpoint:
        port = endpoint.open(BrokerId(1), "127.0.0.1")
    """

    def __init__(self, make: Callable[[], Endpoint], *, name: str = "endpoint") -> None:
        self._make = make
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)
        self._endpoint: Endpoint | None = None

    def __enter__(self) -> EndpointThread:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def endpoint(self) -> Endpoint:
        """The endpoint itself; only its traffic may be looked at from outside."""
        assert self._endpoint is not None, "started before it is used"
        return self._endpoint

    def start(self) -> None:
        """Begin; nothing listens yet."""
        self._thread.start()
        self._endpoint = self.run(self._made())

    def open(self, node: BrokerId, host: str, port: int = 0, *, listener: str = "PLAINTEXT") -> int:
        """Listen for a node; which port it came to be."""
        return self.run(self.endpoint.open(node, host, port, listener=listener))

    def close_node(self, node: BrokerId) -> None:
        """Stop listening for a node."""
        self.run(self.endpoint.close_node(node))

    def stop(self) -> None:
        """End all connections, then the thread."""
        self.run(self.endpoint.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Do something on the endpoint's thread, and wait for it."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _made(self) -> Endpoint:
        # on the loop, so that whatever belongs to a loop belongs to this one
        return self._make()
