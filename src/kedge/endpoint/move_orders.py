"""Orders for the controller itself: moves and elections."""

from __future__ import annotations

from collections.abc import Collection

from kedge.controller.events import (
    ElectionRequested,
    ElectionType,
    ReassignmentRequested,
    ReassignmentsListed,
)
from kedge.endpoint.backend import Outcomes, Reassignments, Targets
from kedge.endpoint.base import Base
from kedge.model import NO_LEADER, BrokerId, TopicPartition
from kedge.model.error_codes import ErrorCode


class MoveOrders(Base):
    """Reassign, list, elect."""

    async def alter_reassignments(
        self,
        node: BrokerId,
        targets: Targets,
        *,
        timeout_ms: int,
        may_change_replication_factor: bool,
    ) -> Outcomes:
        """Start or cancel moves."""
        refused: dict[TopicPartition, ErrorCode] = {}
        if not may_change_replication_factor:
            refused = await self._that_change_in_number(node, targets, timeout_ms)
        wanted = {tp: target for tp, target in targets.items() if tp not in refused}
        answer: Outcomes = await self.ask(node, ReassignmentRequested(wanted), timeout_ms)
        every = {**refused, **answer}
        return {tp: every[tp] for tp in targets}

    async def _that_change_in_number(
        self, node: BrokerId, targets: Targets, timeout_ms: int
    ) -> dict[TopicPartition, ErrorCode]:
        """Partitions that would have more or fewer replicas than they have now (KIP-860)."""
        moving = await self.list_reassignments(node, list(targets), timeout_ms=timeout_ms)
        image = self.image(node)
        refused: dict[TopicPartition, ErrorCode] = {}
        for tp, target in targets.items():
            entry = image.entry(tp)
            if entry is not None and target is not None:
                adding = moving[tp].adding if tp in moving else ()
                if len(target) != len(entry.replicas) - len(adding):
                    refused[tp] = ErrorCode.INVALID_REPLICATION_FACTOR
        return refused

    async def list_reassignments(
        self, node: BrokerId, partitions: Collection[TopicPartition] | None, *, timeout_ms: int
    ) -> Reassignments:
        """The moves in progress."""
        asked = None if partitions is None else frozenset(partitions)
        return await self.ask(node, ReassignmentsListed(asked), timeout_ms)

    async def elect_leaders(
        self,
        node: BrokerId,
        partitions: Collection[TopicPartition],
        kind: ElectionType,
        *,
        timeout_ms: int,
    ) -> Outcomes:
        """Elect, and wait until the node knows the new leaders."""
        event = ElectionRequested(frozenset(partitions), kind)
        outcomes: Outcomes = await self.ask(node, event, timeout_ms)
        elected = [tp for tp, code in outcomes.items() if code is ErrorCode.NONE]

        def known(tp: TopicPartition) -> bool:
            entry = self.image(node).entry(tp)
            if entry is None:
                return False
            leader = entry.leadership.leader
            if kind is ElectionType.PREFERRED:
                return leader in entry.replicas[:1]
            return leader != NO_LEADER

        if timeout_ms > 0:
            await self.waiting.until(lambda: all(map(known, elected)), timeout_ms)
        late = {
            tp: ErrorCode.REQUEST_TIMED_OUT for tp in elected if timeout_ms <= 0 or not known(tp)
        }
        return {tp: late.get(tp, outcomes[tp]) for tp in sorted(outcomes)}
