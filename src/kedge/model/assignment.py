"""The replicas of many partitions, as columns.

One row per partition, always in the order of topic name and then partition number, so that two
assignments of the same partitions line up row by row and a row is found by bisection.

    topics     ("logs", "orders")          names, ascending; each has at least one row
    topic      [0, 1, 1]                   index into `topics`
    partition  [0, 0, 1]
    replicas   [[4, -1], [1, 2], [2, 3]]   broker ids, padded with -1; column 0 is preferred

The arrays are read-only: an assignment that changes is another assignment (`with_replicas`).
The matrix may be wider than the longest replica list; equality does not see padding.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from kedge.errors import DuplicateInRequest, InvalidReplicaAssignment, UnknownTopicOrPartition
from kedge.model.columns import (
    PAD,
    Int32s,
    Int64s,
    frozen,
    lists_of_matrix,
    ragged_of_lists,
    row_lengths,
    same_matrix,
    widened,
)
from kedge.model.partition import BrokerId, TopicPartition

Row = tuple[str, int, Sequence[int]]  # topic, partition, replicas


@dataclass(frozen=True, slots=True, eq=False)
class Assignment:
    """Which brokers hold each of many partitions; see the module for the columns.

    Build one with a `from_…` constructor; the plain one trusts its arrays.
    """

    topics: tuple[str, ...]
    topic: Int32s
    partition: Int32s
    replicas: Int32s

    def __post_init__(self) -> None:
        # Column 0 is there even when no row is.
        object.__setattr__(self, "replicas", widened(self.replicas, 1))
        for name in ("topic", "partition", "replicas"):
            object.__setattr__(self, name, frozen(getattr(self, name)))

    # ---- constructors ---------------------------------------------------------------------------

    @classmethod
    def from_mapping(cls, replicas: Mapping[TopicPartition, Sequence[int]]) -> Assignment:
        """Replica lists by partition."""
        return cls.from_rows((tp.topic, tp.partition, ids) for tp, ids in replicas.items())

    @classmethod
    def from_rows(cls, rows: Iterable[Row]) -> Assignment:
        """(topic, partition, replicas) in any order; a partition may be there only once."""
        listed = list(rows)
        index: dict[str, int] = {}
        topic = np.array([index.setdefault(row[0], len(index)) for row in listed], np.int32)
        partition = np.array([row[1] for row in listed], np.int32)
        lists = ragged_of_lists([row[2] for row in listed])
        if lists.values.min(initial=0) < 0:
            bad = int(lists.rows[lists.values < 0][0])
            raise InvalidReplicaAssignment(f"{_name(listed[bad])}: a broker id below 0")
        return cls.from_columns(tuple(index), topic, partition, lists.padded())

    @classmethod
    def from_columns(
        cls,
        topics: Sequence[str],
        topic: npt.NDArray[Any],
        partition: npt.NDArray[Any],
        replicas: Int32s,
    ) -> Assignment:
        """Columns in any row order; sorts them and drops topics that have no row."""
        names, topic = ordered_topics(topics, topic)
        order = row_order(topic, partition)
        if order is not None:
            topic, partition, replicas = topic[order], partition[order], replicas[order]
        result = cls(names, topic.astype(np.int32), partition.astype(np.int32), replicas)
        twice = np.flatnonzero((np.diff(result.topic) == 0) & (np.diff(result.partition) == 0))
        if len(twice):
            raise DuplicateInRequest(f"{result.key(int(twice[0]))} is listed more than once")
        return result

    @classmethod
    def from_arrow(cls, table: Any) -> Assignment:
        """From an Arrow table with columns topic, partition and replicas."""
        from kedge.model.assignment_arrow import assignment_from_arrow

        return assignment_from_arrow(table)

    def to_arrow(self) -> Any:
        """As an Arrow table: topic string, partition int32, replicas list<int32>."""
        from kedge.model.assignment_arrow import assignment_to_arrow

        return assignment_to_arrow(self)

    # ---- reading --------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.partition)

    @property
    def rf(self) -> Int32s:
        """How many replicas each partition has."""
        return row_lengths(self.replicas).astype(np.int32)

    def key(self, row: int) -> TopicPartition:
        """The partition of a row."""
        return TopicPartition(self.topics[self.topic[row]], int(self.partition[row]))

    def keys(self) -> list[TopicPartition]:
        """The partitions, row by row."""
        topics: list[int] = self.topic.tolist()
        names = map(self.topics.__getitem__, topics)
        return list(map(TopicPartition, names, self.partition.tolist()))

    def replicas_of(self, row: int) -> tuple[BrokerId, ...]:
        """The brokers of a row, the preferred leader first."""
        return tuple(BrokerId(b) for b in self.replicas[row].tolist() if b != PAD)

    def rows_of_topic(self, topic: str) -> slice:
        """The rows of a topic, which lie side by side; empty when there is no such topic."""
        index = bisect_left(self.topics, topic)
        if index == len(self.topics) or self.topics[index] != topic:
            return slice(0, 0)
        first, end = np.searchsorted(self.topic, [index, index + 1])
        return slice(int(first), int(end))

    def row(self, tp: TopicPartition) -> int:
        """The row of a partition, found by bisection."""
        rows = self.rows_of_topic(tp.topic)
        row = rows.start + int(np.searchsorted(self.partition[rows], tp.partition))
        if row >= rows.stop or self.partition[row] != tp.partition:
            raise UnknownTopicOrPartition(f"{tp} is not in the assignment")
        return row

    def rows(self, wanted: Iterable[TopicPartition]) -> Int64s:
        """The rows of many partitions, in the order asked."""
        return np.array([self.row(tp) for tp in wanted], np.int64)

    def to_mapping(self) -> dict[TopicPartition, tuple[BrokerId, ...]]:
        """Replica lists by partition, in row order."""
        lists = lists_of_matrix(self.replicas)
        return {tp: tuple(map(BrokerId, ids)) for tp, ids in zip(self.keys(), lists, strict=True)}

    def with_replicas(self, replicas: Int32s) -> Assignment:
        """The same partitions on other brokers."""
        if len(replicas) != len(self):
            raise InvalidReplicaAssignment(f"{len(replicas)} replica lists, {len(self)} partitions")
        return replace(self, replicas=replicas)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Assignment):
            return NotImplemented
        return (
            self.topics == other.topics
            and np.array_equal(self.topic, other.topic)
            and np.array_equal(self.partition, other.partition)
            and same_matrix(self.replicas, other.replicas)
        )

    __hash__ = None  # pyright: ignore[reportAssignmentType]


def ordered_topics(
    topics: Sequence[str], topic: npt.NDArray[Any]
) -> tuple[tuple[str, ...], npt.NDArray[Any]]:
    """The names that rows use, ascending, and the row column that indexes them."""
    used = np.bincount(topic, minlength=len(topics)) > 0
    names = sorted({name for name, is_used in zip(topics, used.tolist(), strict=True) if is_used})
    rank = {name: place for place, name in enumerate(names)}
    new_index = np.array([rank.get(name, PAD) for name in topics], np.int32)
    return tuple(names), new_index[topic] if len(names) else topic


def row_order(topic: npt.NDArray[Any], partition: npt.NDArray[Any]) -> Int64s | None:
    """The permutation that sorts rows by topic index and partition; None when they are sorted."""
    keys = (topic.astype(np.int64) << 32) | partition.astype(np.int64)
    if bool((keys[1:] >= keys[:-1]).all()):
        return None
    return np.argsort(keys, kind="stable")


def _name(row: Row) -> str:
    return str(TopicPartition(row[0], row[1]))
