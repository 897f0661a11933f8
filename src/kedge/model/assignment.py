"""The replicas of many partitions, as numpy columns.

One row per partition, sorted by topic name and partition number, so that two assignments of the
same partitions have equal rows and a row is found by bisection.

    topics     ("logs", "orders")          names, ascending; each has at least one row
    topic      [0, 1, 1]                   index into `topics`
    partition  [0, 0, 1]
    replicas   [[4, -1], [1, 2], [2, 3]]   broker ids, padded with -1; column 0 is preferred

The arrays are read-only: a changed assignment is a new value (`with_replicas`). The matrix may be
wider than the longest replica list; equality ignores padding.
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
    """The brokers of each of many partitions; the module docstring describes the columns.

    Construct one with a `from_…` method; the plain constructor does not check its arrays.
    """

    topics: tuple[str, ...]
    topic: Int32s
    partition: Int32s
    replicas: Int32s

    def __post_init__(self) -> None:
        # column 0 exists even without rows
        object.__setattr__(self, "replicas", widened(self.replicas, 1))
        for name in ("topic", "partition", "replicas"):
            object.__setattr__(self, name, frozen(getattr(self, name)))

    # ---- constructors ---------------------------------------------------------------------------

    @classmethod
    def from_mapping(cls, replicas: Mapping[TopicPartition, Sequence[int]]) -> Assignment:
        """Build an assignment from replica lists by partition."""
        return cls.from_rows((tp.topic, tp.partition, ids) for tp, ids in replicas.items())

    @classmethod
    def from_rows(cls, rows: Iterable[Row]) -> Assignment:
        """Build one from (topic, partition, replicas) in any order; duplicates are an error."""
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
        """Build one from columns in any row order; topics without a row are dropped."""
        names, topic = ordered_topics(topics, topic)
        order = row_order(topic, partition)
        if order is not None:
            topic, partition, replicas = topic[order], partition[order], replicas[order]
        result = cls(names, topic.astype(np.int32), partition.astype(np.int32), replicas)
        twice = np.flatnonzero((np.diff(result.topic) == 0) & (np.diff(result.partition) == 0))
        if len(twice):
            raise DuplicateInRequest(f"{result.key(int(twice[0]))} is listed more than once")
        return result

    # ---- reading --------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.partition)

    @property
    def rf(self) -> Int32s:
        """The number of replicas of each partition."""
        return row_lengths(self.replicas).astype(np.int32)

    def key(self, row: int) -> TopicPartition:
        """Return the partition of a row."""
        return TopicPartition(self.topics[self.topic[row]], int(self.partition[row]))

    def keys(self) -> list[TopicPartition]:
        """Return the partitions, row by row."""
        topics: list[int] = self.topic.tolist()
        names = map(self.topics.__getitem__, topics)
        return list(map(TopicPartition, names, self.partition.tolist()))

    def replicas_of(self, row: int) -> tuple[BrokerId, ...]:
        """Return the brokers of a row, the preferred leader first."""
        return tuple(BrokerId(b) for b in self.replicas[row].tolist() if b != PAD)

    def rows_of_topic(self, topic: str) -> slice:
        """Return the rows of a topic, which are adjacent; empty for an unknown topic."""
        index = bisect_left(self.topics, topic)
        if index == len(self.topics) or self.topics[index] != topic:
            return slice(0, 0)
        first, end = np.searchsorted(self.topic, [index, index + 1])
        return slice(int(first), int(end))

    def row(self, tp: TopicPartition) -> int:
        """Return the row of a partition, found by bisection."""
        rows = self.rows_of_topic(tp.topic)
        row = rows.start + int(np.searchsorted(self.partition[rows], tp.partition))
        if row >= rows.stop or self.partition[row] != tp.partition:
            raise UnknownTopicOrPartition(f"{tp} is not in the assignment")
        return row

    def rows(self, wanted: Iterable[TopicPartition]) -> Int64s:
        """Return the rows of many partitions, in the order given."""
        return np.array([self.row(tp) for tp in wanted], np.int64)

    def to_mapping(self) -> dict[TopicPartition, tuple[BrokerId, ...]]:
        """Return replica lists by partition, in row order."""
        lists = lists_of_matrix(self.replicas)
        return {tp: tuple(map(BrokerId, ids)) for tp, ids in zip(self.keys(), lists, strict=True)}

    def with_replicas(self, replicas: Int32s) -> Assignment:
        """Return the same partitions with other replicas."""
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
    """Return the names used by rows, ascending, and the row column that indexes them."""
    used = np.bincount(topic, minlength=len(topics)) > 0
    names = sorted({name for name, is_used in zip(topics, used.tolist(), strict=True) if is_used})
    rank = {name: place for place, name in enumerate(names)}
    new_index = np.array([rank.get(name, PAD) for name in topics], np.int32)
    return tuple(names), new_index[topic] if len(names) else topic


def row_order(topic: npt.NDArray[Any], partition: npt.NDArray[Any]) -> Int64s | None:
    """Return the permutation that sorts rows by topic index and partition; None if sorted."""
    keys = (topic.astype(np.int64) << 32) | partition.astype(np.int64)
    if bool((keys[1:] >= keys[:-1]).all()):
        return None
    return np.argsort(keys, kind="stable")


def _name(row: Row) -> str:
    return str(TopicPartition(row[0], row[1]))
