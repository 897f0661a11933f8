"""The process: one loop that feeds the machine, syncs its writes, then lets the rest go out."""

from __future__ import annotations

import asyncio
import os
import random
import struct
from collections import Counter, deque
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from kedge.errors import InvalidConfiguration, MalformedMessage
from kedge.kraft import Ask, Ports, Registration, SnapshotDue, Work, start
from kedge.kraft_rpc import Dispatched, Finished, dispatch
from kedge.kraft_rpc.raft_requests import (
    check_version,
    decode_raft_request,
    encode_raft_response,
    sends_endpoints,
)
from kedge.metadata import Image, Settings
from kedge.metadata_log import MetadataDirectory, read_bootstrap, read_meta_properties
from kedge.metadata_log.batches import AsBytes
from kedge.protocol.kraft_apis import QUORUM_APIS
from kedge.quorum.messages import (
    AddVoterRequest,
    DescribeQuorumRequest,
    RemoveVoterRequest,
    RequestMessage,
    ResponseMessage,
)
from kedge.quorum.node import (
    Event,
    Failed,
    Node,
    Request,
    Response,
    Send,
    Shutdown,
    SnapshotTaken,
    Tick,
)
from kedge.quorum.roles import Leader, Resigned
from kedge.quorum.values import EpochOffset
from kedge.service.kraft.channels import CALL_FAILED
from kedge.service.kraft.host import locked, new_id, resolves
from kedge.service.kraft.listener import Listener
from kedge.service.kraft.peers import Peers
from kedge.service.kraft.properties import ServerProperties
from kedge.service.kraft.snapshots import Snapshots
from kedge.service.process import steady_wall_clock

Note = Callable[..., None]
HAND_OVER_S = 2.0  # how long a leader that stops waits for its successors to know


