"""What an operator does with replicas: moves them, with a throttle or without, and cancels."""

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
from kedge.sim.desk import OPERATOR, Desk
from kedge.store.port import Create
from kedge.store.znodes import REASSIGN_PARTITIONS, encode_reassignments

THROTTLE_BYTES_PER_SECOND = 30_000_000


class MoveWork:
    """Moves asked of the controller or left in the store, and the throttles they need."""

    def __init__(self, desk: Desk) -> None:
        self.desk, self.world, self.luck = desk, desk.world, desk.luck
        self._throttled: dict[TopicPartition, None] = {}
        self._has_throttles = False

    def move(self) -> None:
        """Ask the controller to move some partitions, with a throttle or without."""
        targets = self._targets()
        if not targets:
            return
        if self.luck.chance(0.4):
            self._throttle(targets)
        self.ask_to_move(dict(targets))

    def move_by_plan(self) -> None:
        """Leave a plan in the store, as old tools did."""
        targets = self._targets()
        if targets and not self.world.exists(REASSIGN_PARTITIONS):
            self.leave_plan(targets)

    def leave_plan(self, targets: dict[TopicPartition, tuple[BrokerId, ...]]) -> None:
        """Write the plan of moves."""
        if targets:
            self.desk.write(Create(REASSIGN_PARTITIONS, encode_reassignments(targets)))
            self.world.checkers.expectations.planned(targets)

    def cancel(self) -> None:
        """Cancel a move that is under way, or (rarely) one that is not."""
        moving = [
            tp
            for tp in self.desk.partitions()
            if (a := self.world.truth.assignment(tp)) and a.in_progress
        ]
        if not moving and self.luck.chance(0.8):
            return
        choices = moving or self.desk.partitions()
        if choices:
            self.ask_to_move({self.luck.pick(choices): None})

    def _active_moves(self) -> dict[TopicPartition, ReplicaAssignment]:
        found = {tp: self.world.truth.assignment(tp) for tp in self.desk.partitions()}
        return {tp: now for tp, now in found.items() if now is not None and now.in_progress}

    def _targets(self) -> dict[TopicPartition, tuple[BrokerId, ...]]:
        live, every = self.desk.live(), sorted(self.world.machines)
        partitions = self.desk.partitions()
        if not partitions:
            return {}
        chosen = self.luck.sample(partitions, min(len(partitions), self.luck.between(1, 3)))
        # a dead target is refused by the API and waited for by the plan: both are worth a try
        brokers = every if self.luck.chance(0.1) else live
        return {
            tp: tuple(self.luck.sample(brokers, min(self.luck.between(1, 3), len(brokers))))
            for tp in sorted(chosen)
            if brokers
        }

    def ask_to_move(self, targets: dict[TopicPartition, tuple[BrokerId, ...] | None]) -> None:
        """Ask the controller for moves; None cancels one."""
        expectations = self.world.checkers.expectations
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
        self.world.ask_controller(
            OPERATOR, self.world.truth.controller, event, answered, failed, begun=begun
        )

    def _report(
        self, tp: TopicPartition, target: tuple[BrokerId, ...] | None, code: ErrorCode | None
    ) -> None:
        answer = "no answer" if code is None else code.name
        self.world.count(f"move: {answer}")
        wanted = "cancel" if target is None else f"move to {list(target)}"
        self.world.say(f"    {tp} {wanted}: {answer}")

    # ---- throttles ----

    def _throttle(self, targets: dict[TopicPartition, tuple[BrokerId, ...]]) -> None:
        truth, active = self.world.truth, self._active_moves()
        current = {tp: a.replicas for tp in targets if (a := truth.assignment(tp))}
        wanted = throttles_of(move_map(active, targets, current))
        for broker in wanted.brokers:
            self.desk.set_broker(broker, broker_rates(THROTTLE_BYTES_PER_SECOND))
        for names, lists in zip(TOPIC_THROTTLES, (wanted.leader, wanted.follower), strict=True):
            for topic, listed in lists.items():
                if topic in truth.topics:
                    self.desk.set_topic(topic, {names: listed})
        self._throttled.update(dict.fromkeys(targets))
        self._has_throttles = True

    def verify(self) -> None:
        """Remove the throttles once nothing moves that they were set for."""
        truth = self.world.truth
        moving = [tp for tp in self._throttled if (a := truth.assignment(tp)) and a.in_progress]
        if moving or not self._has_throttles or self.world.exists(REASSIGN_PARTITIONS):
            return
        for broker in sorted(self.world.machines):
            self.desk.unset(f"brokers/{broker}", truth.broker_config(broker), BROKER_THROTTLES)
        for topic in sorted(truth.topics):
            self.desk.unset(f"topics/{topic}", truth.topic_config(topic), TOPIC_THROTTLES)
        self._throttled.clear()
        self._has_throttles = False
