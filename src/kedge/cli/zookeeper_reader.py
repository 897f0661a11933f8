"""What ZooKeeper holds of a cluster, read as the model's values."""

from __future__ import annotations

from collections.abc import Iterable

from kedge.cluster.port import ClusterDescription
from kedge.model import Broker, Leadership, TopicPartition
from kedge.store import znodes
from kedge.store.port import Children, GetChildren, GetData, Node, Store
from kedge.topics import ClusterView

Topics = dict[str, znodes.TopicAssignment]


class ZooKeeperReader:
    """Reads that leave no watch: each answers for the moment at which it was asked."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def cluster(self) -> ClusterDescription:
        """The cluster's name, its controller and its brokers."""
        identity, claim = self.nodes([znodes.CLUSTER_ID, znodes.CONTROLLER])
        name = znodes.decode_cluster_id(identity.data) if identity else ""
        controller = znodes.decode_controller(claim.data).broker if claim else None
        return ClusterDescription(name, controller, self.brokers())

    def brokers(self) -> tuple[Broker, ...]:
        """Those that are registered."""
        ids = sorted(znodes.broker_id_of(name) for name in self.children(znodes.BROKER_IDS))
        nodes = self.nodes(znodes.broker_path(broker) for broker in ids)
        registered = zip(ids, nodes, strict=True)
        return tuple(znodes.decode_broker(b, node.data).broker for b, node in registered if node)

    def topics(self, names: Iterable[str] | None = None) -> Topics:
        """The assignments of the topics named, or of all; those that are not there are left out."""
        listed = list(self.children(znodes.TOPICS) if names is None else names)
        nodes = self.nodes(map(znodes.topic_path, listed))
        found = zip(listed, nodes, strict=True)
        return {name: znodes.decode_topic(name, node.data) for name, node in found if node}

    def states(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Leadership]:
        """The leaderships of those partitions that have one."""
        listed = list(partitions)
        nodes = self.nodes(map(znodes.state_path, listed))
        return {
            tp: znodes.decode_state(tp, node.data, node.stat.version)
            for tp, node in zip(listed, nodes, strict=True)
            if node
        }

    def config(self, entity: str) -> dict[str, str]:
        """The configs set on an entity itself."""
        path = znodes.config_path(entity)
        node = self.node(path)
        return znodes.decode_config(node.data, path) if node else {}

    def view(self) -> ClusterView:
        """What the judges of topics need to know."""
        topics = self.topics()
        return ClusterView(
            brokers=self.brokers(),
            topics={name: topic.partitions for name, topic in topics.items()},
            marked=frozenset(self.children(znodes.DELETE_TOPICS)),
            configs={name: self.config(entity_of_topic(name)) for name in topics},
        )

    def children(self, path: str) -> tuple[str, ...]:
        """The names below a node; none where it is not there."""
        (answer,) = self._store.batch([GetChildren(path)])
        return answer.names if isinstance(answer, Children) else ()

    def node(self, path: str) -> Node | None:
        """One node, if it is there."""
        return self.nodes([path])[0]

    def nodes(self, paths: Iterable[str]) -> list[Node | None]:
        """Nodes in one round trip, None where one is not there."""
        answers = self._store.batch([GetData(path) for path in paths])
        return [answer if isinstance(answer, Node) else None for answer in answers]


def entity_of_topic(name: str) -> str:
    """What a topic's configs are kept under."""
    return f"topics/{name}"
