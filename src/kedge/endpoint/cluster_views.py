"""The cluster as requests are validated against it: settings, the store, and a node's cache.

Only what a request is about is read: reading every topic would cost more than the request itself.
Each view is one or two pipelined rounds with the store.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from kedge.endpoint.metadata_caches import MetadataCache
from kedge.model import BrokerId, ReplicaAssignment
from kedge.store.port import Answer, Children, GetChildren, GetData, Node, Store
from kedge.store.znodes import (
    DELETE_TOPICS,
    TOPICS,
    broker_config_path,
    decode_config,
    topic_config_path,
)
from kedge.topics import (
    V3_9,
    AlterProposal,
    AutoCreate,
    BrokerConfigs,
    ClusterView,
    CreateProposal,
    Defaults,
    Policy,
    Release,
    TieredRules,
    TopicId,
    allow,
)

Partitions = Mapping[int, ReplicaAssignment]


@dataclass(frozen=True, slots=True)
class ClusterSettings:
    """The brokers' settings; `static` are further ones of their files, by the brokers' names."""

    defaults: Defaults = field(default_factory=Defaults)
    auto_create: AutoCreate = field(default_factory=AutoCreate)
    deletion_enabled: bool = True
    release: Release = V3_9
    tiered: TieredRules | None = None
    partitions_max: int = 200_000  # in one request: more is a mistake, or an attack
    create_policy: Policy[CreateProposal] = allow
    alter_policy: Policy[AlterProposal] = allow
    static: Mapping[str, str] = field(default_factory=dict[str, str])

    def properties(self) -> dict[str, str]:
        """The settings that differ from Kafka's defaults, as brokers have them in their files."""
        chosen = {
            "num.partitions": (self.defaults.partitions, Defaults().partitions),
            "default.replication.factor": (
                self.defaults.replication_factor,
                Defaults().replication_factor,
            ),
            "auto.create.topics.enable": (self.auto_create.enabled, True),
            "delete.topic.enable": (self.deletion_enabled, True),
        }
        changed = {name: str(now).lower() for name, (now, usual) in chosen.items() if now != usual}
        return {**changed, **self.static}


class ClusterViews:
    """Makes views of the cluster. For one thread at a time."""

    def __init__(self, store: Store, settings: Callable[[], ClusterSettings]) -> None:
        self._store = store
        self._settings = settings

    def for_topics(
        self, cache: MetadataCache, partitions: Mapping[str, Partitions] | None = None
    ) -> ClusterView:
        """For changes of topics: all names in the store, and the partitions of those given."""
        everywhere, settings = broker_config_path(None), self._settings()
        topics, marked, config = self._store.batch(
            [GetChildren(TOPICS), GetChildren(DELETE_TOPICS), GetData(everywhere)]
        )
        names = _names(topics)
        known: dict[str, Partitions] = {name: {} for name in names}
        return ClusterView(
            brokers=tuple(cache.brokers[b] for b in sorted(cache.brokers)),
            topics=known | dict(partitions or {}),
            marked=frozenset(_names(marked)),
            unseen=frozenset(name for name in names if name not in cache.topics),
            topic_ids={TopicId(i): name for i, name in cache.names_by_id.items()},
            defaults=settings.defaults,
            broker_configs=BrokerConfigs({}, _config(config, everywhere), settings.properties()),
            tiered=settings.tiered,
            deletion_enabled=settings.deletion_enabled,
            release=settings.release,
        )

    def for_configs(
        self, cache: MetadataCache, node: BrokerId, topics: Iterable[str]
    ) -> ClusterView:
        """For configs: those of these topics, with the node's own beneath them."""
        settings = self._settings()
        known = [name for name in dict.fromkeys(topics) if name in cache.topics]
        configs = self._configs([topic_config_path(name) for name in known])
        own, everywhere = self._configs([broker_config_path(node), broker_config_path(None)])
        static = {"broker.id": str(node), **settings.properties()}
        return ClusterView(
            topics={name: {} for name in known},
            configs=dict(zip(known, configs, strict=True)),
            broker_configs=BrokerConfigs(own, everywhere, static),
            tiered=settings.tiered,
            release=settings.release,
        )

    def _configs(self, paths: Sequence[str]) -> list[dict[str, str]]:
        """The configs stored at each of these paths."""
        answers = self._store.batch([GetData(path) for path in paths])
        return [_config(answer, path) for answer, path in zip(answers, paths, strict=True)]


def _names(answer: Answer) -> tuple[str, ...]:
    return answer.names if isinstance(answer, Children) else ()


def _config(answer: Answer, path: str) -> dict[str, str]:
    return decode_config(answer.data, path) if isinstance(answer, Node) else {}
