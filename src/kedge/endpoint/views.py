"""The cluster as judges see it, made of the store and of what a node knows.

Only what a request is about is read: reading every topic would cost more than any request is
worth. Each view is one or two pipelined rounds with the store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from kedge.endpoint.images import Image
from kedge.endpoint.settings import ClusterSettings
from kedge.model import BrokerId, ReplicaAssignment
from kedge.store.port import Answer, Children, GetChildren, GetData, Node, Store
from kedge.store.znodes import (
    DELETE_TOPICS,
    TOPICS,
    broker_config_path,
    decode_config,
    topic_config_path,
)
from kedge.topics import BrokerConfigs, ClusterView, TopicId

Partitions = Mapping[int, ReplicaAssignment]
Configs = Mapping[str, str]


class Views:
    """Makes views. For one thread at a time."""

    def __init__(self, store: Store, settings: Callable[[], ClusterSettings]) -> None:
        self._store = store
        self._settings = settings

    def of_topics(
        self, image: Image, partitions: Mapping[str, Partitions] | None = None
    ) -> ClusterView:
        """For judging topics: all names in the store, and the partitions of those given."""
        everywhere = broker_config_path(None)
        topics, marked, config = self._store.batch(
            [GetChildren(TOPICS), GetChildren(DELETE_TOPICS), GetData(everywhere)]
        )
        names = _names(topics)
        known: dict[str, Partitions] = {name: {} for name in names}
        return ClusterView(
            brokers=tuple(image.brokers[b] for b in sorted(image.brokers)),
            topics=known | dict(partitions or {}),
            marked=frozenset(_names(marked)),
            unseen=frozenset(name for name in names if name not in image.topics),
            topic_ids={TopicId(i): name for i, name in image.names_by_id.items()},
            defaults=self._settings().defaults,
            broker_configs=BrokerConfigs({}, _config(config, everywhere), self._static()),
            tiered=self._settings().tiered,
            deletion_enabled=self._settings().deletion_enabled,
            release=self._settings().release,
        )

    def of_configs(self, image: Image, node: BrokerId, topics: Iterable[str]) -> ClusterView:
        """For configs: those of these topics, with the node's own beneath them."""
        known = [name for name in dict.fromkeys(topics) if name in image.topics]
        configs = self.configs([topic_config_path(name) for name in known])
        return ClusterView(
            topics={name: {} for name in known},
            configs=dict(zip(known, configs, strict=True)),
            broker_configs=self.broker_configs(node),
            tiered=self._settings().tiered,
            release=self._settings().release,
        )

    def broker_configs(self, broker: BrokerId) -> BrokerConfigs:
        """What is set on a broker, in all layers."""
        own, everywhere = self.configs([broker_config_path(broker), broker_config_path(None)])
        return BrokerConfigs(own, everywhere, {"broker.id": str(broker), **self._static()})

    def configs(self, paths: Sequence[str]) -> list[dict[str, str]]:
        """What is stored at each of these paths."""
        answers = self._store.batch([GetData(path) for path in paths])
        return [_config(answer, path) for answer, path in zip(answers, paths, strict=True)]

    def _static(self) -> dict[str, str]:
        return self._settings().properties()


def _names(answer: Answer) -> tuple[str, ...]:
    return answer.names if isinstance(answer, Children) else ()


def _config(answer: Answer, path: str) -> dict[str, str]:
    return decode_config(answer.data, path) if isinstance(answer, Node) else {}
