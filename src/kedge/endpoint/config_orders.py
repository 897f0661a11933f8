"""Orders about configs and log directories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from kedge.controller.events import UncleanElectionEnabled
from kedge.endpoint.backend import ConfigEntry, LogDirState, Resource, ResourceType
from kedge.endpoint.base import TOGETHER, Base, batched
from kedge.errors import KedgeError
from kedge.model import BrokerId, TopicPartition
from kedge.topics import Alteration, Op

_UNCLEAN = "unclean.leader.election.enable"


class ConfigOrders(Base):
    """Describe and alter what is set on topics and brokers, and where brokers keep replicas."""

    async def describe_configs(
        self, node: BrokerId, resources: Sequence[Resource]
    ) -> list[Sequence[ConfigEntry] | KedgeError]:
        """All configs of each resource. In pieces: others use the store in between, and what is
        left is not done once the caller has gone."""
        image = self.image(node)
        found: list[Sequence[ConfigEntry] | KedgeError] = []
        for some in batched(resources, TOGETHER):
            found += await self.thread.run(partial(self.configs.describe, node, some, image))
        return found

    async def alter_configs(
        self,
        node: BrokerId,
        changes: Mapping[Resource, Sequence[Alteration]],
        *,
        replace: bool,
        validate_only: bool,
    ) -> Mapping[Resource, KedgeError | None]:
        """Change configs; partitions without a leader may get one when unclean ones may lead."""
        image = self.image(node)
        alter = partial(self.configs.alter, replace=replace, validate_only=validate_only)
        outcome: dict[Resource, KedgeError | None] = {}
        for some in batched(list(changes), TOGETHER):
            part = {resource: changes[resource] for resource in some}
            outcome |= await self.thread.run(partial(alter, node, part, image))
        for resource, error in outcome.items():
            if error is None and not validate_only and any(map(_allows_unclean, changes[resource])):
                topic = resource.name if resource.type == ResourceType.TOPIC else None
                self._tell(UncleanElectionEnabled(topic))
        return outcome

    def _tell(self, event: UncleanElectionEnabled) -> None:
        """Tell all controllers; those that do not hold the role let it pass."""
        for controller in self.around.controllers.values():
            controller.put(event)

    # ---- log directories ----------------------------------------------------------------------

    async def describe_log_dirs(self, node: BrokerId) -> Sequence[LogDirState]:
        """The node's log directories."""
        return await self.thread.run(lambda: self.around.log_dirs.describe(node))

    async def move_log_dirs(
        self, node: BrokerId, moves: Mapping[TopicPartition, str]
    ) -> Mapping[TopicPartition, KedgeError | None]:
        """Move the node's replicas to other directories, each for itself."""

        def work() -> dict[TopicPartition, KedgeError | None]:
            return {tp: self._moved(node, tp, path) for tp, path in moves.items()}

        return await self.thread.run(work)

    def _moved(self, node: BrokerId, tp: TopicPartition, path: str) -> KedgeError | None:
        try:
            self.around.log_dirs.move(node, tp, path)
        except KedgeError as refusal:
            return refusal
        return None


def _allows_unclean(step: Alteration) -> bool:
    wanted = step.op is Op.SET and step.name == _UNCLEAN
    return wanted and (step.value or "").strip().lower() == "true"
