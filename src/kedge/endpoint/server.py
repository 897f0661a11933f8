"""The endpoint: a TCP port for every node, served by one event loop."""

from __future__ import annotations

import asyncio
import logging
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from kedge.endpoint.accepting import Acceptor, listening_socket, open_streams
from kedge.endpoint.authentication import Authenticating, Users
from kedge.endpoint.backend import Backend
from kedge.endpoint.connection import Connection
from kedge.endpoint.dispatch import Answering, Dispatcher
from kedge.endpoint.limits import ByteBudget, Limits
from kedge.endpoint.quota import MutationQuota, QuotaSettings
from kedge.endpoint.worker import WorkerLoop
from kedge.errors import InvalidRequest
from kedge.model import BrokerId
from kedge.protocol import RequestHeader

_LOG = logging.getLogger(__name__)


@dataclass(slots=True)
class Traffic:
    """What has gone through an endpoint."""

    connections_open: int = 0
    connections_taken: int = 0
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
        backend: Backend,
        *,
        limits: Limits | None = None,
        quota: QuotaSettings | None = None,
        now_s: Callable[[], float] = time.monotonic,
        users: Users | None = None,
        through: Callable[[BrokerId, Dispatcher], Answering] = lambda _, own: own,
    ) -> None:
        self.traffic = Traffic()
        self._backend = backend
        self._through = through  # what stands between a node's clients and its own answers
        self._users = users  # with them, every client has to authenticate (SASL/PLAIN)
        self._limits = limits or Limits()
        self._quota = MutationQuota(quota or QuotaSettings(), now_s)
        self._budget = ByteBudget(self._limits.buffered_bytes_max)
        self._worker = WorkerLoop()
        self._acceptors: dict[BrokerId, Acceptor] = {}
        self._serving: dict[BrokerId, set[asyncio.Task[None]]] = {}
        self._silent: dict[asyncio.Task[None], None] = {}  # never answered yet, oldest first
        self._is_full = False
        self._counting = threading.Lock()

    async def open(
        self, node: BrokerId, host: str, port: int = 0, *, listener: str = "PLAINTEXT"
    ) -> int:
        """Listen for a node; which port it came to be."""
        if node in self._acceptors:
            raise InvalidRequest(f"node {node} is listening already")
        own = Dispatcher(
            node,
            self._backend,
            self._quota,
            worker=self._worker,
            listener=listener,
            answered=self._count,
        )
        dispatcher = self._through(node, own)

        def taken(connection: socket.socket) -> None:
            self._take(node, dispatcher, connection)

        made = Acceptor(listening_socket(host, port), taken, retry_s=self._limits.accept_retry_s)
        self._acceptors[node] = made
        return made.port

    async def close_node(self, node: BrokerId) -> None:
        """Stop listening for a node, and end its connections, as if its process had ended."""
        acceptor = self._acceptors.pop(node, None)
        if acceptor is None:
            return
        await acceptor.close()
        serving = self._serving.pop(node, set())
        for task in serving:
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)

    async def close(self) -> None:
        """Stop altogether."""
        for node in list(self._acceptors):
            await self.close_node(node)
        self._worker.close()

    # ---- connections ----------------------------------------------------------------------------

    def _take(self, node: BrokerId, dispatcher: Answering, connection: socket.socket) -> None:
        """Serve a connection, or refuse it: then it is closed at once."""
        if not self._make_room():
            self.traffic.connections_refused += 1
            connection.close()
            return
        self.traffic.connections_open += 1
        self.traffic.connections_taken += 1
        serving = self._serving.setdefault(node, set())

        task = asyncio.get_running_loop().create_task(self._serve(dispatcher, connection))
        serving.add(task)
        task.add_done_callback(serving.discard)

    def _make_room(self) -> bool:
        """Whether there is room for a connection. When there is none, the oldest connection that
        has never had an answer is closed: clients that only connect keep no others out."""
        allowed = self._limits.connections(len(self._acceptors))
        if self.traffic.connections_open < allowed:
            self._is_full = False
            return True
        if not self._is_full:
            _LOG.warning("%d connections are open, which is the limit", allowed)
        self._is_full = True
        oldest = next(iter(self._silent), None)
        if oldest is None or self.traffic.connections_open > allowed:
            return False
        del self._silent[oldest]
        oldest.cancel()
        self.traffic.connections_refused += 1
        return True

    async def _serve(self, dispatcher: Answering, taken: socket.socket) -> None:
        me = asyncio.current_task()
        assert me is not None
        self._silent[me] = None
        try:
            reader, writer = await open_streams(taken)
            own = dispatcher if self._users is None else Authenticating(dispatcher, self._users)
            connection = Connection(own, self._limits, self._budget, reader, writer)
            connection.on_first_answer = lambda: self._silent.pop(me, None)
            await connection.serve()
        except OSError as error:
            _LOG.debug("a connection ended: %r", error)
        finally:
            taken.close()  # nothing to do where the streams have closed it
            self._silent.pop(me, None)
            self.traffic.connections_open -= 1

    def _count(self, header: RequestHeader) -> None:
        with self._counting:  # the worker's thread counts as well
            self.traffic.requests[header.api.name] += 1