class KraftService:
    """One controller of a quorum, from `start` to `stop`; everything on one event loop."""

    def __init__(self, properties: ServerProperties, *, note: Note) -> None:
        self._properties = properties
        self.note = note
        self.meta = read_meta_properties(properties.directory)
        if self.meta.node_id != properties.node_id:
            raise InvalidConfiguration(
                f"node.id is {properties.node_id}, but {properties.directory} belongs to node "
                f"{self.meta.node_id}"
            )
        self.now_ms = steady_wall_clock()
        self.requests: Counter[str] = Counter()
        self._directory = MetadataDirectory(
            properties.directory, properties.voters, now_ms=self.now_ms
        )
        self._snapshots = Snapshots(self._directory)
        self._lock = locked(properties.directory)
        self._listener = Listener(
            self._answer, lambda what, why: note(what, why=why), properties.security
        )
        self._events: deque[Event | Ask] = deque()
        self._is_feeding = self._is_closing = False
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._next_token = 0
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._stopping: asyncio.Event | None = None
        self.fault: str | None = None

    # ---- life ------------------------------------------------------------------------------------

    async def run(self, listening: Callable[[int], None] = lambda port: None) -> None:
        """Run until `request_stop`, then hand over and stop."""
        self._loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        try:
            await self._start()
            listening(self._listener.port)
            await self._stopping.wait()
            if self.fault is None:
                await self._hand_over()
        finally:
            await self._close()

    async def _start(self) -> None:
        properties, directory = self._properties, self._directory
        found = directory.open()
        features = read_bootstrap(properties.directory)
        config = properties.controller(self.meta, features, new_id())
        timeout_ms = config.quorum.request_timeout_ms
        self._peers = Peers(properties, timeout_ms=timeout_ms, note=self.note)
        ports = Ports(
            draw=random.Random().randrange,
            new_id=new_id,
            form=AsBytes(),
            load_snapshot=self._snapshots.load,
            resolves=resolves,
        )
        await self._listener.open(properties.listener.host, properties.listener.port)
        self.controller, work = start(config, found, ports, now_ms=self.now_ms())
        self._carry_out(work)
        self._feed(Tick())

    def request_stop(self) -> None:
        """Let `run` end; from the loop's own thread or a signal handler of the loop."""
        if self._stopping is not None:
            self._stopping.set()

    async def _hand_over(self) -> None:
        """A leader tells the others that it goes."""
        was_leading = isinstance(self.controller.node.role, Leader)
        alone = len(self.controller.node.voters) <= 1
        self._feed(Shutdown())
        deadline = self._loop.time() + HAND_OVER_S
        while was_leading and not alone and self._loop.time() < deadline:
            role = self.controller.node.role
            if not isinstance(role, Resigned) or not role.unacknowledged:
                return
            await asyncio.sleep(0.02)

    async def _close(self) -> None:
        self._is_closing = True  # what still arrives must not start anything
        if self._timer is not None:
            self._timer.cancel()
        await self._listener.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if hasattr(self, "_peers"):
            self._peers.close()
        self._directory.close()
        os.close(self._lock)

    # ---- what handlers may look at ---------------------------------------------------------------

    @property
    def stable(self) -> Image:
        """The committed image."""
        return self.controller.stable

    @property
    def settings(self) -> Settings:
        """The settings of the core."""
        return self.controller.config.settings

    @property
    def node(self) -> Node:
        """Raft's state."""
        return self.controller.node

    @property
    def applied(self) -> EpochOffset:
        """How far the image is."""
        return self.controller.applied

    @property
    def is_active(self) -> bool:
        """Whether this is the active controller."""
        return self.controller.is_active

    @property
    def properties(self) -> Mapping[str, str]:
        """`server.properties`."""
        return self._properties.values

    @property
    def connections(self) -> int:
        """Open connections to this node."""
        return self._listener.connections

    def read(self, request: Any) -> Any:
        """The answer to a request that only reads."""
        return self.controller.read(request)

    # ---- the loop --------------------------------------------------------------------------------

    def _feed(self, event: Event | Ask) -> None:
        """Handle an event, and those that follow from it, one after the other."""
        if self._is_closing:
            return
        self._events.append(event)
        if self._is_feeding:
            return
        self._is_feeding = True
        try:
            while self._events and self.fault is None:
                taken = self._events.popleft()
                self._snapshots.begin_event(taken)
                self._carry_out(self.controller.handle(taken, now_ms=self.now_ms()))
        except Exception as problem:  # the disk or this code failed: nothing may follow
            self._fail(repr(problem))
            raise
        finally:
            self._is_feeding = False
        self._set_timer()

    def _carry_out(self, work: Work) -> None:
        self._directory.carry_out(work.writes)
        if work.fault is not None:
            self._fail(f"{work.fault.kind}: {work.fault.reason}")
            return
        for notice in work.notices:
            self.note(notice.what, **notice.fields)
        for send in work.sends:
            self._in_background(self._send(send))
        for answer in work.answers:
            self._resolve(answer.token, answer.message)
        for reply in work.replies:
            self._resolve(reply.token, reply.answer)
        if work.snapshot is not None:
            self._take_snapshot(work.snapshot)
        if work.registration is not None:
            self._in_background(self._register(work.registration))

    def _fail(self, why: str) -> None:
        self.fault = why
        self.note("fault", why=why)
        self.request_stop()

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self.fault is not None:
            return
        now = self.now_ms()
        due = self.controller.next_deadline(now)
        if due is not None:
            self._timer = self._loop.call_later(max(0.001, (due - now) / 1000), self._tick)

    def _tick(self) -> None:
        self._timer = None
        self._feed(Tick())

    def _in_background(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _resolve(self, token: int, answer: Any) -> None:
        waiting = self._answers.pop(token, None)
        if waiting is not None and not waiting.done():
            waiting.set_result(answer)

    def _take_snapshot(self, due: SnapshotDue) -> None:
        info = self._snapshots.take(due, self.node)
        self.note("snapshot", offset=due.id.offset, epoch=due.id.epoch, bytes=info.size)
        self._events.append(SnapshotTaken(info))

    # ---- requests of this node -------------------------------------------------------------------

    async def _send(self, send: Send) -> None:
        try:
            answer = await self._peers.ask(send)
        except CALL_FAILED:
            self._feed(Failed(send.peer, send.correlation, send.message))
            return
        self._feed(Response(send.peer, send.correlation, self._snapshots.with_voters(answer)))

    async def _register(self, registration: Registration) -> None:
        leader = registration.leader
        endpoints = self.node.role.leader_endpoints or self.node.voters.endpoints(leader)
        if not endpoints:
            return
        try:
            await self._peers.register(registration, endpoints)
        except CALL_FAILED as problem:
            self.note("registration failed", leader=leader, why=repr(problem))

    # ---- requests to this node -------------------------------------------------------------------

    async def _answer(self, payload: bytes) -> bytes:
        if len(payload) < 8:
            raise MalformedMessage("a request without a header")
        key, version = struct.unpack_from(">hh", payload)
        if key in QUORUM_APIS:
            return await self._answer_raft(key, version, payload)
        found = dispatch(self, payload)
        while isinstance(found, Dispatched):
            self.requests[type(found.asks).__name__] += 1
            found = found.resume(await self._ask(found.asks))
        assert isinstance(found, Finished)
        return found.frame

    async def _answer_raft(self, key: int, version: int, payload: bytes) -> bytes:
        check_version(key, version)
        self.requests[QUORUM_APIS[key].name] += 1
        header, message = decode_raft_request(key, payload)
        listener = self._properties.listener.listener
        answer: ResponseMessage = await self._wait(
            lambda token: Request(token, message, listener, sends_endpoints(key, version))
        )
        return encode_raft_response(key, header, answer, self._directory)

    async def _ask(self, request: Any) -> Any:
        if isinstance(request, DescribeQuorumRequest | AddVoterRequest | RemoveVoterRequest):
            listener, message = self._properties.listener.listener, _as_message(request)
            return await self._wait(lambda token: Request(token, message, listener))
        return await self._wait(lambda token: Ask(token, request))

    async def _wait(self, event: Callable[[int], Event | Ask]) -> Any:
        if self.fault is not None:
            raise ConnectionAbortedError
        self._next_token += 1
        waiting: asyncio.Future[Any] = self._loop.create_future()
        self._answers[self._next_token] = waiting
        self._feed(event(self._next_token))
        return await waiting


def _as_message(
    request: DescribeQuorumRequest | AddVoterRequest | RemoveVoterRequest,
) -> RequestMessage:
    return request
