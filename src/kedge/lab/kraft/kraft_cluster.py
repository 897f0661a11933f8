"""The simulated cluster of a lab in KRaft mode: its metadata is the committed image."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kedge.brokers.disks import Disks
from kedge.lab.kraft.image_delta import ImageDelta, assignment_of, leadership_of
from kedge.lab.kraft.kraft_machine import KraftBrokerMachine
from kedge.lab.kraft.lab_quorum import LabQuorum
from kedge.lab.lab_cluster import LabCluster
from kedge.lab.settings import LabSettings
from kedge.metadata import EMPTY, Image, Topic
from kedge.metadata.topic_settings import ResourceKind
from kedge.model import Broker, BrokerId, TopicPartition
from kedge.store.tree import Transaction
from kedge.store.znodes import TopicAssignment, broker_config_path, topic_config_path

DELIVERY_MS = 1  # from a commit to a broker's fetch


class KraftLabCluster(LabCluster):
    """Brokers that follow the controllers' log. Only the lab's thread may access it.

    The store of the base class keeps what is the lab's own: the log of runs.
    """

    def __init__(
        self,
        settings: LabSettings,
        path: Path,
        journal: Path,
        cluster_id: str,
        *,
        epoch_ms: int,
        properties: dict[str, str],
        now_ms: int = 0,
    ) -> None:
        super().__init__(settings, journal, now_ms=now_ms)
        self.cluster_id = cluster_id
        self.image = EMPTY
        self.image_end = 0
        self.quorum = LabQuorum(
            settings,
            path,
            cluster_id,
            self.clock,
            self.network,
            epoch_ms=epoch_ms,
            properties=properties,
        )
        self.quorum.on_image = self._on_image
        self.quorum.on_role = self._on_role
        self._deltas: list[ImageDelta] = []

    def add_broker(self, broker: Broker, directories: tuple[str, ...]) -> KraftBrokerMachine:
        """Add a broker that is not running yet."""
        machine = KraftBrokerMachine(self, broker, Disks(directories, self.changed))
        self.machines[broker.id] = machine
        self.bandwidth.add_broker(broker.id, directories)
        return machine

    def on_commit(self, transactions: Sequence[Transaction]) -> None:
        """The store has nothing of the cluster's metadata."""

    def _on_role(self) -> None:
        """Another controller is active, or none."""
        active = self.quorum.active
        self.metadata.controller = None if active is None else BrokerId(active.id)
        if active is not None:
            self.metadata.epoch = active.node.role.epoch

    # ---- the image -------------------------------------------------------------------------------

    def _on_image(self, image: Image, end: int) -> None:
        """Project what is committed, and let the brokers read it."""
        delta = ImageDelta(self.image, image)
        self.image, self.image_end = image, end
        self._project(delta)
        self.clock.after(DELIVERY_MS, self.deliver_image)

    def deliver_image(self) -> None:
        """Every broker that reaches a controller reads what is new."""
        for machine in self.machines.values():
            assert isinstance(machine, KraftBrokerMachine)
            machine.read_log()

    def delta_from(self, before: Image) -> ImageDelta:
        """The way from a broker's image to the newest; shared by brokers with the same image."""
        for known in self._deltas:
            if known.before is before and known.after is self.image:
                return known
        self._deltas = [*self._deltas[-3:], ImageDelta(before, self.image)]
        return self._deltas[-1]

    def _project(self, delta: ImageDelta) -> None:
        for old, new in delta.topics:
            if new is not None:
                self._project_topic(old, new)
            elif old is not None:
                gone = self.metadata.topics.pop(old.name)
                for number in old.partitions:
                    self.metadata.states.pop(TopicPartition(old.name, number), None)
                self.metadata.observer.topic_gone(old.name, gone)
        if delta.before.configs is not delta.after.configs:
            self._project_configs(delta.after)

    def _project_topic(self, old: Topic | None, new: Topic) -> None:
        metadata, observer = self.metadata, self.metadata.observer
        partitions = {n: assignment_of(now) for n, now in new.partitions.items()}
        before, after = metadata.topics.get(new.name), TopicAssignment(partitions, new.id)
        metadata.topics[new.name] = after
        observer.topic_written(new.name, before, after)
        for number, now in new.partitions.items():
            if old is None or old.partitions.get(number) is not now:
                tp, state = TopicPartition(new.name, number), leadership_of(now)
                was, metadata.states[tp] = metadata.states.get(tp), state
                observer.state_written(tp, was, state)

    def _project_configs(self, image: Image) -> None:
        self.metadata.configs.clear()
        for kind, name in image.configs:
            found = dict(image.configs[kind, name])
            if kind == ResourceKind.TOPIC:
                self.metadata.configs[topic_config_path(name)] = found
            elif kind == ResourceKind.BROKER:
                broker = BrokerId(int(name)) if name else None
                self.metadata.configs[broker_config_path(broker)] = found
        self.bandwidth.set_throttles()
