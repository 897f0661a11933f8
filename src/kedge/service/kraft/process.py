"""The process: one loop that feeds the machine, syncs its writes, then lets the rest go out."""

from __future__ import annotations

import asyncio
import os
import random
import socket
import struct
from collections import Counter, deque
from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import Any

from kedge.errors import Conflict, InvalidConfiguration, MalformedMessage
from kedge.kraft import Ask, Ports, Registration, SnapshotDue, Work, start
from kedge.kraft_rpc import Dispatched, Finished, dispatch
from kedge.kraft_rpc.raft_calls import Call, call_of, response_of
from kedge.kraft_rpc.raft_requests import (
    check_version,
    decode_raft_request,
    encode_raft_response,
    sends_endpoints,
)
from kedge.metadata import Image, Settings, Versioned
from kedge.metadata_log import MetadataDirectory, read_bootstrap, read_meta_properties
from kedge.metadata_log.batches import AsBytes
from kedge.metadata_log.checkpoints import SnapshotVoters, records_in, voters_of
from kedge.protocol.controller_messages import (
    CONTROLLER_REGISTRATION_REQUEST,
    FEATURE,
    LISTENER,
)
from kedge.protocol.kraft_apis import CONTROLLER_REGISTRATION, QUORUM_APIS
from kedge.quorum.messages import (
    AddVoterRequest,
    ApiVersionsRequest,
    ApiVersionsResponse,
    DescribeQuorumRequest,
    FetchSnapshotResponse,
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
from kedge.service.kraft.channels import CALL_FAILED, Channels
from kedge.service.kraft.listener import Listener
from kedge.service.kraft.properties import ServerProperties
from kedge.service.process import steady_wall_clock
from kedge.topics import encode_id

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
        self._lock = _locked(properties)
        self._listener = Listener(
            self._answer, lambda what, why: note(what, why=why), properties.security
        )
        self._events: deque[Event | Ask] = deque()
        self._is_feeding = False
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._next_token = 0
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._stopping: asyncio.Event | None = None
        self._arriving: FetchSnapshotResponse | None = None  # in the event being handled
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
        self._channels = Channels(
            timeout_ms=config.quorum.request_timeout_ms, security=properties.security
        )
        ports = Ports(
            draw=random.SystemRandom().randrange,
            new_id=new_id,
            form=AsBytes(),
            load_snapshot=self._load_snapshot,
            resolves=_resolves,
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
        if self._timer is not None:
            self._timer.cancel()
        await self._listener.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if hasattr(self, "_channels"):
            self._channels.close()
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
        self._events.append(event)
        if self._is_feeding:
            return
        self._is_feeding = True
        try:
            while self._events and self.fault is None:
                taken = self._events.popleft()
                message = taken.message if isinstance(taken, Response) else None
                self._arriving = message if isinstance(message, FetchSnapshotResponse) else None
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
        known = [at.voters for at in self.node.voter_history if at.offset < due.id.offset]
        versions = [at.version for at in self.node.version_history if at.offset < due.id.offset]
        voters = SnapshotVoters(versions[-1] if versions else 0, known[-1] if known else None)
        info = self._directory.write_snapshot(due, voters)
        self.note("snapshot", offset=due.id.offset, epoch=due.id.epoch, bytes=info.size)
        self._events.append(SnapshotTaken(info))

    # ---- requests of this node -------------------------------------------------------------------

    async def _send(self, send: Send) -> None:
        peer, correlation, message = send.peer, send.correlation, send.message
        try:
            host, port = self._address(send)
            channel = self._channels.to(peer, host, port)
            if isinstance(message, ApiVersionsRequest):
                versions = (await channel.ask_versions()).features.get("kraft.version")
                answer: Any = ApiVersionsResponse(kraft_versions=versions)
            else:
                call = call_of(message)
                version, body = await channel.call(call)
                answer = response_of(call, version, body, self._properties.listener.listener)
        except CALL_FAILED:
            self._feed(Failed(peer, correlation, message))
            return
        self._feed(Response(peer, correlation, self._with_voters(answer)))

    def _address(self, send: Send) -> tuple[str, int]:
        if send.endpoint is not None:
            return send.endpoint.host, send.endpoint.port
        if send.peer in self._properties.bootstrap:
            return self._properties.bootstrap[send.peer]
        known = self._properties.voters.endpoints(send.peer)
        if not known:
            raise OSError(f"the address of node {send.peer} is not known")
        return known[0].host, known[0].port

    def _with_voters(self, answer: Any) -> Any:
        """The last part of a snapshot, with the voters that the whole has."""
        if not isinstance(answer, FetchSnapshotResponse) or answer.snapshot is None:
            return answer
        if answer.position + len(answer.data) < answer.size:
            return answer
        found = voters_of(self._whole(answer, answer.snapshot))
        return answer._replace(voters=found.voters, kraft_version=found.kraft_version)

    def _whole(self, last: FetchSnapshotResponse, snapshot_id: EpochOffset) -> bytes:
        return self._directory.received(snapshot_id)[: last.position] + last.data

    def _load_snapshot(self, snapshot_id: EpochOffset) -> Iterable[Versioned]:
        """A snapshot on disk, or the one whose last part the machine is just being given."""
        last = self._arriving
        if last is not None and last.snapshot == snapshot_id:
            return records_in(self._whole(last, snapshot_id), self._directory.path)
        return self._directory.load_snapshot(snapshot_id)

    async def _register(self, registration: Registration) -> None:
        request, leader = registration.request, registration.leader
        endpoints = self.node.role.leader_endpoints or self.node.voters.endpoints(leader)
        if not endpoints:
            return
        body = CONTROLLER_REGISTRATION_REQUEST(
            controller_id=request.controller,
            incarnation=request.incarnation,
            listeners=tuple(
                LISTENER(
                    name=e.name, host=e.host, port=e.port, security_protocol=e.security_protocol
                )
                for e in request.listeners
            ),
            features=tuple(
                FEATURE(
                    name=f.name, lowest=f.min_supported_version, highest=f.max_supported_version
                )
                for f in request.features
            ),
        )
        channel = self._channels.to(
            leader, endpoints[0].host, endpoints[0].port, purpose="registration"
        )
        try:
            await channel.call(Call(CONTROLLER_REGISTRATION, body))
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


def new_id() -> str:
    """A random id that is not reserved and does not begin with a dash."""
    while True:
        text = encode_id(random.SystemRandom().randbytes(16))
        if not text.startswith(("-", "A" * 20)):
            return text


def _resolves(host: str) -> bool:
    try:
        socket.getaddrinfo(host, None)
    except OSError:
        return False
    return True


def _locked(properties: ServerProperties) -> int:
    """A lock on the directory: two processes on one log would destroy it."""
    import fcntl

    handle = os.open(properties.directory / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        raise Conflict(
            f"{properties.directory} is in use by another process", hint="stop that one first"
        ) from None
    return handle
