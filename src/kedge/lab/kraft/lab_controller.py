"""One controller of a lab, on the lab's thread, with its log in the lab's directory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import count
from pathlib import Path
from typing import Any, Protocol

from kedge.kraft import (
    Ask,
    Controller,
    ControllerConfig,
    Ports,
    Registration,
    SnapshotDue,
    Work,
    start,
)
from kedge.metadata import ApiError, Image, Settings, Versioned
from kedge.metadata_log import MetadataDirectory
from kedge.metadata_log.batches import AsBytes
from kedge.metadata_log.checkpoints import SnapshotVoters, records_in
from kedge.model.error_codes import ErrorCode
from kedge.quorum.messages import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    FetchSnapshotResponse,
    RequestMessage,
)
from kedge.quorum.node import Event, Failed, Node, Request, Response, Send, SnapshotTaken, Tick
from kedge.quorum.values import EpochOffset, VoterSet
from kedge.sim.clock import Clock, Timer
from kedge.sim.network import Network, Reply

LISTENER = "CONTROLLER"
ASK_TIMEOUT_MS = 10_000
RESTART_MS = 1_000


def controller_node(node: int) -> str:
    """A controller's name on the network."""
    return f"controller {node}"


class Quorum(Protocol):
    """What a controller knows of the lab around it."""

    @property
    def clock(self) -> Clock: ...
    @property
    def network(self) -> Network: ...
    @property
    def voters(self) -> VoterSet: ...
    @property
    def controllers(self) -> Mapping[int, LabController]: ...
    @property
    def draw(self) -> Callable[[int], int]: ...
    @property
    def new_id(self) -> Callable[[], str]: ...
    @property
    def properties(self) -> Mapping[str, str]: ...
    def wall_ms(self) -> int:
        """The time that records are stamped with."""
        ...

    def config_of(self, node: int) -> ControllerConfig:
        """The settings of a controller."""
        ...

    @property
    def on_role(self) -> Callable[[], None]:
        """Called when a controller may have become active, or is so no longer."""
        ...

    def on_applied(self, controller: LabController) -> None:
        """A controller has applied more of the log."""
        ...


