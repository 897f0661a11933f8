"""Topics as `kafka-topics --describe` shows them, and as rows for programs.

    Topic: T → TopicId: … → PartitionCount: 2 → ReplicationFactor: 3 → Configs: retention.ms=1000
    → Topic: T → Partition: 0 → Leader: 1 → Replicas: 1,2,3 → Isr: 1,2,3 → Elr: N/A → …

where → is a tab. Which partitions are shown is a matter of flags (`Selection`). While a partition
moves, its replication factor is that of before the move, and its line has the adding and
removing replicas.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kedge.cluster.port import ConfigEntry, ConfigSource, PartitionDescription, TopicDescription
from kedge.model import BrokerId, ReplicaAssignment, TopicPartition

MIN_ISR = "min.insync.replicas"


@dataclass(frozen=True, slots=True)
class Selection:
    """Which lines to show; of several partition filters any one lets a partition through."""

    under_replicated: bool = False
    unavailable: bool = False
    under_min_isr: bool = False
    at_min_isr: bool = False
    with_overrides: bool = False

    @property
    def by_partition(self) -> bool:
        """Whether partitions are filtered, and so topic lines left out."""
        return self.under_replicated or self.unavailable or self.under_min_isr or self.at_min_isr


@dataclass(frozen=True, slots=True)
class DescribedTopic:
    """A topic, its configs and its moves."""

    topic: TopicDescription
    configs: Sequence[ConfigEntry] = ()
    moving: Mapping[TopicPartition, ReplicaAssignment] = field(
        default_factory=dict[TopicPartition, ReplicaAssignment]
    )

    @property
    def overrides(self) -> dict[str, str | None]:
        """Configs that are not built-in defaults."""
        return {c.name: c.value for c in self.configs if c.source is not ConfigSource.BUILT_IN}

    @property
    def min_isr(self) -> int:
        """How many replicas must be in sync."""
        value = next((c.value for c in self.configs if c.name == MIN_ISR), None)
        return int(value or 1)

    def move_of(self, partition: PartitionDescription) -> ReplicaAssignment | None:
        """The move that a partition is in."""
        return self.moving.get(TopicPartition(self.topic.name, partition.partition))

    def factor_of(self, partition: PartitionDescription) -> int:
        """How many replicas a partition has, without those that are still coming."""
        move = self.move_of(partition)
        return len(partition.replicas) - (len(move.adding) if move else 0)

    @property
    def replication_factor(self) -> int:
        """That of the lowest partition."""
        return self.factor_of(self.topic.partitions[0]) if self.topic.partitions else 0


def describe_lines(
    described: Iterable[DescribedTopic], selection: Selection, alive: Collection[BrokerId]
) -> list[str]:
    """The lines of `--describe`."""
    lines: list[str] = []
    for each in described:
        if not selection.by_partition and (each.overrides or not selection.with_overrides):
            lines.append(_topic_line(each))
        if not selection.with_overrides:
            lines += [_partition_line(each, p) for p in selected(each, selection, alive)]
    return lines


def describe_rows(
    described: Iterable[DescribedTopic], selection: Selection, alive: Collection[BrokerId]
) -> list[dict[str, Any]]:
    """The same for programs: one object per topic that has something to show."""
    rows: list[dict[str, Any]] = []
    for each in described:
        chosen = [] if selection.with_overrides else selected(each, selection, alive)
        if (selection.with_overrides and not each.overrides) or (
            selection.by_partition and not chosen
        ):
            continue
        rows.append(_topic_row(each) | {"partitions": [_partition_row(each, p) for p in chosen]})
    return rows


def selected(
    each: DescribedTopic, selection: Selection, alive: Collection[BrokerId]
) -> list[PartitionDescription]:
    """The partitions that the flags let through."""
    if not selection.by_partition:
        return list(each.topic.partitions)
    return [p for p in each.topic.partitions if _passes(each, p, selection, alive)]


def _passes(
    each: DescribedTopic,
    partition: PartitionDescription,
    selection: Selection,
    alive: Collection[BrokerId],
) -> bool:
    in_sync, leader = len(partition.isr), partition.leader
    return (
        (selection.under_replicated and in_sync < each.factor_of(partition))
        or (selection.unavailable and leader not in alive)
        or (selection.under_min_isr and (leader is None or in_sync < each.min_isr))
        or (selection.at_min_isr and in_sync == each.min_isr)
    )


def _topic_line(each: DescribedTopic) -> str:
    topic = each.topic
    configs = ",".join(f"{name}={value}" for name, value in sorted(each.overrides.items()))
    fields = [
        f"Topic: {topic.name}",
        *([f"TopicId: {topic.topic_id}"] if topic.topic_id else []),
        f"PartitionCount: {len(topic.partitions)}",
        f"ReplicationFactor: {each.replication_factor}",
        f"Configs: {configs}",
    ]
    return "\t".join(fields)


def _partition_line(each: DescribedTopic, partition: PartitionDescription) -> str:
    move = each.move_of(partition)
    fields = [
        "",
        f"Topic: {each.topic.name}",
        f"Partition: {partition.partition}",
        f"Leader: {'none' if partition.leader is None else partition.leader}",
        f"Replicas: {_commas(partition.replicas)}",
        f"Isr: {_commas(partition.isr)}",
    ]
    if move is not None:
        fields += [
            f"Adding Replicas: {_commas(move.adding)}",
            f"Removing Replicas: {_commas(move.removing)}",
        ]
    fields += [
        f"Elr: {_ids_or_na(partition.eligible)}",
        f"LastKnownElr: {_ids_or_na(partition.last_known_eligible)}",
    ]
    return "\t".join(fields)


def _topic_row(each: DescribedTopic) -> dict[str, Any]:
    return {
        "topic": each.topic.name,
        "topic_id": each.topic.topic_id or None,
        "internal": each.topic.internal,
        "partition_count": len(each.topic.partitions),
        "replication_factor": each.replication_factor,
        "configs": dict(sorted(each.overrides.items())),
    }


def _partition_row(each: DescribedTopic, partition: PartitionDescription) -> dict[str, Any]:
    move = each.move_of(partition)
    return {
        "partition": partition.partition,
        "leader": partition.leader,
        "replicas": partition.replicas,
        "isr": partition.isr,
        "adding": () if move is None else move.adding,
        "removing": () if move is None else move.removing,
        "offline": partition.offline,
        "eligible": partition.eligible,
        "last_known_eligible": partition.last_known_eligible,
    }


def _commas(ids: Iterable[BrokerId]) -> str:
    return ",".join(map(str, ids))


def _ids_or_na(ids: Iterable[BrokerId] | None) -> str:
    return "N/A" if ids is None else _commas(ids)
