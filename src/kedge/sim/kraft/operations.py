"""The random requests of the operator, made from what is committed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kedge.metadata import Image, Topic
from kedge.metadata.brokers import UnregisterBroker
from kedge.metadata.configs import AlterConfigs
from kedge.metadata.elections import ElectLeaders
from kedge.metadata.more_partitions import CreatePartitions, MorePartitions
from kedge.metadata.reassignments import AlterReassignments, ReassignmentOrder
from kedge.metadata.topics import CreateTopics, DeleteTopics, NewTopicRequest
from kedge.sim.kraft.cluster import KraftCluster
from kedge.sim.rng import SeededRng
from kedge.topics import Alteration

WEIGHTS = {
    "create": 6,
    "expand": 2,
    "configure": 3,
    "reassign": 6,
    "cancel": 2,
    "elect": 3,
    "delete": 2,
    "unregister": 1,
    "producer ids": 3,
    "controlled shutdown": 2,
    "directory failure": 1,
    "read": 3,
}
PARTITIONS_MAX = 4
TOPICS_MAX = 8


class Operations:
    """Draws operations and carries them out; the answers are the checkers' business."""

    def __init__(self, cluster: KraftCluster, rng: SeededRng) -> None:
        self._cluster = cluster
        self._rng = rng
        self._names = 0

    def perform(self) -> str:
        """One operation; its kind."""
        kind = self._rng.weighted(WEIGHTS)
        rng, cluster, image = self._rng, self._cluster, self._cluster.checkers.image
        broker = rng.pick(list(cluster.brokers.values()))
        match kind:
            case "producer ids":
                broker.ask_for_producer_ids()
            case "controlled shutdown":
                broker.wants_shutdown = True
            case "directory failure":
                broker.fail_directory()
            case "read":
                cluster.read()
            case _:
                request = self._request(kind, image)
                if request is not None:
                    cluster.ask(request, _ignore)
        return kind

    def new_topic(self) -> CreateTopics:
        """A topic of a name that was never used."""
        self._names += 1
        factor = self._rng.between(1, min(3, len(self._cluster.brokers)))
        configs = {"min.insync.replicas": "2"} if self._rng.draw(3) == 0 else {}
        new = NewTopicRequest(
            f"topic{self._names}", self._rng.between(1, PARTITIONS_MAX), factor, (), configs
        )
        return CreateTopics((new,))

    def _request(self, kind: str, image: Image) -> Any:
        rng = self._rng
        topics = [image.topics[topic_id] for topic_id in sorted(image.topics)]
        if not topics or (kind == "create" and len(topics) < TOPICS_MAX):
            return self.new_topic()
        topic = rng.pick(topics)
        match kind:
            case "create" | "delete":
                return DeleteTopics((topic.id,))
            case "expand":
                wanted = MorePartitions(topic.name, len(topic.partitions) + 1)
                return CreatePartitions((wanted,))
            case "configure":
                return self._configure(topic)
            case "reassign":
                return AlterReassignments(tuple(self._moves(topic)))
            case "cancel":
                return AlterReassignments(tuple(_cancels(image)))
            case "elect":
                return ElectLeaders(rng.draw(2))
            case _:
                return UnregisterBroker(rng.pick(list(self._cluster.brokers)))

    def _configure(self, topic: Topic) -> AlterConfigs:
        key, values = self._rng.pick(
            [
                ("min.insync.replicas", ["1", "2"]),
                ("unclean.leader.election.enable", ["true", "false"]),
                ("retention.ms", ["1000", "60000"]),
            ]
        )
        return AlterConfigs((((2, topic.name), (Alteration(key, value=self._rng.pick(values)),)),))

    def _moves(self, topic: Topic) -> Iterator[ReassignmentOrder]:
        brokers = list(self._cluster.brokers)
        for number in topic.partitions:
            factor = self._rng.between(1, len(brokers))
            yield ReassignmentOrder(
                topic.name, number, tuple(self._rng.sample(brokers, min(3, factor)))
            )


def _cancels(image: Image) -> Iterator[ReassignmentOrder]:
    for topic_id, number in sorted(image.indexes.reassigning):
        yield ReassignmentOrder(image.topics[topic_id].name, number, None)


def _ignore(answer: Any) -> None:
    """Whether an answer may be given is checked where it is given."""
