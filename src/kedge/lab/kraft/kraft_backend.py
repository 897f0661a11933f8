"""What the endpoint's own handlers need in KRaft mode: reads, from the committed image."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from kedge.endpoint import BackendDeps, ClusterSettings, ControllerBackend, MetadataCache, Rng
from kedge.endpoint.cluster_access import ClusterAccess, ClusterViews, Partitions
from kedge.endpoint.topic_requests import Charging, TopicRequests
from kedge.errors import KedgeError, LeaderNotAvailable, UnknownTopicOrPartition
from kedge.lab.kraft.quorum_client import QuorumClient
from kedge.metadata import Image
from kedge.metadata.topic_settings import ResourceKind
from kedge.metadata.topics import CreateTopics, NewTopicRequest
from kedge.model import BrokerId
from kedge.store.port import Store
from kedge.topics import BrokerConfigs, ClusterView, CreateRequest


class ImageViews(ClusterViews):
    """Views of the cluster from the image. From any thread: images are values."""

    def __init__(
        self, store: Store, settings: Callable[[], ClusterSettings], image: Callable[[], Image]
    ) -> None:
        super().__init__(store, settings)
        self._image = image
        self._chosen = settings

    def for_topics(
        self, cache: MetadataCache, partitions: Mapping[str, Partitions] | None = None
    ) -> ClusterView:
        """Changes of topics are forwarded."""
        raise AssertionError("the controller validates changes of topics")

    def for_configs(
        self, cache: MetadataCache, node: BrokerId, topics: Iterable[str]
    ) -> ClusterView:
        """For configs: those of these topics, with the node's own beneath them."""
        settings, image = self._chosen(), self._image()
        known = [name for name in dict.fromkeys(topics) if name in cache.topics]
        own = image.config((ResourceKind.BROKER, str(node)))
        everywhere = image.config((ResourceKind.BROKER, ""))
        static = {"broker.id": str(node), "node.id": str(node), **settings.properties()}
        return ClusterView(
            topics={name: {} for name in known},
            configs={name: dict(image.config((ResourceKind.TOPIC, name))) for name in known},
            broker_configs=BrokerConfigs(dict(own), dict(everywhere), static),
            release=settings.release,
        )


class ForwardedTopics(TopicRequests):
    """Topics that brokers create on their own, by a request to the controller."""

    def __init__(self, cluster: ClusterAccess, client: QuorumClient) -> None:
        super().__init__(cluster)
        self._client = client

    async def _create_without_waiting(
        self, node: BrokerId, wanted: Sequence[CreateRequest], charge: Charging
    ) -> dict[str, KedgeError]:
        if not wanted:
            return {}
        topics = tuple(
            NewTopicRequest(r.name, r.partitions, r.replication_factor, (), dict(r.configs))
            for r in wanted
        )
        await self._client.ask(node, CreateTopics(topics))
        return {r.name: self._answer(node, r.name) for r in wanted}

    def _answer(self, node: BrokerId, topic: str) -> KedgeError:
        if topic in self._cluster.cache(node).topics:
            return LeaderNotAvailable(f"topic {topic} is being created", hint="try again")
        return UnknownTopicOrPartition(f"no topic {topic!r} yet", hint="try again")


class KraftBackend(ControllerBackend):
    """Answers reads; every node counts as the controller, since each forwards."""

    def __init__(
        self,
        deps: BackendDeps,
        client: QuorumClient,
        image: Callable[[], Image],
        *,
        settings: ClusterSettings,
        rng: Rng,
    ) -> None:
        super().__init__(deps, settings=settings, rng=rng)
        self.views = ImageViews(deps.store, self._current_settings, image)
        self.topics = ForwardedTopics(self, client)

    def is_controller(self, node: BrokerId) -> bool:
        """Every broker takes the requests of the controller, and forwards them."""
        return True
