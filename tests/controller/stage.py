"""A stage for scripts: answers their effects from plain dicts, and writes down what they order.

No store, no brokers, no loop. `crash_after` drops the script after so many effects, as the end of
a process would; `fence_at` throws ControllerMoved at the n-th write.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from kedge.controller import effects as f
from kedge.controller.context import Context, Registration
from kedge.controller.effects import Script
from kedge.controller.settings import Settings
from kedge.controller.states import PartitionState, ReplicaState
from kedge.errors import ControllerMoved
from kedge.model import Broker, BrokerId, Leadership, ReplicaAssignment, TopicPartition
from kedge.model.broker_requests import BrokerRequest, LeaderAndIsr, StopReplica, UpdateMetadata

T = TypeVar("T")
WRITES = (f.WriteLeaderships, f.CreateLeaderships, f.StoreAssignment, f.DeleteTopic)


def brokers(*numbers: int) -> tuple[BrokerId, ...]:
    return tuple(BrokerId(n) for n in numbers)


def tp(text: str = "t-0") -> TopicPartition:
    topic, _, number = text.rpartition("-")
    return TopicPartition(topic, int(number))


class Stage:
    """A cluster of registered brokers and online partitions, held in dicts."""

    def __init__(self, registered: Iterable[int] = (1, 2, 3), **settings: Any) -> None:
        self.context = Context(BrokerId(100), Settings(**settings))
        self.context.active_controller = BrokerId(100)
        self.context.epoch = 7
        self.context.add_brokers(Registration(Broker(b), 10 + b) for b in brokers(*registered))
        self.stored: dict[TopicPartition, Leadership] = {}
        self.topics: dict[str, dict[TopicPartition, ReplicaAssignment]] = {}
        self.plan: dict[TopicPartition, tuple[BrokerId, ...]] | None = None
        self.deletions: set[str] = set()
        self.unclean: dict[str, bool | None] = {}
        self.effects: list[f.Effect] = []
        self.sent: list[BrokerRequest] = []
        self.fence_at: int | None = None
        self.stale_once: set[TopicPartition] = set()

    def add(self, name: str, replicas: Iterable[int], **known: Any) -> TopicPartition:
        """An online partition; leader, isr, epoch, adding and removing as wanted."""
        where, held = tp(name), brokers(*replicas)
        adding, removing = brokers(*known.get("adding", ())), brokers(*known.get("removing", ()))
        assignment = ReplicaAssignment(held, adding, removing)
        isr = brokers(*known.get("isr", replicas))
        now = Leadership(BrokerId(known.get("leader", isr[0])), isr, known.get("epoch", 0), 0, 7)
        self.context.topics.add(where.topic)
        self.context.set_assignment(where, assignment)
        self.context.set_leadership(where, now)
        self.context.set_partition_state(where, PartitionState.ONLINE)
        for broker in held:
            self.context.set_replica_state(broker, where, ReplicaState.ONLINE)
        if assignment.in_progress:
            self.context.being_reassigned.add(where)
        self.stored[where] = now
        self.topics.setdefault(where.topic, {})[where] = assignment
        return where

    def run(self, script: Script[T], *, crash_after: int | None = None) -> T:
        """Run a script to its end, or to its crash."""
        try:
            effect = next(script)
            while True:
                self.effects.append(effect)
                if crash_after is not None and len(self.effects) >= crash_after:
                    script.close()
                    raise Crashed
                try:
                    answer = self.answer(effect)
                except ControllerMoved as moved:
                    effect = script.throw(moved)
                else:
                    effect = script.send(answer)
        except StopIteration as end:
            return end.value

    def answer(self, effect: f.Effect) -> Any:
        if isinstance(effect, WRITES) and self.fence_at is not None:
            self.fence_at -= 1
            if self.fence_at < 0:
                raise ControllerMoved("fenced")
        match effect:
            case f.ReadLeaderships(partitions):
                return {p: self.stored[p] for p in partitions if p in self.stored}
            case f.WriteLeaderships(wanted, epoch) | f.CreateLeaderships(wanted, epoch):
                return self.store(wanted, epoch)
            case f.StoreAssignment(topic, _, assignments):
                self.topics[topic] = dict(assignments)
                return True
            case f.ReadUncleanAllowed(topics, default):
                return {topic: self.unclean.get(topic, default) for topic in topics}
            case f.ReadDeletionRequests():
                return set(self.deletions)
            case f.ReadReassignmentPlan():
                return self.plan
            case f.StoreReassignmentPlan(targets):
                self.plan = dict(targets) or None
            case f.Send(requests):
                self.sent += requests
            case _:
                return None

    def store(self, wanted: Mapping[TopicPartition, Leadership], epoch: int) -> f.WriteOutcome:
        outcome = f.WriteOutcome()
        for where, new in wanted.items():
            now = self.stored.get(where)
            if where in self.stale_once:
                self.stale_once.discard(where)
                outcome.stale.append(where)
                continue
            version = 0 if now is None else now.partition_epoch + 1
            written = Leadership(
                new.leader, new.isr, new.leader_epoch, version, epoch, new.recovery
            )
            self.stored[where] = outcome.stored[where] = written
        return outcome

    # ---- what was said to brokers -----------------------------------------------------------

    def told_to_lead(self) -> list[tuple[int, str, int, int, bool]]:
        """(broker, partition, leader, epoch, is_new), in the order of sending."""
        return [
            (r.to, str(p), e.leadership.leader, e.leadership.leader_epoch, e.is_new)
            for r in self.sent
            if isinstance(r, LeaderAndIsr)
            for p, e in r.partitions.items()
        ]

    def told_to_stop(self) -> list[tuple[int, str, int, bool]]:
        """(broker, partition, epoch, delete), in the order of sending."""
        return [
            (r.to, str(p), e.leader_epoch, e.delete)
            for r in self.sent
            if isinstance(r, StopReplica)
            for p, e in r.partitions.items()
        ]

    def metadata_sent_to(self) -> list[int]:
        return [r.to for r in self.sent if isinstance(r, UpdateMetadata)]


class Crashed(Exception):
    """The process ended in the middle of a script."""
