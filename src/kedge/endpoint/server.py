"""The endpoint: a TCP port for every node, served by one event loop on a thread of its own."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeVar

from kedge.endpoint.authentication import AuthenticatedNode, Users
from kedge.endpoint.backend import ControllerBackend
from kedge.endpoint.connection import Acceptor, Connection, listening_socket, open_streams
from kedge.endpoint.dispatch import Dispatcher, Node
from kedge.endpoint.limits import ByteBudget, Limits, MutationQuota, QuotaSettings
from kedge.endpoint.threads import WorkerLoop
from kedge.errors import InvalidRequest
from kedge.model import BrokerId
from kedge.protocol import RequestHeader

_LOG = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(slots=True)
class Traffic:
    """Counts of connections and requests of an endpoint."""

    connections_open: int = 0
    connections_accepted: int = 0
    connections_refused: int = 0
    requests: Counter[str] = field(default_factory=Counter[str])


class Endpoint:
    """Speaks Kafka's admin protocol for a backend, on one port per node.

    endpoint = Endpoint(backend)
    port = await endpoint.open(BrokerId(1), "127.0.0.1")
    ...
    await endpoint.close()
    """

    def __init__(
        self,
        backend: ControllerBackend,
        *,
        limits: Limits | None = None,
        quota: QuotaSettings | None = None,
        now_s: Callable[[], float] = time.monotonic,
        users: Users | None = None,
        wrap: Callable[[BrokerId, Dispatcher], Node] = lambda _, own: own,
    ) -> None:
        self.traffic = Traffic()
        self._backend = backend
        self._wrap = wrap  # replaces the dispatcher of a node
        self._users = users  # if given, every client must authenticate (SASL/PLAIN)
        self._limits = limits or Limits()
        self._quota = MutationQuota(quota or QuotaSettings(), now_s)
        self._budget = ByteBudget(self._limits.buffered_bytes_max)
        self._worker = WorkerLoop()
        self._acceptors: dict[BrokerId, Acceptor] = {}
        self._serving: dict[BrokerId, set[asyncio.Task[None]]] = {}
        self._unanswered: dict[asyncio.Task[None], None] = {}  # connections, oldest first
        self._is_full = False
        self._counting = threading.Lock()

    async def open(
        self, node: BrokerId, host: str, port: int = 0, *, listener: str = "PLAINTEXT"
    ) -> int:
        """Listen for a node; the port that was bound."""
        if node in self._acceptors:
            raise InvalidRequest(f"node {node} already listens")
        own = Dispatcher(
            node,
            self._backend,
            self._quota,
            worker=self._worker,
            listener=listener,
            answered=self._count,
        )
        dispatcher = self._wrap(node, own)

        def accepted(connection: socket.socket) -> None:
            self._accept(node, dispatcher, connection)

        made = Acceptor(listening_socket(host, port), accepted, retry_s=self._limits.accept_retry_s)
        self._acceptors[node] = made
        return made.port

    async def close_node(self, node: BrokerId) -> None:
        """Stop listening for a node, and close its connections, as if its process had ended."""
        acceptor = self._acceptors.pop(node, None)
        if acceptor is None:
            return
        await acceptor.close()
        serving = self._serving.pop(node, set())
        for task in serving:
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)

    async def close(self) -> None:
        """Close all nodes."""
        for node in list(self._acceptors):
            await self.close_node(node)
        self._worker.close()

    # ---- connections ----------------------------------------------------------------------------

    def _accept(self, node: BrokerId, dispatcher: Node, connection: socket.socket) -> None:
        """Serve a connection, or close it at once where there is no room."""
        if not self._make_room():
            self.traffic.connections_refused += 1
            connection.close()
            return
        self.traffic.connections_open += 1
        self.traffic.connections_accepted += 1
        serving = self._serving.setdefault(node, set())

        task = asyncio.get_running_loop().create_task(self._serve(dispatcher, connection))
        serving.add(task)
        task.add_done_callback(serving.discard)

    def _make_room(self) -> bool:
        """Whether there is room for a connection. At the limit, the oldest connection that never
        had an answer is closed, so that clients which only connect do not keep others out."""
        allowed = self._limits.connections(len(self._acceptors))
        if self.traffic.connections_open < allowed:
            self._is_full = False
            return True
        if not self._is_full:
            _LOG.warning("%d connections are open, which is the limit", allowed)
        self._is_full = True
        oldest = next(iter(self._unanswered), None)
        if oldest is None or self.traffic.connections_open > allowed:
            return False
        del self._unanswered[oldest]
        oldest.cancel()
        self.traffic.connections_refused += 1
        return True

    async def _serve(self, dispatcher: Node, accepted: socket.socket) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._unanswered[task] = None
        try:
            reader, writer = await open_streams(accepted)
            node = dispatcher if self._users is None else AuthenticatedNode(dispatcher, self._users)
            connection = Connection(node, self._limits, self._budget, reader, writer)
            connection.on_first_answer = lambda: self._unanswered.pop(task, None)
            await connection.serve()
        except OSError as error:
            _LOG.debug("connection closed: %r", error)
        finally:
            accepted.close()  # no effect where the streams have closed it
            self._unanswered.pop(task, None)
            self.traffic.connections_open -= 1

    def _count(self, header: RequestHeader) -> None:
        with self._counting:  # the worker's thread counts too
            self.traffic.requests[header.api.name] += 1


class EndpointThread:
    """Runs an endpoint on a thread of its own, for programs that have no event loop.

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
        """The endpoint itself; only its traffic may be read from other threads."""
        assert self._endpoint is not None, "the thread was not started"
        return self._endpoint

    def start(self) -> None:
        """Start the thread; nothing listens yet."""
        self._thread.start()
        self._endpoint = self.run(self._make_endpoint())

    def open(self, node: BrokerId, host: str, port: int = 0, *, listener: str = "PLAINTEXT") -> int:
        """Listen for a node; the port that was bound."""
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
        """Run a coroutine on the endpoint's thread, and wait for it."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _make_endpoint(self) -> Endpoint:
        # on this loop, so that asyncio objects belong to it
        return self._make()
