"""Real brokers over TCP: one ordered connection each.

A broker works on one request of a connection at a time and in order, so several may be on their
way at once: the next is there when the broker is done with the one before. If the connection
breaks, all that was not answered is sent again in the same order on the next one. That is safe:
epochs let a broker tell what it has done already.

A broker registers before it listens, and one that is gone stays registered until its session
ends. So a link tries again, with growing pauses, until the controller closes it.

    brokers = WireBrokers(node=BrokerId(1000), at=Address("127.0.0.1", 9090))
    link = brokers.open(broker, epoch=81)
    link.send(request, answered)
    brokers.close()
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections import Counter, deque
from collections.abc import Coroutine
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from kedge.brokers.port import Answered
from kedge.brokers.wire_forms import Address, Translator, address_of, heard
from kedge.errors import MalformedMessage
from kedge.model import Broker, BrokerId
from kedge.model.broker_requests import BrokerRequest, UpdateMetadata
from kedge.protocol import FRAME_BYTES_MAX, PREFIX_BYTES, frame_length

_LOG = logging.getLogger(__name__)

IN_FLIGHT = 8
PAUSE_S, PAUSE_S_MAX = 0.02, 0.1  # between attempts to reach a broker
CONNECT_S, ANSWER_S = 5.0, 30.0

_BROKEN = (OSError, EOFError, TimeoutError, MalformedMessage)


@dataclass(slots=True)
class WireTraffic:
    """What was said to brokers so far, by the request's name."""

    sent: Counter[str] = field(default_factory=Counter[str])
    answered: Counter[str] = field(default_factory=Counter[str])
    bytes_sent: int = 0
    connections: int = 0
    failures: int = 0


class Pending(NamedTuple):
    """A request, and who wants its answer."""

    request: BrokerRequest
    answered: Answered


