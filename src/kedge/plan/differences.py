"""Differences between two assignments: replicas added and removed, leaders moved, bytes copied.

    before   after     added  removed  leader moved   why
    1,2,3    4,2,3     4      1        no             the new leader is a new copy: counted there
    1,2,3    2,1,3                     yes            only the leadership moves, nothing is copied
    1,2,3    2,3,4     4      1        yes            2 has the data already and takes over
    1,2      1,2,3     3               no

Every added replica is copied once and whole, so bytes moved is the sum of size × replicas added.
A leader has moved when the preferred replica is another one *that was there before*; where the
preferred replica is new, the move of the replica is what matters and is counted as such.

Assignments of hundreds of thousands of partitions are compared as columns; `Change` is one row of
that, for people.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from kedge.errors import UnknownTopicOrPartition
from kedge.model import BrokerId, TopicPartition
from kedge.model.assignment import Assignment
from kedge.model.columns import PAD, Bools, Int32s, Int64s, widened
from kedge.model.partition import without


@dataclass(frozen=True, slots=True)
class Change:
    """One partition before and after."""

    tp: TopicPartition
    before: tuple[BrokerId, ...]
    after: tuple[BrokerId, ...]

    @property
    def added(self) -> tuple[BrokerId, ...]:
        """The replicas that have to be copied."""
        return without(self.after, self.before)

    @property
    def removed(self) -> tuple[BrokerId, ...]:
        """The replicas that are dropped."""
        return without(self.before, self.after)

    @property
    def leader_moved(self) -> bool:
        """Whether another of the replicas that were there becomes the preferred one."""
        now = self.after[:1]
        return now != self.before[:1] and any(leader in self.before for leader in now)


@dataclass(frozen=True, slots=True)
class Figures:
    """How large a change is; no bytes where the size of a moved replica is not known."""

    replicas_moved: int
    leaders_moved: int
    bytes_moved: int | None


@dataclass(frozen=True, slots=True, eq=False)
class Differences:
    """The partitions that change, one row for each, in order of topic and partition.

    `row` is the partition's row in the assignment before, `added` and `removed` are counts.
    """

    before: Assignment
    after: Assignment
    row: Int64s
    added: Int32s
    removed: Int32s
    leader_moved: Bools

    def __len__(self) -> int:
        return len(self.row)

    def __iter__(self) -> Iterator[Change]:
        for row in range(len(self)):
            before, after = self.before.replicas_of(row), self.after.replicas_of(row)
            yield Change(self.after.key(row), before, after)

    def figures(self, size: Int64s | None = None) -> Figures:
        """How much moves; `size` has the bytes of each row before, below 0 where unknown."""
        return Figures(
            replicas_moved=int(self.added.sum()),
            leaders_moved=int(np.count_nonzero(self.leader_moved)),
            bytes_moved=None if size is None else self._bytes(size),
        )

    def _bytes(self, size: Int64s) -> int | None:
        copied = size[self.row][self.added > 0]
        if bool((copied < 0).any()):
            return None
        # Python's integers: the sum of a large fleet's bytes may pass 63 bits.
        return sum(map(int, copied * self.added[self.added > 0]))


def differences_between(before: Assignment, after: Assignment) -> Differences:
    """What changes from `before` to `after`, which may list only some of its partitions."""
    row = rows_in(before, after)
    width = max(before.replicas.shape[1], after.replicas.shape[1], 1)
    old, new = widened(before.replicas[row], width), widened(after.replicas, width)
    changed = (old != new).any(axis=1)
    old, new, row = old[changed], new[changed], row[changed]
    return Differences(
        before=part(before, row, old),
        after=part(after, np.flatnonzero(changed), new),
        row=row,
        added=absent(new, old),
        removed=absent(old, new),
        leader_moved=(old[:, 0] != new[:, 0]) & led_by_present(old, new[:, 0]),
    )


def rows_in(before: Assignment, after: Assignment) -> Int64s:
    """For each row of `after` the row of the same partition in `before`."""
    known = {name: index for index, name in enumerate(before.topics)}
    index = np.array([known.get(name, PAD) for name in after.topics], np.int64)
    wanted = (index[after.topic] << 32) | after.partition
    there = (before.topic.astype(np.int64) << 32) | before.partition
    row = np.searchsorted(there, wanted)
    found = row < len(there)
    found[found] = there[row[found]] == wanted[found]
    if not found.all():
        raise UnknownTopicOrPartition(f"{after.key(int(np.argmin(found)))} was not there before")
    return row.astype(np.int64)


def part(whole: Assignment, rows: Int64s, replicas: Int32s) -> Assignment:
    """Some rows of an assignment, with their replicas given."""
    return Assignment.from_columns(whole.topics, whole.topic[rows], whole.partition[rows], replicas)


def led_by_present(old: Int32s, leader: Int32s) -> Bools:
    """Whether the new preferred leader of each row was among its replicas."""
    return (leader != PAD) & (old == leader[:, None]).any(axis=1)


def absent(some: Int32s, others: Int32s) -> Int32s:
    """How many ids of each row of `some` are not in the same row of `others`."""
    present = (some[:, :, None] == others[:, None, :]).any(axis=2)
    return np.count_nonzero((some != PAD) & ~present, axis=1).astype(np.int32)
