"""An operator of the simulated cluster: reads its state and writes to the store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kedge.errors import KedgeError
from kedge.model import BrokerId, TopicPartition
from kedge.sim.checked_cluster import CheckedCluster
from kedge.sim.rng import SeededRng
from kedge.store.port import Answer, GetData, Node, Request
from kedge.store.znodes import (
    DEFAULT_ENTITY,
    REASSIGN_PARTITIONS,
    decode_reassignments,
)
from kedge.topic_changes import change_configs
from kedge.topics import Alteration, ClusterView, Op, validate_alter

OPERATOR = "operator"


class Operator:
    """A session of the store, and the generator of random operations."""

    def __init__(self, cluster: CheckedCluster, rng: SeededRng) -> None:
        self.cluster = cluster
        self.rng = rng
        self.store = cluster.new_session()

    # ---- reading ----

    def view(self) -> ClusterView:
        """The cluster as a broker that serves admin requests sees it."""
        metadata = self.cluster.metadata
        return ClusterView(
            brokers=tuple(self.cluster.machines[b].broker for b in self.live()),
            topics={name: topic.partitions for name, topic in metadata.topics.items()},
            marked=frozenset(metadata.deletions),
            configs={name: metadata.topic_config(name) for name in metadata.topics},
        )

    def live(self) -> list[BrokerId]:
        """The brokers that are registered."""
        return self.cluster.registered()

    def partitions(self) -> list[TopicPartition]:
        """The partitions of topics that are not being deleted."""
        deletions = self.cluster.metadata.deletions
        return [tp for tp in self.cluster.metadata.partitions() if tp.topic not in deletions]

    def pick_topic(self) -> str | None:
        """A random topic that is not being deleted; None if there is none."""
        names = sorted(self.cluster.metadata.topics.keys() - self.cluster.metadata.deletions)
        return self.rng.pick(names) if names else None

    def write(self, *requests: Request) -> None:
        """Write to the store; the first error is raised."""
        for answer in self.batch(requests):
            if isinstance(answer, KedgeError):
                raise answer

    def batch(self, requests: Sequence[Request]) -> list[Answer]:
        """Send requests to the store as the operator."""
        return self.cluster.batch(OPERATOR, self.store, requests)

    def plan(self) -> dict[TopicPartition, tuple[BrokerId, ...]]:
        """The moves in `/admin/reassign_partitions`."""
        answer = self.batch([GetData(REASSIGN_PARTITIONS)])[0]
        return decode_reassignments(answer.data) if isinstance(answer, Node) else {}

    # ---- configs ----

    def unset(self, entity: str, now: dict[str, str], names: tuple[str, ...]) -> None:
        """Remove configs by name."""
        left = {name: value for name, value in now.items() if name not in names}
        if left != now:
            self.configure(entity, left)

    def set_broker(self, broker: BrokerId | None, settings: dict[str, str]) -> None:
        """Set configs of a broker; with None, the cluster-wide defaults."""
        now = self.cluster.metadata.broker_config(broker)
        self.configure(f"brokers/{DEFAULT_ENTITY if broker is None else broker}", now | settings)

    def set_topic(self, topic: str, settings: dict[str, str]) -> None:
        """Set configs of a topic."""
        steps = [Alteration(name, Op.SET, value) for name, value in settings.items()]
        self.configure(f"topics/{topic}", validate_alter(topic, steps, self.view()).configs)

    def configure(self, entity: str, settings: Mapping[str, str]) -> None:
        """Store configs, then create the change notification."""
        change_configs(self.batch, {entity: settings})
