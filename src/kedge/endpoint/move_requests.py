"""Requests to move replicas between brokers and directories, and to elect leaders."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from kedge.controller.events import (
    ElectionRequested,
    ElectionType,
    ReassignmentRequested,
    ReassignmentsListed,
)
from kedge.endpoint.cluster_access import ClusterAccess
from kedge.endpoint.log_dirs import LogDirState
from kedge.errors import KedgeError
from kedge.model import NO_LEADER, BrokerId, ReplicaAssignment, TopicPartition
from kedge.model.error_codes import ErrorCode

Outcomes = Mapping[TopicPartition, ErrorCode]
Reassignments = Mapping[TopicPartition, ReplicaAssignment]
Targets = Mapping[TopicPartition, tuple[BrokerId, ...] | None]


class MoveRequests:
    """Reassign, list, elect, and move between directories."""

    def __init__(self, cluster: ClusterAccess) -> None:
        self._cluster = cluster
        self._log_dirs = cluster.deps.log_dirs

    # ---- reassignments and elections ------------------------------------------------------------

    async def reassign(
        self,
        node: BrokerId,
        targets: Targets,
        *,
        timeout_ms: int,
        may_change_replication_factor: bool,
    ) -> Outcomes:
        """Start moves, or cancel those whose target is None."""
        refused: dict[TopicPartition, ErrorCode] = {}
        if not may_change_replication_factor:
            refused = await self._with_another_factor(node, targets, timeout_ms)
        wanted = {tp: target for tp, target in targets.items() if tp not in refused}
        request = ReassignmentRequested(wanted)
        answer: Outcomes = await self._cluster.ask(node, request, timeout_ms)
        every = {**refused, **answer}
        return {tp: every[tp] for tp in targets}

    async def _with_another_factor(
        self, node: BrokerId, targets: Targets, timeout_ms: int
    ) -> dict[TopicPartition, ErrorCode]:
        """Partitions whose number of replicas would change (KIP-860)."""
        moving = await self.reassignments(node, list(targets), timeout_ms=timeout_ms)
        cache = self._cluster.cache(node)
        refused: dict[TopicPartition, ErrorCode] = {}
        for tp, target in targets.items():
            entry = cache.entry(tp)
            if entry is not None and target is not None:
                adding = moving[tp].adding if tp in moving else ()
                if len(target) != len(entry.replicas) - len(adding):
                    refused[tp] = ErrorCode.INVALID_REPLICATION_FACTOR
        return refused

    async def reassignments(
        self, node: BrokerId, partitions: Collection[TopicPartition] | None, *, timeout_ms: int
    ) -> Reassignments:
        """The moves in progress, of these partitions or of all."""
        chosen = None if partitions is None else frozenset(partitions)
        return await self._cluster.ask(node, ReassignmentsListed(chosen), timeout_ms)

    async def elect_leaders(
        self,
        node: BrokerId,
        partitions: Collection[TopicPartition],
        kind: ElectionType,
        *,
        timeout_ms: int,
    ) -> Outcomes:
        """Elect leaders, and wait until the node's cache has them. Without time all elected
        partitions are late, as in Kafka."""
        event = ElectionRequested(frozenset(partitions), kind)
        outcomes: Outcomes = await self._cluster.ask(node, event, timeout_ms)
        elected = [tp for tp, code in outcomes.items() if code is ErrorCode.NONE]

        def is_known(tp: TopicPartition) -> bool:
            entry = self._cluster.cache(node).entry(tp)
            if entry is None:
                return False
            leader = entry.leadership.leader
            if kind is ElectionType.PREFERRED:
                return leader in entry.replicas[:1]
            return leader != NO_LEADER

        if timeout_ms > 0:
            await self._cluster.changes.wait_until(lambda: all(map(is_known, elected)), timeout_ms)
        late = {
            tp: ErrorCode.REQUEST_TIMED_OUT for tp in elected if timeout_ms <= 0 or not is_known(tp)
        }
        return {tp: late.get(tp, outcomes[tp]) for tp in sorted(outcomes)}

    # ---- log directories ------------------------------------------------------------------------

    async def describe_log_dirs(self, node: BrokerId) -> Sequence[LogDirState]:
        """The node's log directories."""
        return await self._cluster.thread.run(lambda: self._log_dirs.describe(node))

    async def move_log_dirs(
        self, node: BrokerId, moves: Mapping[TopicPartition, str]
    ) -> Mapping[TopicPartition, KedgeError | None]:
        """Move the node's replicas to other directories; None for each that succeeded."""

        def move_all() -> dict[TopicPartition, KedgeError | None]:
            return {tp: self._move(node, tp, path) for tp, path in moves.items()}

        return await self._cluster.thread.run(move_all)

    def _move(self, node: BrokerId, tp: TopicPartition, path: str) -> KedgeError | None:
        try:
            self._log_dirs.move(node, tp, path)
        except KedgeError as refusal:
            return refusal
        return None