class LabController:
    """A controller that can crash and start again. For the lab's thread.

    It is also what the handlers of requests look at (`kedge.kraft_rpc.Served`).
    """

    def __init__(self, quorum: Quorum, node: int, path: Path) -> None:
        self.id = node
        self.controller: Controller | None = None
        self.fault = ""  # why it could not write
        self._quorum = quorum
        self._path = path
        self._directory: MetadataDirectory | None = None
        self._timer: Timer | None = None
        self._tokens = count(1)
        self._waiting: dict[int, Reply] = {}
        self._arriving: FetchSnapshotResponse | None = None  # the part that is being handled
        self._applied_end = 0

    # ---- life ------------------------------------------------------------------------------------

    @property
    def is_up(self) -> bool:
        """Whether the controller runs."""
        return self.controller is not None

    def start(self) -> None:
        """Start from the directory."""
        if self.is_up:
            return
        quorum = self._quorum
        self._directory = MetadataDirectory(self._path, quorum.voters, now_ms=quorum.wall_ms)
        ports = Ports(quorum.draw, quorum.new_id, AsBytes(), self._load_snapshot)
        quorum.network.up(controller_node(self.id))
        self.controller, work = start(
            quorum.config_of(self.id), self._directory.open(), ports, now_ms=quorum.clock.now_ms
        )
        self._applied_end = 0
        self._carry_out(work)
        self.handle(Tick())

    def crash(self) -> None:
        """End at once; requests that wait here are not answered."""
        if self._directory is None:
            return
        self.controller = None
        self._waiting.clear()
        if self._timer is not None:
            self._timer.cancel()
        self._quorum.network.down(controller_node(self.id))
        self._directory.close()
        self._directory = None
        self._quorum.on_role()

    def _stop_for(self, problem: OSError) -> None:
        """A controller that cannot write stops, as Kafka's does; here it tries again by itself."""
        self.fault = f"the log of controller {self.id} cannot be written: {problem.strerror}"
        self.crash()
        self._quorum.clock.after(RESTART_MS, self._restart)

    def _restart(self) -> None:
        try:
            self.start()
            self.fault = ""
        except OSError as problem:
            self._stop_for(problem)

    # ---- what handlers look at -------------------------------------------------------------------

    @property
    def _running(self) -> Controller:
        assert self.controller is not None
        return self.controller

    @property
    def stable(self) -> Image:
        """The committed image."""
        return self._running.stable

    @property
    def settings(self) -> Settings:
        """The settings of the core."""
        return self._running.config.settings

    @property
    def node(self) -> Node:
        """Raft's state."""
        return self._running.node

    @property
    def applied(self) -> EpochOffset:
        """How far the image is."""
        return self._running.applied

    @property
    def is_active(self) -> bool:
        """Whether this is the active controller."""
        return self.controller is not None and self.controller.is_active

    @property
    def properties(self) -> Mapping[str, str]:
        """`server.properties`."""
        return self._quorum.properties

    def read(self, request: Any) -> Any:
        """The answer to a request that only reads."""
        return self._running.read(request)

    # ---- events ----------------------------------------------------------------------------------

    def handle(self, event: Event | Ask) -> None:
        """Handle an event, if the controller runs."""
        if self.controller is not None:
            self._arriving = _snapshot_part(event)
            self._carry_out(self.controller.handle(event, now_ms=self._quorum.clock.now_ms))

    def _carry_out(self, work: Work) -> None:
        controller, directory = self._running, self._directory
        assert directory is not None
        try:
            directory.carry_out(work.writes)
        except OSError as problem:
            self._stop_for(problem)
            return
        assert work.fault is None, work.fault
        if controller.applied.offset != self._applied_end:
            self._applied_end = controller.applied.offset
            self._quorum.on_applied(self)
        if work.notices:
            self._quorum.on_role()
        for send in work.sends:
            self._send(send)
        for answer in work.answers:
            self._resolve(answer.token, answer.message)
        for reply in work.replies:
            self._resolve(reply.token, reply.answer)
        if work.registration is not None:
            self._register(work.registration)
        if work.snapshot is not None:
            self._take_snapshot(work.snapshot, directory)
        self._set_timer(controller)

    def _set_timer(self, controller: Controller) -> None:
        clock = self._quorum.clock
        due = controller.next_deadline(clock.now_ms)
        if self._timer is not None:
            self._timer.cancel()
        if due is not None:
            self._timer = clock.at(max(due, clock.now_ms + 1), lambda: self.handle(Tick()))

    def _resolve(self, token: int, answer: Any) -> None:
        waiting = self._waiting.pop(token, None)
        if waiting is not None:
            waiting(answer)

    # ---- requests --------------------------------------------------------------------------------

    def ask(self, request: Any, reply: Reply) -> None:
        """Answer a request of the core; `reply` is called with the answer, once it is committed."""
        if self.controller is not None:
            self._waiting[token := next(self._tokens)] = reply
            self.handle(Ask(token, request))

    def serve(self, message: RequestMessage | ApiVersionsRequest, reply: Reply) -> None:
        """Answer a raft request."""
        if self.controller is None:
            return
        if isinstance(message, ApiVersionsRequest):
            config = self.controller.config.quorum
            versions = (config.kraft_version_min, config.kraft_version_max)
            reply(ApiVersionsResponse(kraft_versions=versions))
            return
        self._waiting[token := next(self._tokens)] = lambda answer: reply(self._with_data(answer))
        self.handle(Request(token, message, LISTENER))

    def _with_data(self, answer: Any) -> Any:
        """A part of a snapshot with its bytes."""
        if not isinstance(answer, FetchSnapshotResponse) or answer.snapshot is None:
            return answer
        assert self._directory is not None
        data = self._directory.read_snapshot(answer.snapshot, answer.position, answer.length)
        return answer._replace(data=data)

    def _send(self, send: Send) -> None:
        quorum, life = self._quorum, self._directory
        target = quorum.controllers[send.peer]

        def take(event: Event) -> None:
            if self._directory is life:
                self.handle(event)

        quorum.network.call(
            controller_node(self.id),
            controller_node(send.peer),
            lambda reply: target.serve(send.message, reply),
            lambda answer: take(Response(send.peer, send.correlation, answer)),
            lambda: take(Failed(send.peer, send.correlation, send.message)),
            timeout_ms=self._running.config.quorum.request_timeout_ms,
        )

    def _register(self, registration: Registration) -> None:
        quorum = self._quorum
        leader = quorum.controllers[registration.leader]
        quorum.network.call(
            controller_node(self.id),
            controller_node(leader.id),
            lambda reply: leader.ask(registration.request, reply),
            _ignore,
            lambda: None,
            timeout_ms=ASK_TIMEOUT_MS,
        )

    # ---- snapshots -------------------------------------------------------------------------------

    def _take_snapshot(self, due: SnapshotDue, directory: MetadataDirectory) -> None:
        info = directory.write_snapshot(due, SnapshotVoters(0, None))
        self._quorum.clock.after(1, lambda: self.handle(SnapshotTaken(info)))

    def _load_snapshot(self, snapshot_id: EpochOffset) -> Iterable[Versioned]:
        """The records of a snapshot; the last part of one that was fetched is just arriving."""
        directory, part = self._directory, self._arriving
        assert directory is not None
        if part is None or part.snapshot != snapshot_id:
            return directory.load_snapshot(snapshot_id)
        data = directory.received(snapshot_id)[: part.position] + part.data
        return records_in(data, directory.path)


def is_elsewhere(answer: Any) -> bool:
    """Whether the active controller is another one."""
    return isinstance(answer, ApiError) and answer.code is ErrorCode.NOT_CONTROLLER


def _snapshot_part(event: Event | Ask) -> FetchSnapshotResponse | None:
    found = event.message if isinstance(event, Response) else None
    return found if isinstance(found, FetchSnapshotResponse) else None


def _ignore(answer: Any) -> None:
    """A registration is repeated until the log has it."""