class WireBrokers:
    """Links to real brokers, on one event loop with a thread of its own."""

    def __init__(
        self,
        *,
        node: BrokerId | None = None,
        at: Address | None = None,
        listener: str | None = None,
    ) -> None:
        self.traffic = WireTraffic()
        self.translator = Translator(node=node, at=at, listener=listener)
        self._listener = listener
        self._links: dict[BrokerId, WireLink] = {}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="brokers", daemon=True)
        self._thread.start()

    def open(self, broker: Broker, *, epoch: int) -> WireLink:
        """A link to a broker as it registered itself."""
        at = address_of(broker, self._listener)
        if at is None:
            # one broker that cannot be spoken to must not cost the others their controller
            _LOG.error("broker %s has no listener that Kedge can speak to", broker.id)
        link = WireLink(self, broker.id, at)
        self._links[broker.id] = link
        self.start(link, link.run())
        return link

    def slowest(self) -> BrokerId | None:
        """The connected broker with the most unanswered metadata updates.

        All brokers get the same updates in the same order, so every connected one knows at least
        what this one knows. A broker that has not had its first update yet does not count.
        """
        links = [link for link in list(self._links.values()) if link.connected and link.was_told]
        return max(links, key=lambda link: link.updates_outstanding).broker if links else None

    def outstanding(self) -> dict[BrokerId, int]:
        """How many requests each broker has yet to answer."""
        return {broker: link.outstanding for broker, link in sorted(self._links.items())}

    def close(self) -> None:
        """Give all brokers up, and end the thread."""
        for link in list(self._links.values()):
            link.close()
        asyncio.run_coroutine_threadsafe(_let_end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    # ---- for links ------------------------------------------------------------------------------

    def start(self, link: WireLink, running: Coroutine[Any, Any, None]) -> None:
        """Let a link run."""

        def begin() -> None:
            link.task = self._loop.create_task(running)
            if link.closed:
                link.task.cancel()

        self._loop.call_soon_threadsafe(begin)

    def call_soon(self, link: WireLink) -> None:
        """Tell a link that there is something to do."""
        with contextlib.suppress(RuntimeError):  # the loop has ended: so have its links
            self._loop.call_soon_threadsafe(link.wake)

    def forget(self, link: WireLink) -> None:
        """A link is closed."""
        if self._links.get(link.broker) is link:
            del self._links[link.broker]


async def _let_end() -> None:
    """Wait until the tasks that were cancelled are over."""
    others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    await asyncio.gather(*others, return_exceptions=True)


class WireLink:
    """The way to one registration of a broker."""

    def __init__(self, brokers: WireBrokers, broker: BrokerId, at: Address | None) -> None:
        self.broker = broker
        self.connected = False
        self.closed = False
        self.task: asyncio.Task[None] | None = None
        self._brokers = brokers
        self._at = at
        self._waiting: deque[Pending] = deque()
        self._flying: deque[tuple[int, Pending]] = deque()
        self._changed = asyncio.Event()
        self._correlation = 0
        self._updates_sent = 0  # UpdateMetadata; each of the two counts has one writer
        self._updates_taken = 0

    @property
    def was_told(self) -> bool:
        """Whether the broker has taken any metadata from us."""
        return self._updates_taken > 0

    @property
    def updates_outstanding(self) -> int:
        """How many changes of metadata are not answered yet."""
        return self._updates_sent - self._updates_taken

    @property
    def outstanding(self) -> int:
        """How many requests are not answered yet."""
        return len(self._waiting) + len(self._flying)

    # ---- from any thread ----------------------------------------------------------------------

    def send(self, request: BrokerRequest, answered: Answered) -> None:
        """Queue a request; `answered` is called on the thread of the links."""
        self._updates_sent += isinstance(request, UpdateMetadata)
        self._waiting.append(Pending(request, answered))
        self._brokers.call_soon(self)

    def close(self) -> None:
        """Give the broker up; requests not yet answered are dropped."""
        self.closed = True
        self._brokers.forget(self)
        self._brokers.call_soon(self)

    # ---- on the thread of the links -------------------------------------------------------------

    def wake(self) -> None:
        """Something was queued, or the link was closed."""
        if self.closed and self.task is not None and not self.task.cancelling():
            self.task.cancel()  # once: a second time would disturb the tidying up after the first
        self._changed.set()

    async def run(self) -> None:
        """Keep a connection until the link is closed."""
        pause_s = PAUSE_S
        while True:
            answered = self._brokers.traffic.answered.total()
            try:
                await self._serve()
            except _BROKEN as broken:
                _LOG.debug("broker %s: %r", self.broker, broken)
            self._send_again()
            self._brokers.traffic.failures += 1
            heard_something = self._brokers.traffic.answered.total() > answered
            pause_s = PAUSE_S if heard_something else min(pause_s * 2, PAUSE_S_MAX)
            await asyncio.sleep(pause_s)

    def _send_again(self) -> None:
        """What was not answered goes to the front, in its order."""
        self._waiting.extendleft(pending for _, pending in reversed(self._flying))
        self._flying.clear()

    async def _serve(self) -> None:
        if self._at is None:
            raise ConnectionRefusedError("the broker has no address")
        async with asyncio.timeout(CONNECT_S):
            reader, writer = await asyncio.open_connection(*self._at)
        self._brokers.traffic.connections += 1
        sending = asyncio.ensure_future(self._write(writer))
        reading = asyncio.ensure_future(self._read(reader))
        try:
            self.connected = True
            done, _ = await asyncio.wait({sending, reading}, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            self.connected = False
            sending.cancel()
            reading.cancel()
            writer.transport.abort()
            await asyncio.gather(sending, reading, return_exceptions=True)
            with contextlib.suppress(OSError):
                await writer.wait_closed()  # the loop may end with this task

    async def _write(self, writer: asyncio.StreamWriter) -> None:
        traffic, translator = self._brokers.traffic, self._brokers.translator
        while True:
            while self._waiting and len(self._flying) < IN_FLIGHT:
                pending = self._waiting.popleft()
                self._correlation = (self._correlation + 1) & 0x7FFFFFFF
                # on record before it is sent: the answer may be there before we look again
                self._flying.append((self._correlation, pending))
                frame = translator.frame(pending.request, self._correlation)
                traffic.sent[type(pending.request).__name__] += 1
                traffic.bytes_sent += len(frame)
                writer.write(frame)
                await writer.drain()
            self._changed.clear()
            if not self._waiting or len(self._flying) >= IN_FLIGHT:
                await self._changed.wait()

    async def _read(self, reader: asyncio.StreamReader) -> None:
        while True:
            prefix = await self._prefix(reader)
            size = frame_length(prefix, bytes_max=4 * FRAME_BYTES_MAX)
            async with asyncio.timeout(ANSWER_S):
                payload = await reader.readexactly(size)
            self._take(payload)

    async def _prefix(self, reader: asyncio.StreamReader) -> bytes:
        """The beginning of an answer. A broker may be silent for long, unless it was asked."""
        while True:
            asked = self._flying[0][0] if self._flying else None
            try:
                async with asyncio.timeout(ANSWER_S):
                    return await reader.readexactly(PREFIX_BYTES)
            except TimeoutError:
                if asked is not None and self._flying and self._flying[0][0] == asked:
                    raise

    def _take(self, payload: bytes) -> None:
        if not self._flying:
            raise MalformedMessage(f"broker {self.broker} sent an answer to no request of ours")
        expected, pending = self._flying[0]
        correlation, answer = heard(pending.request, payload)
        if correlation != expected:
            raise MalformedMessage(f"answer {correlation} where {expected} was expected")
        self._flying.popleft()
        self._changed.set()
        self._brokers.traffic.answered[type(pending.request).__name__] += 1
        # counted first: the reader that the answer wakes may read the count
        self._updates_taken += isinstance(pending.request, UpdateMetadata)
        pending.answered(answer)
