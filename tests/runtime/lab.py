"""A cluster without data for tests of the loop: one tree, an operator, recorded brokers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kedge.brokers.recording import RecordingBrokers
from kedge.controller.events import Event, IsrChangeRequested, RequestedIsr, Started
from kedge.controller.settings import Settings
from kedge.model import (
    Broker,
    BrokerId,
    Endpoint,
    Leadership,
    Recovery,
    ReplicaAssignment,
    TopicPartition,
)
from kedge.runtime.controller_role import create_persistent_nodes
from kedge.runtime.loop import Loop
from kedge.runtime.state_log import LogEntry
from kedge.store.memory import MemoryEnsemble, MemoryStore
from kedge.store.port import Create, Delete, GetData, Node
from kedge.store.znodes import (
    BrokerRegistration,
    TopicAssignment,
    broker_path,
    decode_state,
    decode_topic,
    delete_topic_path,
    encode_broker,
    encode_topic,
    state_path,
    topic_path,
)


class Lab:
    """Brokers 1 to n, and one controller that can be replaced."""

    def __init__(self, brokers: int = 3, settings: Settings | None = None) -> None:
        self.ensemble = MemoryEnsemble()
        self.admin = MemoryStore(self.ensemble)
        self.recorder = RecordingBrokers()
        self.settings = settings or Settings()
        self.log: list[LogEntry] = []
        self.now_ms = 0
        self.drawn: list[bytes] = []  # random bytes to draw first
        self._given = 0
        create_persistent_nodes(self.admin)
        for broker in range(1, brokers + 1):
            self.start(broker)
        self.loop = self.elect(100)

    def elect(self, me: int) -> Loop:
        """A controller that runs for the role and has done what there was to do."""
        self.store = MemoryStore(self.ensemble)
        self.loop = Loop(
            BrokerId(me),
            self.store,
            self.recorder,
            now_ms=lambda: self.now_ms,
            settings=self.settings,
            log=self.log.append,
            draw_bytes=self._draw_bytes,
        )
        self.loop.put(Started())
        self.loop.run_until_idle()
        return self.loop

    def _draw_bytes(self, size: int) -> bytes:
        if self.drawn:
            return self.drawn.pop(0)
        self._given += 1
        return self._given.to_bytes(size, "big")

    # ---- what brokers and operators do --------------------------------------------------------

    def start(self, broker: int) -> None:
        endpoint = Endpoint("PLAINTEXT", "localhost", 9000 + broker)
        described = BrokerRegistration(Broker(BrokerId(broker), endpoints=(endpoint,)))
        path = broker_path(BrokerId(broker))
        self.admin.batch([Create(path, encode_broker(described), ephemeral=True)])

    def stop(self, broker: int) -> None:
        self.admin.batch([Delete(broker_path(BrokerId(broker)))])

    def create(self, topic: str, *partitions: Sequence[int]) -> None:
        assignments = {
            p: ReplicaAssignment(tuple(map(BrokerId, replicas)))
            for p, replicas in enumerate(partitions)
        }
        data = encode_topic(TopicAssignment(assignments))
        self.admin.batch([Create(topic_path(topic), data)])

    def delete(self, topic: str) -> None:
        self.admin.batch([Create(delete_topic_path(topic))])

    def settle(self) -> None:
        self.loop.run_until_idle()

    def ask(self, event: Event) -> Any:
        answers: list[Any] = []
        self.loop.put(event, answers.append)
        self.settle()
        return answers[0] if answers else None

    def alter_isr(self, where: TopicPartition, isr: Sequence[int]) -> Any:
        """The leader asks for an ISR, knowing what is stored."""
        context, now = self.loop.context, self.loop.context.leaderships[where]
        sender = context.registered.get(now.leader)
        if sender is None:
            return None
        members = tuple(map(BrokerId, isr))
        wish = RequestedIsr(members, now.leader_epoch, now.partition_epoch, Recovery.RECOVERED)
        topics = {context.topic_ids[where.topic]: {where.partition: wish}}
        return self.ask(IsrChangeRequested(now.leader, sender.epoch, topics))

    # ---- what is stored --------------------------------------------------------------------------

    def stored(self, where: TopicPartition) -> Leadership | None:
        node = self.read(state_path(where))
        return None if node is None else decode_state(where, node.data, node.stat.version)

    def assignments(self, topic: str) -> Mapping[int, ReplicaAssignment] | None:
        node = self.read(topic_path(topic))
        return None if node is None else decode_topic(topic, node.data).partitions

    def read(self, path: str) -> Node | None:
        (answer,) = self.admin.batch([GetData(path)])
        return answer if isinstance(answer, Node) else None
