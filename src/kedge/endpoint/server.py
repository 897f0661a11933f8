"""The endpoint: a TCP port for every node, served by one event loop."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from kedge.endpoint.backend import Backend
from kedge.endpoint.connection import Connection
from kedge.endpoint.dispatch import Answering, Dispatcher
from kedge.endpoint.limits import ByteBudget, Limits
from kedge.endpoint.quota import MutationQuota, QuotaSettings
from kedge.errors import InvalidRequest
from kedge.model import BrokerId
from kedge.protocol import RequestHeader


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
        through: Callable[[BrokerId, Dispatcher], Answering] = lambda _, own: own,
    ) -> None:
        self.traffic = Traffic()
        self._backend = backend
        self._through = through  # who stands between a node's clients and its own answers
        self._limits = limits or Limits()
        self._quota = MutationQuota(quota or QuotaSettings(), now_s)
        self._budget = ByteBudget(self._limits.buffered_bytes_max)
        self._servers: dict[BrokerId, asyncio.Server] = {}
        self._serving: dict[BrokerId, set[asyncio.Task[None]]] = {}

    async def open(
        self, node: BrokerId, host: str, port: int = 0, *, listener: str = "PLAINTEXT"
    ) -> int:
        """Listen for a node; which port it came to be."""
        if node in self._servers:
            raise InvalidRequest(f"node {node} is listening already")
        own = Dispatcher(node, self._backend, self._quota, listener=listener, answered=self._count)
        dispatcher = self._through(node, own)

        # a task of our own for each connection: asyncio complains when one of its is cancelled
        def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            connection = Connection(dispatcher, self._limits, self._budget, reader, writer)
            serving = self._serving.setdefault(node, set())
            task = asyncio.get_running_loop().create_task(self._serve(node, connection))
            serving.add(task)
            task.add_done_callback(serving.discard)

        server = await asyncio.start_server(serve, host, port)
        self._servers[node] = server
        return int(server.sockets[0].getsockname()[1])

    async def close_node(self, node: BrokerId) -> None:
        """Stop listening for a node, and end its connections, as if its process had ended."""
        server = self._servers.pop(node, None)
        if server is None:
            return
        server.close()
        serving = self._serving.pop(node, set())
        for task in serving:
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)
        await server.wait_closed()

    async def close(self) -> None:
        """Stop altogether."""
        for node in list(self._servers):
            await self.close_node(node)

    async def _serve(self, node: BrokerId, connection: Connection) -> None:
        traffic = self.traffic
        if node not in self._servers or traffic.connections_open >= self._limits.connections_max:
            traffic.connections_refused += 1
            await connection.close()
            return
        traffic.connections_open += 1
        traffic.connections_taken += 1
        try:
            await connection.serve()
        finally:
            traffic.connections_open -= 1

    def _count(self, header: RequestHeader) -> None:
        self.traffic.requests[header.api.name] += 1
