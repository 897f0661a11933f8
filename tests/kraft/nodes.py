"""Controllers in virtual time: messages take a millisecond, disks are in memory, one clock."""

from __future__ import annotations

import heapq
import itertools
from dataclasses import replace
from typing import Any

from kedge.kraft import Ask, Controller, ControllerConfig, Found, Ports, Work, start
from kedge.metadata import Periods, Settings, snapshot
from kedge.metadata.brokers import RegisterBroker
from kedge.metadata.decision import ELR_FEATURE
from kedge.metadata.heartbeats import Heartbeat
from kedge.metadata.metadata_version import FEATURE, LATEST
from kedge.metadata.records import Endpoint, FeatureRange
from kedge.quorum.log import SnapshotInfo
from kedge.quorum.messages import ApiVersionsRequest, FetchSnapshotResponse
from kedge.quorum.node import Failed, Request, Response, Shutdown, SnapshotTaken, Tick
from kedge.quorum.values import (
    EpochOffset,
    QuorumConfig,
    ReplicaKey,
    Voter,
    VoterEndpoint,
    VoterSet,
)
from kedge.sim.quorum.disk import Disk
from kedge.topics import encode_id

CLUSTER = "MkU3OEVBNTcwNTJENDM2Qg"
BOOTSTRAP = {FEATURE: LATEST, ELR_FEATURE: 1, "group.version": 1, "transaction.version": 2}


def endpoint(node: int) -> VoterEndpoint:
    return VoterEndpoint("CONTROLLER", "127.0.0.1", 9000 + node)


