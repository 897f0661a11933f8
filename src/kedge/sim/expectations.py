"""Derives the acceptable final replicas of each partition from the requests that were sent.

A request that was accepted leaves one acceptable end. A request whose answer was lost leaves two:
it was carried out or it was not. So each partition has a list of acceptable ends.

The last accepted request decides, in the sequence in which the controller processes requests. That
is not the sequence in which they were sent: each command of an operator has its own connection, so
a request that is sent while another one is unanswered may arrive first. A request counts from the
moment at which a controller that holds the role begins to process it; one that no controller begins
has no effect, and leaves no end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kedge.model import BrokerId, ReplicaAssignment, TopicPartition
from kedge.model.error_codes import ErrorCode

Replicas = tuple[BrokerId, ...]

# after these, the request may have been carried out, in part or as a whole
UNKNOWN_OUTCOMES = (None, ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.NOT_CONTROLLER)


@dataclass(frozen=True, slots=True)
class End:
    """An acceptable end: these replicas, in this order unless it results from a cancel."""

    replicas: Replicas
    any_order: bool = False
    number: int = 0  # of the request that leads to it

    def fits(self, found: Replicas) -> bool:
        """Whether the replicas match this end."""
        return sorted(found) == sorted(self.replicas) if self.any_order else found == self.replicas


@dataclass
class Expectations:
    """The acceptable ends of every partition, and the topics that must be deleted."""

    ends: dict[TopicPartition, list[End]] = field(default_factory=dict[TopicPartition, list[End]])
    origins: dict[TopicPartition, Replicas] = field(default_factory=dict[TopicPartition, Replicas])
    deleted: set[str] = field(default_factory=set[str])
    numbers: int = 0  # how many requests have a number

    def _next_number(self) -> int:
        self.numbers += 1
        return self.numbers

    def created(
        self,
        topic: str,
        partitions: Mapping[int, Replicas],
        plan: Mapping[TopicPartition, Replicas],
    ) -> None:
        """A topic, or more partitions of one, were written.

        A plan for an earlier topic of that name may still be applied to this one.
        """
        self.deleted.discard(topic)
        for number, replicas in partitions.items():
            tp = TopicPartition(topic, number)
            self.ends[tp] = [End(replicas, number=self._next_number())]
            if tp in plan:
                self.ends[tp].append(End(plan[tp], number=self._next_number()))

    def deletion_requested(self, topic: str) -> None:
        """The deletion of a topic was requested."""
        self.deleted.add(topic)
        for tp in [tp for tp in self.ends if tp.topic == topic]:
            del self.ends[tp]
            self.origins.pop(tp, None)

    def wrote(self, tp: TopicPartition, now: ReplicaAssignment) -> None:
        """The store has this assignment now; a cancel would lead to its origin."""
        self.origins[tp] = now.origin

    def planned(self, targets: Mapping[TopicPartition, Replicas]) -> None:
        """A plan of moves was left in the store. It is carried out at any later time, unless the
        controller processes a request for the partition first."""
        self._may_end(targets)

    def begun(self, targets: Mapping[TopicPartition, Replicas | None]) -> int:
        """The controller begins to process a request for moves (with None: for a cancel); the
        answer is the number of the request.

        Until its answer is known, it may have been carried out or not. A cancel leads to the
        origin of the move that is stored at this moment.
        """
        return self._may_end(targets)

    def _may_end(self, targets: Mapping[TopicPartition, Replicas | None]) -> int:
        number = self._next_number()
        for tp, target in targets.items():
            if tp in self.ends:
                replicas = self.origins.get(tp, ()) if target is None else target
                self.ends[tp].append(End(replicas, any_order=target is None, number=number))
        return number

    def answered(self, number: int, tp: TopicPartition, code: ErrorCode | None) -> None:
        """The answer for one partition of a request that was begun; None: the answer was lost.

        What was begun before an accepted request is void. What was begun after it is not: answers
        do not arrive in the sequence of the requests.
        """
        ends = self.ends.get(tp)
        if ends is None or code in UNKNOWN_OUTCOMES:
            return
        if code is ErrorCode.NONE:
            self.ends[tp] = [end for end in ends if end.number >= number]
        else:
            self.ends[tp] = [end for end in ends if end.number != number]

    def mismatch(self, tp: TopicPartition, found: Replicas) -> str | None:
        """How the replicas of a converged partition differ from all acceptable ends."""
        ends = self.ends.get(tp)
        if ends is None or any(end.fits(found) for end in ends):
            return None
        wanted = " or ".join(str(list(end.replicas)) for end in ends)
        return f"{tp} ended on {list(found)}, wanted {wanted}"
