"""Requests of the endpoint's event loops to the controllers, which run on the lab's thread."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

from kedge.errors import MalformedMessage, RequestTimedOut
from kedge.kraft_rpc import Dispatched, Finished, dispatch
from kedge.lab.clock_thread import ClockThread
from kedge.lab.kraft.lab_quorum import LabQuorum
from kedge.model import BrokerId
from kedge.sim.broker_machine import broker_node
from kedge.sim.network import Reply

READ_MS = 3  # from a commit until a broker has read it
WAIT_S_MAX = 60.0


class QuorumClient:
    """A broker's way to the active controller."""

    def __init__(self, thread: ClockThread, quorum: LabQuorum) -> None:
        self._thread = thread
        self._quorum = quorum

    async def ask(self, broker: BrokerId, request: Any) -> Any:
        """The answer of the core."""
        return await self._on_thread(
            lambda reply: self._quorum.ask(broker_node(broker), request, reply)
        )

    async def forward(self, broker: BrokerId, payload: bytes) -> bytes:
        """The frame with which the active controller answers a client's request."""
        found = await self._on_thread(lambda reply: self._begin(broker, payload, reply))
        if isinstance(found, MalformedMessage):
            raise found
        return found

    def _begin(self, broker: BrokerId, payload: bytes, reply: Reply) -> None:
        served = self._quorum.served
        if served is None:  # all controllers are down: the broker waits for one
            self._quorum.clock.after(100, lambda: self._begin(broker, payload, reply))
            return
        try:
            self._go_on(broker, dispatch(served, payload), reply)
        except MalformedMessage as problem:
            reply(problem)

    def _go_on(self, broker: BrokerId, now: Dispatched | Finished, reply: Reply) -> None:
        if isinstance(now, Finished):
            self._quorum.clock.after(READ_MS, lambda: reply(now.frame))
            return
        self._quorum.ask(
            broker_node(broker),
            now.asks,
            lambda answer: self._go_on(broker, now.resume(answer), reply),
        )

    async def _on_thread(self, begin: Callable[[Reply], None]) -> Any:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Any] = loop.create_future()

        def take(found: Any) -> None:
            if not answer.done():
                answer.set_result(found)

        def reply(found: Any) -> None:
            with contextlib.suppress(RuntimeError):  # the event loop may be closed by now
                loop.call_soon_threadsafe(take, found)

        self._thread.post(lambda: begin(reply))
        try:
            async with asyncio.timeout(WAIT_S_MAX):
                return await answer
        except TimeoutError:
            raise RequestTimedOut("the controllers do not answer") from None