class Quorum:
    """N voters 3001, 3002 …, each with a disk that survives `kill`."""

    def __init__(self, voters: int = 3, **changes: Any) -> None:
        self.ids = [3001 + at for at in range(voters)]
        self.now = 1_000_000
        self.disks = {node: Disk() for node in self.ids}
        self.snapshots: dict[int, dict[EpochOffset, tuple[Any, ...]]] = {n: {} for n in self.ids}
        self.running: dict[int, Controller] = {}
        self.cut_off: set[int] = set()
        self.replies: dict[int, Any] = {}
        self.notices: list[tuple[int, str]] = []
        self._changes = changes
        self._tokens = itertools.count(1)
        self._calls: dict[int, tuple[int, int]] = {}
        self._fresh = itertools.count(1000)
        self._queue: list[tuple[int, int, int, Any]] = []
        self._sequence = itertools.count()
        for node in self.ids:
            self.start(node)

    def _ports(self, node: int) -> Ports:
        draws = itertools.count(node * 7919)
        return Ports(
            draw=lambda bound: next(draws) * 31 % bound,
            new_id=lambda: encode_id((10**30 + next(self._fresh)).to_bytes(16, "big")),
            load_snapshot=lambda found: self.snapshots[node][found],
        )

    def _config(self, node: int) -> ControllerConfig:
        quorum = QuorumConfig(
            node,
            f"dir:{node}",
            CLUSTER,
            (endpoint(node),),
            "CONTROLLER",
            tuple(i for i in self.ids if i != node) or (node,),
        )
        settings = Settings(node, CLUSTER, voters=tuple(self.ids), bootstrap=BOOTSTRAP)
        config = ControllerConfig(quorum, settings, Periods(), incarnation=f"life:{node}")
        return replace(config, **self._changes)

    def start(self, node: int) -> None:
        voters = VoterSet(Voter(ReplicaKey(i), (endpoint(i),)) for i in self.ids)
        content = self.disks[node].durable
        found = Found(content.log.with_high_watermark(0), content.election, voters)
        made, work = start(self._config(node), found, self._ports(node), now_ms=self.now)
        self.running[node] = made
        self._carry_out(node, work)

    def kill(self, node: int) -> None:
        del self.running[node]
        self.disks[node].lose_power()

    def stop(self, node: int) -> None:
        self.handle(node, Shutdown())
        self.kill(node)

    def handle(self, node: int, event: Any) -> None:
        if node in self.running:
            self._carry_out(node, self.running[node].handle(event, now_ms=self.now))

    def _later(self, node: int, event: Any) -> None:
        heapq.heappush(self._queue, (self.now + 1, next(self._sequence), node, event))

    def _carry_out(self, node: int, work: Work) -> None:
        assert work.fault is None, work.fault
        self.disks[node].carry_out(tuple(work.writes))
        self.notices += [(node, notice.what) for notice in work.notices]
        for send in work.sends:
            self._send(node, send)
        for answer in work.answers:
            if answer.token in self._calls:
                caller, correlation = self._calls.pop(answer.token)
                message: Any = answer.message
                if {node, caller} & self.cut_off:
                    continue
                if isinstance(message, FetchSnapshotResponse) and message.snapshot:
                    message = message._replace(data=bytes(message.length))
                self._later(caller, Response(node, correlation, message))
            else:
                self.replies[answer.token] = answer.message
        self.replies.update((reply.token, reply.answer) for reply in work.replies)
        if work.registration and work.registration.leader in self.running:
            token = next(self._tokens)
            self._later(work.registration.leader, Ask(token, work.registration.request))
        if due := work.snapshot:
            self.snapshots[node][due.id] = snapshot(due.image)
            info = SnapshotInfo(due.id, 100)
            self.disks[node].put_snapshot(info, bytes(100))
            self._later(node, SnapshotTaken(info))

    def _send(self, node: int, send: Any) -> None:
        gone = send.peer not in self.running or {node, send.peer} & self.cut_off
        if gone or isinstance(send.message, ApiVersionsRequest):
            self._later(node, Failed(send.peer, send.correlation, send.message))
            return
        token = next(self._tokens)
        self._calls[token] = (node, send.correlation)
        self._later(send.peer, Request(token, send.message, "CONTROLLER"))

    # ---- what tests do ---------------------------------------------------------------------------

    def run(self, ms: int) -> None:
        """Let time pass, from deadline to deadline."""
        end = self.now + ms
        while True:
            due = {n: c.next_deadline(self.now) for n, c in self.running.items()}
            known = [at for at in due.values() if at is not None]
            known += [self._queue[0][0]] if self._queue else []
            if not known or min(known) > end:
                self.now = end
                return
            self.now = max(self.now, min(known))
            while self._queue and self._queue[0][0] <= self.now:
                _, _, node, event = heapq.heappop(self._queue)
                self.handle(node, event)
            for node, at in due.items():
                if at is not None and at <= self.now:
                    self.handle(node, Tick())

    def active(self) -> Controller:
        """The active controller, after as much time as an election takes."""
        for _ in range(100):
            found = [c for c in self.running.values() if c.is_active]
            if len(found) == 1:
                return found[0]
            self.run(100)
        raise AssertionError("no controller becomes active")

    def send(self, request: Any) -> int:
        """Ask the active controller; the token of the reply."""
        token = next(self._tokens)
        self.handle(self.active().config.quorum.node_id, Ask(token, request))
        return token

    def ask(self, request: Any) -> Any:
        """Ask the active controller, and wait for the reply."""
        return self.ask_node(self.active(), request)

    def ask_node(self, controller: Controller, request: Any) -> Any:
        """Ask a controller, and wait for the reply."""
        token = next(self._tokens)
        self.handle(controller.config.quorum.node_id, Ask(token, request))
        for _ in range(1000):
            if token in self.replies:
                return self.replies[token]
            self.run(10)
        raise AssertionError(f"no reply to {request}")

    def add_broker(self, broker: int) -> int:
        """Register a broker and unfence it; its epoch."""
        features = tuple(
            FeatureRange(name, low, high)
            for name, (low, high) in self.active().config.settings.features.items()
        )
        listeners = (Endpoint("PLAINTEXT", "127.0.0.1", 9092 + broker),)
        epoch = self.ask(
            RegisterBroker(
                broker,
                CLUSTER,
                f"{broker:022d}",
                listeners,
                features,
                directories=(f"{broker:02d}" + "C" * 20,),
            )
        )
        assert isinstance(epoch, int), epoch
        answer = self.ask(Heartbeat(broker, epoch, 10**9))
        assert not answer.is_fenced
        return epoch
