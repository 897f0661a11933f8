"""Access to one cluster: its settings, store, metadata caches, and controllers of this process.

Requests are validated against views of the cluster. Only what a request is about is read: reading
every topic would cost more than the request itself. Each view is one or two pipelined rounds with
the store.
"""

from __future__ import annotations

import random
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kedge.controller.events import (
    ElectionRequested,
    Event,
    ReassignmentRequested,
    ReassignmentsListed,
)
from kedge.endpoint.log_dirs import LogDirs
from kedge.endpoint.metadata_caches import MetadataCache, MetadataCaches
from kedge.endpoint.threads import ChangeNotifier, Controller, StoreThread, ask_controller
from kedge.errors import NotController
from kedge.model import BrokerId, ReplicaAssignment
from kedge.model.error_codes import ErrorCode
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

ANSWER_MS = 10_000  # for the controller to take an event from its queue and process it

ControllerRequest = ReassignmentRequested | ReassignmentsListed | ElectionRequested
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


@dataclass(frozen=True, slots=True)
class Rng:
    """Sources of random numbers below a bound, and of random bytes."""

    draw: Callable[[int], int]
    draw_bytes: Callable[[int], bytes]


def system_rng() -> Rng:
    """Random numbers and bytes of the operating system."""
    return Rng(random.SystemRandom().randrange, secrets.token_bytes)


@dataclass(frozen=True, slots=True)
class BackendDeps:
    """What a backend needs. The controllers are those that run in this process, by the node that
    each one is; at most one of them is active."""

    store: Store
    caches: MetadataCaches
    controllers: Mapping[BrokerId, Controller]
    log_dirs: LogDirs
    cluster_id: str
    storage_fault: Callable[[], str] = str  # why nothing can be stored now; empty if it can


class ClusterAccess:
    """What all requests to a cluster use. To be closed; the store is not."""

    def __init__(
        self,
        deps: BackendDeps,
        *,
        settings: ClusterSettings | None = None,
        rng: Rng | None = None,
    ) -> None:
        self.deps = deps
        self.settings = settings or ClusterSettings()  # may be replaced at any time
        self.rng = rng or system_rng()
        self.store = deps.store
        self.changes = ChangeNotifier()
        self.thread = StoreThread(deps.store)
        self.views = ClusterViews(deps.store, self._current_settings)
        deps.caches.listen(self.changes.notify)

    def close(self) -> None:
        """End the store's thread."""
        self.thread.close()

    def _current_settings(self) -> ClusterSettings:
        return self.settings

    @property
    def cluster_id(self) -> str:
        """The cluster's id."""
        return self.deps.cluster_id

    def cache(self, node: BrokerId) -> MetadataCache:
        """A node's metadata cache as it is now."""
        return self.deps.caches.cache(node)

    def storage_fault(self) -> str:
        """Why nothing can be stored now; empty if it can."""
        return self.deps.storage_fault()

    def is_controller(self, node: BrokerId) -> bool:
        """Whether a node is the active controller."""
        controller = self.deps.controllers.get(node)
        return controller is not None and controller.view.active

    def put_to_controllers(self, event: Event) -> None:
        """Queue an event at all controllers; those that are not active ignore it."""
        for controller in self.deps.controllers.values():
            controller.put(event)

    async def ask(self, node: BrokerId, request: ControllerRequest, timeout_ms: int) -> Any:
        """The answer of the controller on this node. The request's own time bounds only what is
        waited for after that: as in Kafka, a request without time is answered."""
        controller = self.deps.controllers.get(node)
        if controller is None:
            raise NotController(f"broker {node} is not the controller")
        answer = await ask_controller(controller, request, max(timeout_ms, ANSWER_MS))
        if isinstance(answer, ErrorCode):
            raise NotController(f"broker {node} is not the controller any more")
        return answer
