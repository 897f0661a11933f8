"""A broker of a lab in KRaft mode: it registers, sends heartbeats, and follows the log."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from typing import Any, Protocol

from kedge.brokers.disks import Disks
from kedge.brokers.environment import IsrChange, IsrDecision
from kedge.brokers.simulated_broker import SimulatedBroker
from kedge.lab.kraft.image_delta import SECURITY_PROTOCOLS, ImageDelta
from kedge.lab.kraft.lab_quorum import LabQuorum
from kedge.lab.settings import LabSettings
from kedge.metadata import EMPTY, ApiError, Image
from kedge.metadata.brokers import NO_EPOCH, RegisterBroker
from kedge.metadata.decision import SUPPORTED_FEATURES
from kedge.metadata.directories import AssignDirectories, DirectoryAssignment
from kedge.metadata.heartbeats import Heartbeat
from kedge.metadata.isr_changes import AlteredPartition, AlterPartition, WantedIsr
from kedge.metadata.records import Endpoint, FeatureRange
from kedge.model import Broker, BrokerId, TopicPartition
from kedge.model.broker_requests import (
    DELETED_EPOCH,
    Sender,
    StopEntry,
    StopReplica,
    UpdateMetadata,
)
from kedge.model.error_codes import ErrorCode
from kedge.sim.broker_environment import BrokerCluster, BrokerEnvironment
from kedge.sim.broker_machine import BrokerMachine
from kedge.topics import encode_id

HEARTBEATS_PER_SESSION = 4
RETRY_MS = 500
NEWEST = 8  # the version of UpdateMetadata that has everything
_FEATURES = tuple(FeatureRange(name, low, high) for name, (low, high) in SUPPORTED_FEATURES.items())


class KraftCluster(BrokerCluster, Protocol):
    """What a broker uses of a cluster in KRaft mode."""

    lab: LabSettings
    cluster_id: str
    quorum: LabQuorum
    image: Image
    image_end: int

    def delta_from(self, before: Image) -> ImageDelta:
        """The way from a broker's image to the newest."""
        ...


