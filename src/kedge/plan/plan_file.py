"""The plan as a value: a change of replicas that an operator reviews.

A plan is also a Kafka reassignment file: `version` and `partitions` are what Kafka's tool takes.
Beside them a plan keeps what a review needs: where the replicas were (so that it can be undone),
why each moves, in which waves, and how large the whole is. Only partitions that change are listed.

    partitions   orders-0 → [4,2,3]     before   orders-0 on [1,2,3]
    reasons      orders-0: broker 1 is 23 % over its share of disk
    waves        (0,)                   indexes into `partitions`; each exactly once, or no waves
    goals        what was asked         certificate   what proves the bounds of the summary
    notes        what the planner left alone, in sentences

Goals and certificate are kept as they were read: the planner knows what they mean.

`plan_reader` reads a plan and `plan_writer` writes it; `checks` holds it against itself and against
a snapshot; `rollback` turns it round.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from kedge.model import BrokerId, TopicPartition
from kedge.model.assignment import Assignment
from kedge.plan.differences import Change
from kedge.plan.kafka_json import Reassignment, ReassignmentFile, Replicas

FORMAT = "kedge.plan/1"

Imbalance = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Summary:
    """A plan in figures; None and empty where they were not computed.

    `imbalance_…` is per resource the greatest utilisation of a broker over the mean; `peak_disk`
    is per broker the largest share of its disk in use while the plan runs; `eta_…` is at the rate
    that the goals name.
    """

    replicas_moved: int
    leaders_moved: int
    bytes_moved: int | None = None
    bytes_moved_lower_bound: int | None = None
    imbalance_before: Imbalance = field(default_factory=dict[str, float])
    imbalance_after: Imbalance = field(default_factory=dict[str, float])
    imbalance_lower_bound: Imbalance = field(default_factory=dict[str, float])
    eta_seconds: float | None = None
    eta_lower_bound_seconds: float | None = None
    peak_disk: Mapping[BrokerId, float] = field(default_factory=dict[BrokerId, float])
    planning_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """From one assignment to another."""

    partitions: tuple[Reassignment, ...]
    before: Mapping[TopicPartition, Replicas]
    reasons: Mapping[TopicPartition, str] = field(default_factory=dict[TopicPartition, str])
    waves: tuple[tuple[int, ...], ...] = ()
    summary: Summary | None = None
    cluster_id: str | None = None
    snapshot_sha256: str | None = None
    created_at: str | None = None
    goals: Mapping[str, object] | None = None
    certificate: Mapping[str, object] | None = None
    notes: tuple[str, ...] = ()

    @property
    def as_kafka(self) -> ReassignmentFile:
        """The part that Kafka's own tool takes."""
        return ReassignmentFile(self.partitions)

    @property
    def after(self) -> dict[TopicPartition, Replicas]:
        """The wanted replicas of each partition."""
        return {entry.tp: entry.replicas for entry in self.partitions}

    @property
    def changes(self) -> list[Change]:
        """Each partition before and after, in the plan's order."""
        return [Change(each.tp, self.before[each.tp], each.replicas) for each in self.partitions]

    @property
    def assignments(self) -> tuple[Assignment, Assignment]:
        """Before and after as columns, of the partitions that the plan lists."""
        return Assignment.from_mapping(self.before), Assignment.from_mapping(self.after)
