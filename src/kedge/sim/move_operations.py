"""Replica moves of the workload: requests, plans, cancels and throttles."""

from __future__ import annotations

from kedge.controller.events import ReassignmentRequested
from kedge.model import BrokerId, ReplicaAssignment, TopicPartition
from kedge.model.error_codes import ErrorCode
from kedge.plan.throttles import (
    BROKER_THROTTLES,
    TOPIC_THROTTLES,
    broker_rates,
    move_map,
    throttles_of,
)
from kedge.sim.operator import OPERATOR, Operator
from kedge.store.port import Create
from kedge.store.znodes import REASSIGN_PARTITIONS, encode_reassignments

THROTTLE_BYTES_PER_SECOND = 30_000_000


class MoveOperations:
    """Moves by request to the controller or by a plan in the store, with or without throttles."""

    def __init__(self, operator: Operator) -> None:
        self.operator, self.cluster, self.rng = operator, operator.cluster, operator.rng
        self._throttled: dict[TopicPartition, None] = {}
        self._has_throttles = False

    def move(self) -> None:
        """Request moves of some partitions, with or without a throttle."""
        targets = self._targets()
        if not targets:
            return
        if self.rng.chance(0.4):
            self._throttle(targets)
        self.request_moves(dict(targets))

    def move_by_plan(self) -> None:
        """Write a plan to `/admin/reassign_partitions`, as old tools did."""
        targets = self._targets()
        if targets and not self.cluster.exists(REASSIGN_PARTITIONS):
            self.write_plan(targets)

    def write_plan(self, targets: dict[TopicPartition, tuple[BrokerId, ...]]) -> None:
        """Write the plan node."""
        if targets:
            self.operator.write(Create(REASSIGN_PARTITIONS, encode_reassignments(targets)))
            self.cluster.checkers.expectations.planned(targets)

    def cancel(self) -> None:
        """Cancel a move in progress, or rarely of a partition that does not move."""
        moving = [
            tp
            for tp in self.operator.partitions()
            if (a := self.cluster.metadata.assignment(tp)) and a.in_progress
        ]
        if not moving and self.rng.chance(0.8):
            return
        choices = moving or self.operator.partitions()
        if choices:
            self.request_moves({self.rng.pick(choices): None})

    def _active_moves(self) -> dict[TopicPartition, ReplicaAssignment]:
        found = {tp: self.cluster.metadata.assignment(tp) for tp in self.operator.partitions()}
        return {tp: now for tp, now in found.items() if now is not None and now.in_progress}

    def _targets(self) -> dict[TopicPartition, tuple[BrokerId, ...]]:
        live, every = self.operator.live(), sorted(self.cluster.machines)
        partitions = self.operator.partitions()
        if not partitions:
            return {}
        chosen = self.rng.sample(partitions, min(len(partitions), self.rng.between(1, 3)))
        # the API rejects a target that is down, a plan waits for it: both cases are covered
        brokers = every if self.rng.chance(0.1) else live
        return {
            tp: tuple(self.rng.sample(brokers, min(self.rng.between(1, 3), len(brokers))))
            for tp in sorted(chosen)
            if brokers
        }

    def request_moves(self, targets: dict[TopicPartition, tuple[BrokerId, ...] | None]) -> None:
        """Send a request for moves to the controller; a target of None cancels the move."""
        expectations = self.cluster.checkers.expectations
        number: int | None = None  # none while no controller has begun to process the request

        def begun() -> None:
            nonlocal number
            number = expectations.begun(targets)

        def answered(outcomes: dict[TopicPartition, ErrorCode] | ErrorCode | None) -> None:
            for tp, target in targets.items():
                code = outcomes.get(tp) if isinstance(outcomes, dict) else outcomes
                self._report(tp, target, code)
                if number is not None:
                    expectations.answered(number, tp, code)

        def failed() -> None:
            answered(None)

        event = ReassignmentRequested(targets)
        self.cluster.call_controller(
            OPERATOR, self.cluster.metadata.controller, event, answered, failed, begun=begun
        )

    def _report(
        self, tp: TopicPartition, target: tuple[BrokerId, ...] | None, code: ErrorCode | None
    ) -> None:
        answer = "no answer" if code is None else code.name
        self.cluster.count(f"move: {answer}")
        wanted = "cancel" if target is None else f"move to {list(target)}"
        self.cluster.trace_line(f"    {tp} {wanted}: {answer}")

    # ---- throttles ----

    def _throttle(self, targets: dict[TopicPartition, tuple[BrokerId, ...]]) -> None:
        metadata, active = self.cluster.metadata, self._active_moves()
        current = {tp: a.replicas for tp in targets if (a := metadata.assignment(tp))}
        wanted = throttles_of(move_map(active, targets, current))
        for broker in wanted.brokers:
            self.operator.set_broker(broker, broker_rates(THROTTLE_BYTES_PER_SECOND))
        for names, lists in zip(TOPIC_THROTTLES, (wanted.leader, wanted.follower), strict=True):
            for topic, listed in lists.items():
                if topic in metadata.topics:
                    self.operator.set_topic(topic, {names: listed})
        self._throttled.update(dict.fromkeys(targets))
        self._has_throttles = True

    def remove_throttles(self) -> None:
        """Remove the throttles once the moves they were set for have ended."""
        metadata = self.cluster.metadata
        moving = [tp for tp in self._throttled if (a := metadata.assignment(tp)) and a.in_progress]
        if moving or not self._has_throttles or self.cluster.exists(REASSIGN_PARTITIONS):
            return
        for broker in sorted(self.cluster.machines):
            self.operator.unset(
                f"brokers/{broker}", metadata.broker_config(broker), BROKER_THROTTLES
            )
        for topic in sorted(metadata.topics):
            self.operator.unset(f"topics/{topic}", metadata.topic_config(topic), TOPIC_THROTTLES)
        self._throttled.clear()
        self._has_throttles = False