class KraftBrokerMachine(BrokerMachine):
    """One broker, across restarts of its process."""

    def __init__(self, cluster: KraftCluster, broker: Broker, disks: Disks) -> None:
        super().__init__(cluster, broker, disks)
        self.kraft = cluster
        self.image = EMPTY
        self.image_end = 0
        self.on_metadata: Callable[[UpdateMetadata, bool], None] = lambda update, is_first: None
        self._incarnation = ""
        self._is_registered = False
        self._assigned: set[tuple[str, int, str]] = set()

    # ---- life ------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start a new process on the same disks."""
        if self.process is not None:
            return
        environment = KraftBrokerEnvironment(self.kraft, self)
        process = SimulatedBroker(self.broker, self.disks, environment, self.cluster.timings)
        self.process = process
        self.image, self.image_end, self._is_registered = EMPTY, 0, False
        self._assigned.clear()
        self._incarnation = self.kraft.quorum.new_id()
        self.cluster.network.up(self.node)
        self.read_log()
        self._register(process)
        self._tick_later(process)

    def crash(self, *, session_ends_ms: int = 0) -> None:
        """End the process at once; its session ends as it always does, by itself."""
        del session_ends_ms
        if self.process is not None:
            self.process.halt()
            self.process = None
            self.cluster.network.down(self.node)

    def _register(self, process: SimulatedBroker) -> None:
        """Register; again while the session of an earlier process lives."""
        if process is not self.process:
            return
        request = RegisterBroker(
            self.id,
            self.kraft.cluster_id,
            self._incarnation,
            tuple(
                Endpoint(at.listener, at.host, at.port, SECURITY_PROTOCOLS.index(at.protocol))
                for at in self.broker.endpoints
            ),
            _FEATURES,
            self.broker.rack,
            tuple(self.directory_id(path) for path in self.disks.healthy),
            NO_EPOCH,
        )

        def answered(answer: Any) -> None:
            if process is not self.process:
                return
            if isinstance(answer, int):
                process.epoch, self._is_registered = answer, True
                self._beat(process)
            else:
                self.cluster.clock.after(RETRY_MS, lambda: self._register(process))

        self.kraft.quorum.ask(self.node, request, answered)

    def _beat(self, process: SimulatedBroker) -> None:
        if process is not self.process:
            return
        pause_ms = max(1, self.kraft.lab.session_timeout_ms // HEARTBEATS_PER_SESSION)
        self._send_heartbeat(process, pause_ms)
        if self._is_fenced():
            pause_ms = min(pause_ms, RETRY_MS)
        self.cluster.clock.after(pause_ms, lambda: self._beat(process))

    def beat_now(self) -> None:
        """Send a heartbeat out of turn: a directory has failed."""
        if self.process is not None and self._is_registered:
            self._send_heartbeat(self.process, RETRY_MS)

    def _send_heartbeat(self, process: SimulatedBroker, attempts_ms: int) -> None:
        offline = tuple(map(self.directory_id, sorted(self.disks.failed)))
        beat = Heartbeat(self.id, process.epoch, self.image_end - 1, offline_directories=offline)
        self.kraft.quorum.ask(self.node, beat, _ignore, attempts_ms=attempts_ms)

    def _is_fenced(self) -> bool:
        known = self.image.brokers.get(self.id)
        return known is None or known.fenced

    def directory_id(self, path: str) -> str:
        """The id of a directory, the same at every start."""
        text = f"{self.kraft.cluster_id}/{self.id}{path}".encode()
        return encode_id(b"\x01" + sha256(text).digest()[:15])

    # ---- the log ---------------------------------------------------------------------------------

    def read_log(self) -> None:
        """Take over what is committed, unless no controller can be reached."""
        process, kraft = self.process, self.kraft
        if (
            process is None
            or self.image_end >= kraft.image_end
            or not kraft.quorum.reaches(self.node)
        ):
            return
        is_first = self.image is EMPTY
        delta = kraft.delta_from(self.image)
        self.image, self.image_end = kraft.image, kraft.image_end
        sender = Sender(self.id, 0, -1)
        update = UpdateMetadata(
            self.id, NEWEST, sender, delta.metadata, delta.topic_ids, delta.live_brokers
        )
        process.handle(update)
        if is_first:
            self._delete_strays()
        roles = delta.roles_of(self.id)
        if roles:
            ids = {tp.topic: self.image.topic_ids[tp.topic] for tp in roles}
            process.follow_image(roles, ids)
        stopped = {tp: StopEntry(DELETED_EPOCH, delete=True) for tp in delta.stopped_on(self.id)}
        if stopped:
            process.handle(StopReplica(self.id, 3, sender, stopped))
        self.on_metadata(update, is_first)
        self._report_directories(process, list(roles))

    def _delete_strays(self) -> None:
        """Logs of partitions that were moved or deleted while the broker was down."""
        for tp, log in list(self.disks.held().items()):
            topic = self.image.topic_named(tp.topic)
            now = None if topic is None else topic.partitions.get(tp.partition)
            is_own = now is not None and self.id in now.replicas
            if topic is None or not is_own or (log.topic_id and log.topic_id != topic.id):
                self.disks.delete(tp)

    def _report_directories(self, process: SimulatedBroker, tps: list[TopicPartition]) -> None:
        """Tell the controller where replicas are, if it does not know."""
        places: list[DirectoryAssignment] = []
        for tp in tps:
            topic, path = self.image.topic_named(tp.topic), self.disks.directory_of(tp)
            if topic is None or path is None or tp.partition not in topic.partitions:
                continue
            directory = self.directory_id(path)
            key = (topic.id, tp.partition, directory)
            known = topic.partitions[tp.partition].directory_of(self.id)
            if known not in (None, directory) and key not in self._assigned:
                self._assigned.add(key)
                places.append(DirectoryAssignment(directory, topic.id, tp.partition))
        if places and self._is_registered:
            request = AssignDirectories(self.id, process.epoch, tuple(places))
            self.kraft.quorum.ask(self.node, request, _ignore)


def _ignore(answer: Any) -> None:
    """The outcome is in the log."""


class KraftBrokerEnvironment(BrokerEnvironment):
    """The environment of a broker process: ISR changes go to the active controller."""

    def __init__(self, cluster: KraftCluster, machine: KraftBrokerMachine) -> None:
        super().__init__(cluster, machine)
        self._kraft = cluster
        self._machine = machine

    def propose_isr(
        self,
        change: IsrChange,
        answered: Callable[[IsrDecision], None],
        failed: Callable[[], None],
    ) -> None:
        """Send AlterPartition, with the epochs of the members as this broker knows them."""
        process, known = self._machine.process, self._machine.image.brokers
        if process is None:
            return
        isr = tuple((b, known[b].epoch if b in known else -1) for b in change.isr)
        wanted = WantedIsr(
            change.topic_id, change.tp.partition, change.leader_epoch, change.partition_epoch, isr
        )
        request = AlterPartition(self._machine.id, process.epoch, (wanted,))

        def take(answer: Any) -> None:
            if isinstance(answer, ApiError):
                self.after(RETRY_MS, failed)
            else:
                answered(_decision(answer))

        self._kraft.quorum.ask(self._machine.node, request, take)

    def announce_failed_directory(self) -> None:
        """The next heartbeat says so; it is sent at once."""
        self._machine.beat_now()


def _decision(answer: tuple[AlteredPartition, ...]) -> IsrDecision:
    only = answer[0]
    if only.error is not ErrorCode.NONE or only.state is None:
        return IsrDecision(only.error or ErrorCode.UNKNOWN_SERVER_ERROR)
    now = only.state
    return IsrDecision(ErrorCode.NONE, tuple(map(BrokerId, now.isr)), now.leader_epoch, now.epoch)
