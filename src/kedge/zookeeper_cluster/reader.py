"""Reads what ZooKeeper holds of a cluster, as values of the model, in pipelined batches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kedge.cluster.port import ClusterDescription
from kedge.model import Broker, BrokerId, Leadership, ReplicaAssignment, TopicPartition
from kedge.store import znodes
from kedge.store.port import Children, GetChildren, GetData, Node, Store
from kedge.topics import ClusterView

Topics = dict[str, znodes.TopicAssignment]


class ZooKeeperReader:
    """Reads that leave no watch: each returns the state at the moment of the read."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def cluster(self) -> ClusterDescription:
        """The cluster's id, its controller and its brokers."""
        identity, claim = self.nodes([znodes.CLUSTER_ID, znodes.CONTROLLER])
        name = znodes.decode_cluster_id(identity.data) if identity else ""
        controller = znodes.decode_controller(claim.data).broker if claim else None
        return ClusterDescription(name, controller, self.brokers())

    def brokers(self) -> tuple[Broker, ...]:
        """The registered brokers, ascending."""
        paths = _broker_paths(self.children(znodes.BROKER_IDS))
        return _brokers(dict(zip(paths, self.nodes(paths.values()), strict=True)))

    def topics(self, names: Iterable[str] | None = None) -> Topics:
        """The assignments of the named topics, or of all; absent topics are left out."""
        listed = list(self.children(znodes.TOPICS) if names is None else names)
        nodes = self.nodes(map(znodes.topic_path, listed))
        return _topics(dict(zip(listed, nodes, strict=True)))

    def assignments(
        self, topics: Iterable[str] | None = None
    ) -> dict[TopicPartition, ReplicaAssignment]:
        """The replicas of every partition of the named topics, or of all."""
        return {
            TopicPartition(name, number): replicas
            for name, topic in self.topics(topics).items()
            for number, replicas in topic.partitions.items()
        }

    def states(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Leadership]:
        """Leader and ISR of the partitions that have a state node."""
        listed = list(partitions)
        nodes = self.nodes(map(znodes.state_path, listed))
        return {
            tp: znodes.decode_state(tp, node.data, node.stat.version)
            for tp, node in zip(listed, nodes, strict=True)
            if node
        }

    def configs(self, entities: Iterable[str]) -> dict[str, dict[str, str]]:
        """The configs that are set on each entity itself, such as `topics/orders`."""
        listed = list(entities)
        paths = [znodes.config_path(entity) for entity in listed]
        return {
            entity: _config(path, node)
            for entity, path, node in zip(listed, paths, self.nodes(paths), strict=True)
        }

    def view(self) -> ClusterView:
        """The cluster as the validation of topic requests needs it, in two rounds."""
        ids, names, marked = self._children_of(
            (znodes.BROKER_IDS, znodes.TOPICS, znodes.DELETE_TOPICS)
        )
        brokers = _broker_paths(ids)
        topics = {name: znodes.topic_path(name) for name in names}
        configs = {name: znodes.config_path(topic_entity(name)) for name in names}
        paths = [*brokers.values(), *topics.values(), *configs.values()]
        nodes = dict(zip(paths, self.nodes(paths), strict=True))
        found = _topics({name: nodes[path] for name, path in topics.items()})
        return ClusterView(
            brokers=_brokers({broker: nodes[path] for broker, path in brokers.items()}),
            topics={name: topic.partitions for name, topic in found.items()},
            marked=frozenset(marked),
            configs={name: _config(configs[name], nodes[configs[name]]) for name in found},
        )

    def children(self, path: str) -> tuple[str, ...]:
        """The names below a node; none where the node is absent."""
        return self._children_of([path])[0]

    def _children_of(self, paths: Sequence[str]) -> list[tuple[str, ...]]:
        answers = self._store.batch([GetChildren(path) for path in paths])
        return [answer.names if isinstance(answer, Children) else () for answer in answers]

    def node(self, path: str) -> Node | None:
        """One node; None where it is absent."""
        return self.nodes([path])[0]

    def nodes(self, paths: Iterable[str]) -> list[Node | None]:
        """Nodes in one round trip; None for each that is absent."""
        requests = [GetData(path) for path in paths]
        answers = self._store.batch(requests) if requests else []
        return [answer if isinstance(answer, Node) else None for answer in answers]


def _broker_paths(names: Iterable[str]) -> dict[BrokerId, str]:
    ids = sorted(znodes.broker_id_of(name) for name in names)
    return {broker: znodes.broker_path(broker) for broker in ids}


def _brokers(nodes: Mapping[BrokerId, Node | None]) -> tuple[Broker, ...]:
    found = ((broker, node) for broker, node in nodes.items() if node)
    return tuple(znodes.decode_broker(broker, node.data).broker for broker, node in found)


def _topics(nodes: Mapping[str, Node | None]) -> Topics:
    return {name: znodes.decode_topic(name, node.data) for name, node in nodes.items() if node}


def _config(path: str, node: Node | None) -> dict[str, str]:
    return znodes.decode_config(node.data, path) if node else {}


def topic_entity(name: str) -> str:
    """The entity that holds a topic's configs."""
    return f"topics/{name}"
