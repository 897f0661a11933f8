"""The indexes of an image being edited: each partition that changes is moved within them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Generic, TypeVar

from kedge.metadata.image import NONE_OF_THEM, Indexes, Partition, PartitionKey, PartitionSet
from kedge.metadata.persistent_map import MapEdit

_SetEdit = MapEdit[PartitionKey, None]
Group = TypeVar("Group")


class IndexEdit:
    """Edits of the indexes."""

    def __init__(self, before: Indexes) -> None:
        self._before = before
        self._isr = _Groups(before.in_isr)
        self._elr = _Groups(before.in_elr)
        self._directory = _Groups(before.in_directory)
        self._marked = (
            before.leaderless.edit(),
            before.reassigning.edit(),
            before.imbalanced.edit(),
        )

    def move(self, key: PartitionKey, before: Partition | None, after: Partition | None) -> None:
        """Account for a partition that was `before` and is `after`."""
        old_isr, new_isr = (before.isr if before else ()), (after.isr if after else ())
        if old_isr != new_isr:
            self._isr.move(key, old_isr, new_isr)
        old_elr, new_elr = (before.elr if before else ()), (after.elr if after else ())
        if old_elr != new_elr:
            self._elr.move(key, old_elr, new_elr)
        if before is None or after is None or before.directories != after.directories:
            self._directory.move(
                key,
                before.known_directories if before else (),
                after.known_directories if after else (),
            )
        old, new = _marks(before), _marks(after)
        if old != new:
            for edit, was, wanted in zip(self._marked, old, new, strict=True):
                if wanted and not was:
                    edit[key] = None
                elif was and not wanted:
                    edit.discard(key)

    def finish(self) -> Indexes:
        """The edited indexes."""
        leaderless, reassigning, imbalanced = (edit.finish() for edit in self._marked)
        return Indexes(
            self._isr.finish(),
            self._elr.finish(),
            self._directory.finish(),
            leaderless,
            reassigning,
            imbalanced,
        )


_UNMARKED = (False, False, False)


def _marks(partition: Partition | None) -> tuple[bool, bool, bool]:
    """Whether a partition has no leader, is being reassigned, is not led by its first replica."""
    if partition is None:
        return _UNMARKED
    return (
        not partition.has_leader,
        partition.reassigning,
        not partition.has_preferred_leader,
    )


class _Groups(Generic[Group]):
    """Sets of partitions by broker or directory."""

    def __init__(self, before: Mapping[Group, PartitionSet]) -> None:
        self._before = before
        self._edits: dict[Group, _SetEdit] = {}

    def _begin(self, group: Group) -> _SetEdit:
        edit = self._edits[group] = self._before.get(group, NONE_OF_THEM).edit()
        return edit

    def move(self, key: PartitionKey, old: Collection[Group], new: Collection[Group]) -> None:
        edits = self._edits
        for group in old:
            if group not in new:
                (edits.get(group) or self._begin(group)).discard(key)
        for group in new:
            if group not in old:
                (edits.get(group) or self._begin(group))[key] = None

    def finish(self) -> dict[Group, PartitionSet]:
        done = dict(self._before)
        for group, edit in self._edits.items():
            members = edit.finish()
            if members:
                done[group] = members
            else:
                done.pop(group, None)
        return done
