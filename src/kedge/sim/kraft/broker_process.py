"""A broker: the metadata log as an observer, and what a broker sends to the active controller.

Data is not simulated. A follower counts as caught up when it runs, can be reached, and has read the
metadata that makes it a follower of this leader epoch; the leader then asks for the ISR to follow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from kedge.kraft import ControllerConfig
from kedge.metadata import ApiError, Image, Partition, Topic
from kedge.metadata.brokers import NO_EPOCH, RegisterBroker
from kedge.metadata.directories import AssignDirectories, DirectoryAssignment
from kedge.metadata.heartbeats import Heartbeat, HeartbeatAnswer
from kedge.metadata.ids import UNASSIGNED
from kedge.metadata.isr_changes import AlterPartition, WantedIsr
from kedge.metadata.producer_ids import AllocateProducerIds, ProducerIdBlock
from kedge.metadata.records import RECOVERED, Endpoint, FeatureRange
from kedge.model.error_codes import ErrorCode
from kedge.sim.kraft.controller_process import ControllerProcess, KraftEnvironment
from kedge.sim.kraft.mutations import RULES
from kedge.sim.rng import SeededRng

HEARTBEAT_MS = 400
DIRECTORIES = 2


class BrokerProcess(ControllerProcess):
    """A broker that can be killed, paused and started again."""

    def __init__(
        self,
        cluster: KraftEnvironment,
        config: ControllerConfig,
        rng: SeededRng,
        controllers: tuple[int, ...],
    ) -> None:
        super().__init__(cluster, config, rng, RULES[""])
        self._controllers = controllers
        self._features = tuple(
            FeatureRange(name, low, high) for name, (low, high) in config.settings.features.items()
        )
        self._cluster_id = config.settings.cluster_id
        self._directories = tuple(cluster.new_id() for _ in range(DIRECTORIES))
        self._incarnation_id = ""
        self._previous_epoch = NO_EPOCH
        self._epoch_of_life: int | None = None
        self._offline: set[str] = set()
        self.wants_shutdown = False

    def start(self) -> None:
        """Start from the disk, with directories that work, and register."""
        self._incarnation_id = self.cluster.new_id()
        self._epoch_of_life, self.wants_shutdown = None, False
        self._offline.clear()
        super().start()
        self._in_a_while(self._beat)

    def kill(self) -> None:
        """End without a word: the next registration shows that the shutdown was not clean."""
        self._previous_epoch = NO_EPOCH
        super().kill()

    def fail_directory(self) -> None:
        """One directory cannot be read any more; the last one that works stays."""
        if not self._offline:
            self._offline.add(self._directories[0])

    def replace_disk(self) -> None:
        """Restart with directories that work, if one has failed."""
        if self._offline:
            self.kill()
            self.start()

    @property
    def image(self) -> Image | None:
        """What the broker has read of the log."""
        return None if self.controller is None else self.controller.stable

    def _in_a_while(self, action: Callable[[], None]) -> None:
        life = self.incarnation

        def act() -> None:
            if self.node is not None and life == self.incarnation:
                action()

        self.cluster.clock.after(self.rng.between(HEARTBEAT_MS // 2, HEARTBEAT_MS), act)

    def _beat(self) -> None:
        self._in_a_while(self._beat)
        if self.is_paused or self.controller is None:
            return
        if self._epoch_of_life is None:
            self._send_registration()
            return
        offset = self.controller.applied.offset - 1
        beat = Heartbeat(
            self.id,
            self._epoch_of_life,
            offset,
            want_shutdown=self.wants_shutdown,
            offline_directories=tuple(sorted(self._offline)),
        )
        self._request(beat, self._on_heartbeat)
        self._tend_replicas(self.controller.stable, self._epoch_of_life)

    # ------------------------------------------------------------------------------ requests

    def _request(self, request: Any, on_answer: Callable[[Any], None]) -> None:
        """Send to the leader as this broker knows it; an answer to an earlier life is dropped."""
        assert self.controller is not None
        network, life = self.cluster.network, self.incarnation
        known = self.controller.leader.leader_id
        target = self.cluster.processes[
            self.rng.pick(self._controllers) if known is None else known
        ]

        def take(answer: Any) -> None:
            if life == self.incarnation and not self.is_paused:
                on_answer(answer)

        def respond(answer: Any) -> None:
            network.carry(target.id, self.id, lambda: take(answer))

        network.carry(self.id, target.id, lambda: target.ask(request, respond))

    def _send_registration(self) -> None:
        request = RegisterBroker(
            self.id,
            self._cluster_id,
            self._incarnation_id,
            (Endpoint("PLAINTEXT", "127.0.0.1", 9000 + self.id),),
            self._features,
            directories=self._directories,
            previous_epoch=self._previous_epoch,
        )
        self._request(request, self._on_registered)

    def _on_registered(self, answer: Any) -> None:
        if isinstance(answer, int):
            self._epoch_of_life = answer

    def _on_heartbeat(self, answer: Any) -> None:
        if isinstance(answer, HeartbeatAnswer) and answer.should_shut_down:
            epoch = self._epoch_of_life
            self.kill()
            self._previous_epoch = NO_EPOCH if epoch is None else epoch
            self.cluster.clock.after(self.rng.between(50, 2_000), self._start_again)
        elif isinstance(answer, ApiError) and answer.code is not ErrorCode.NOT_CONTROLLER:
            self._epoch_of_life = None  # unregistered by the operator: register again

    def _start_again(self) -> None:
        if self.node is None:
            self.start()

    def ask_for_producer_ids(self) -> None:
        """Ask for a block, as for a new producer."""

        def on_answer(answer: Any) -> None:
            if isinstance(answer, ProducerIdBlock):
                self.cluster.checkers.on_producer_ids(self.id, answer.start)

        if self.controller is not None and self._epoch_of_life is not None:
            self._request(AllocateProducerIds(self.id, self._epoch_of_life), on_answer)

    # ------------------------------------------------------------------------------ replicas

    def _tend_replicas(self, image: Image, epoch: int) -> None:
        wanted: list[WantedIsr] = []
        places: list[DirectoryAssignment] = []
        for topic, number, now in _partitions(image):
            if self.id in now.replicas and now.directory_of(self.id) == UNASSIGNED:
                working = [d for d in self._directories if d not in self._offline]
                places.append(DirectoryAssignment(self.rng.pick(working), topic.id, number))
            if now.leader == self.id:
                wanted += self._wanted_isr(image, topic, number, now)
        if wanted:
            self._request(AlterPartition(self.id, epoch, tuple(wanted)), _ignore)
        if places:
            self._request(AssignDirectories(self.id, epoch, tuple(places)), _ignore)

    def _wanted_isr(
        self, image: Image, topic: Topic, number: int, now: Partition
    ) -> Iterator[WantedIsr]:
        """The ISR of those that have caught up, where it differs."""
        caught_up = [b for b in now.replicas if b == self.id or self._follows(b, topic, number)]
        if set(caught_up) != set(now.isr) or now.recovery != RECOVERED:
            known = image.brokers
            isr = tuple((b, known[b].epoch) for b in caught_up if b in known)
            yield WantedIsr(topic.id, number, now.leader_epoch, now.epoch, isr)

    def _follows(self, broker: int, topic: Topic, number: int) -> bool:
        other, cuts = self.cluster.processes.get(broker), self.cluster.network.cuts
        if not isinstance(other, BrokerProcess) or other.image is None or other.is_paused:
            return False
        if (self.id, broker) in cuts or (broker, self.id) in cuts:
            return False
        known = other.image.topics.get(topic.id)
        at = None if known is None else known.partitions.get(number)
        here = topic.partitions[number]
        if at is None or at.leader_epoch != here.leader_epoch:
            return False
        return other.has_directory(at.directory_of(broker))

    def has_directory(self, directory: str | None) -> bool:
        """Whether a replica in this directory can be written."""
        return directory not in self._offline


def _partitions(image: Image) -> Iterator[tuple[Topic, int, Partition]]:
    for topic_id in image.topics:
        topic = image.topics[topic_id]
        for number, now in topic.partitions.items():
            yield topic, number, now


def _ignore(answer: Any) -> None:
    """The outcome is in the log."""
