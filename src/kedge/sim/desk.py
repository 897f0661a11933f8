"""Where an operator sits: what is to be seen of the cluster, and how the store is written to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from kedge.errors import KedgeError
from kedge.model import BrokerId, TopicPartition
from kedge.sim.seeds import Luck
from kedge.store.port import Answer, GetData, Node, Request
from kedge.store.znodes import (
    DEFAULT_ENTITY,
    REASSIGN_PARTITIONS,
    decode_reassignments,
)
from kedge.topic_changes import change_configs
from kedge.topics import Alteration, ClusterView, Op, validate_alter

if TYPE_CHECKING:
    from kedge.sim.world import World

OPERATOR = "operator"


class Desk:
    """A session of the store, the luck of a run, and the world to look at."""

    def __init__(self, world: World, luck: Luck) -> None:
        self.world = world
        self.luck = luck
        self.store = world.new_session(OPERATOR)

    # ---- seeing ----

    def view(self) -> ClusterView:
        """The cluster as a broker that serves admin requests sees it."""
        truth = self.world.truth
        return ClusterView(
            brokers=tuple(self.world.machines[b].broker for b in self.live()),
            topics={name: topic.partitions for name, topic in truth.topics.items()},
            marked=frozenset(truth.deletions),
            configs={name: truth.topic_config(name) for name in truth.topics},
        )

    def live(self) -> list[BrokerId]:
        """The brokers that are registered."""
        return self.world.registered()

    def partitions(self) -> list[TopicPartition]:
        """The partitions of topics that stay."""
        deletions = self.world.truth.deletions
        return [tp for tp in self.world.truth.partitions() if tp.topic not in deletions]

    def pick_topic(self) -> str | None:
        """One of the topics that stay, if there are any."""
        names = sorted(self.world.truth.topics.keys() - self.world.truth.deletions)
        return self.luck.pick(names) if names else None

    def write(self, *requests: Request) -> None:
        """Write to the store; the first refusal is raised."""
        for answer in self.batch(requests):
            if isinstance(answer, KedgeError):
                raise answer

    def batch(self, requests: Sequence[Request]) -> list[Answer]:
        """The store's answers to the operator's requests."""
        return self.world.batch(OPERATOR, self.store, requests)

    def plan(self) -> dict[TopicPartition, tuple[BrokerId, ...]]:
        """The moves that are left in the store, as old tools did."""
        answer = self.batch([GetData(REASSIGN_PARTITIONS)])[0]
        return decode_reassignments(answer.data) if isinstance(answer, Node) else {}

    # ---- configs ----

    def unset(self, entity: str, now: dict[str, str], names: tuple[str, ...]) -> None:
        """Store configs without these names."""
        left = {name: value for name, value in now.items() if name not in names}
        if left != now:
            self.configure(entity, left)

    def set_broker(self, broker: BrokerId | None, settings: dict[str, str]) -> None:
        """Set configs of a broker, or what holds for all."""
        now = self.world.truth.broker_config(broker)
        self.configure(f"brokers/{DEFAULT_ENTITY if broker is None else broker}", now | settings)

    def set_topic(self, topic: str, settings: dict[str, str]) -> None:
        """Set configs of a topic."""
        steps = [Alteration(name, Op.SET, value) for name, value in settings.items()]
        self.configure(f"topics/{topic}", validate_alter(topic, steps, self.view()).configs)

    def configure(self, entity: str, settings: Mapping[str, str]) -> None:
        """Store configs, then leave the note that tells of it."""
        change_configs(self.batch, {entity: settings})
