"""What was asked of the cluster, and hence what it may look like in the end.

An order that was answered leaves one way out. An order whose answer was lost leaves two: it was
carried out or it was not. So each partition has a list of acceptable ends.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kedge.model import BrokerId, ReplicaAssignment, TopicPartition
from kedge.model.error_codes import ErrorCode

Replicas = tuple[BrokerId, ...]


@dataclass(frozen=True, slots=True)
class End:
    """An acceptable end: these replicas; in this order, unless a cancel has mixed them up."""

    replicas: Replicas
    any_order: bool = False
    order: int = 0  # the number of the order that leads to it

    def fits(self, found: Replicas) -> bool:
        """Whether what was found is this end."""
        return sorted(found) == sorted(self.replicas) if self.any_order else found == self.replicas


@dataclass
class Expectations:
    """The acceptable ends of every partition, and which topics are to be gone."""

    ends: dict[TopicPartition, list[End]] = field(default_factory=dict[TopicPartition, list[End]])
    origins: dict[TopicPartition, Replicas] = field(default_factory=dict[TopicPartition, Replicas])
    deleted: set[str] = field(default_factory=set[str])
    orders: int = 0

    def next_order(self) -> int:
        """A number for an order that is about to be given."""
        self.orders += 1
        return self.orders

    def created(
        self,
        topic: str,
        partitions: Mapping[int, Replicas],
        plan: Mapping[TopicPartition, Replicas],
    ) -> None:
        """A topic, or more partitions of one, were written.

        A plan that was left for an earlier topic of that name may yet be applied to this one.
        """
        self.deleted.discard(topic)
        for number, replicas in partitions.items():
            tp = TopicPartition(topic, number)
            self.ends[tp] = [End(replicas, order=self.next_order())]
            if tp in plan:
                self.ends[tp].append(End(plan[tp], order=self.next_order()))

    def ordered_deletion(self, topic: str) -> None:
        """A topic is to go."""
        self.deleted.add(topic)
        for tp in [tp for tp in self.ends if tp.topic == topic]:
            del self.ends[tp]
            self.origins.pop(tp, None)

    def wrote(self, tp: TopicPartition, now: ReplicaAssignment) -> None:
        """The store has this assignment now; a cancel would lead to its origin."""
        self.origins[tp] = now.origin

    def moved(
        self,
        order: int,
        tp: TopicPartition,
        target: Replicas | None,
        origin: Replicas,
        code: ErrorCode | None,
    ) -> None:
        """A move (or, with None, a cancel) was answered; no code means that nobody knows.

        What was ordered earlier is void once a later order was accepted. What was ordered later
        may have been carried out already: answers do not come in the order of the requests.
        """
        if tp not in self.ends:
            return
        end = End(target or origin, any_order=target is None, order=order)
        if code is ErrorCode.NONE:
            self.ends[tp] = [*(e for e in self.ends[tp] if e.order > order), end]
        elif code is None or code in (ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.NOT_CONTROLLER):
            self.ends[tp].append(end)

    def complaint(self, tp: TopicPartition, found: Replicas) -> str | None:
        """What is wrong with the replicas of a partition that has come to rest."""
        ends = self.ends.get(tp)
        if ends is None or any(end.fits(found) for end in ends):
            return None
        wanted = " or ".join(str(list(end.replicas)) for end in ends)
        return f"{tp} ended on {list(found)}, wanted {wanted}"
