"""The cluster port for the owner of runs: every change follows a transaction that was not fenced.

A process that was paused and replaced finds out before its next request: a change first commits a
record to the log of runs, and a read stops as soon as the loss is known. What remains is a pause
between that commit and the request itself; see docs/adr/0005-runs-in-the-cluster.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from kedge.cluster.port import (
    Answers,
    Changes,
    Cluster,
    ConfigResource,
    Election,
    Outcome,
    Replica,
)
from kedge.model import BrokerId, TopicPartition


class Guard(Protocol):
    """Knows whether this process may still act."""

    @property
    def is_held(self) -> bool:
        """Whether there is a lease to confirm."""
        ...

    def must_not_be_lost(self) -> None:
        """Raise RunTakenOver if this process is known to have been replaced."""
        ...

    def confirm(self) -> None:
        """Raise RunTakenOver unless this process may still act: the log tells."""
        ...


class GuardedCluster:
    """Passes calls on to a cluster unless this process has lost the runs."""

    def __init__(self, cluster: Cluster, ownership: Guard) -> None:
        self._cluster, self._ownership = cluster, ownership

    def __getattr__(self, name: str) -> Any:
        """Reads, and changes that no run makes."""
        self._ownership.must_not_be_lost()
        return getattr(self._cluster, name)

    def alter_configs(
        self, changes: Changes, *, validate_only: bool = False
    ) -> Answers[ConfigResource]:
        """Change configs."""
        if not validate_only:
            self._before_a_change()
        return self._cluster.alter_configs(changes, validate_only=validate_only)

    def alter_reassignments(
        self, targets: Mapping[TopicPartition, Sequence[BrokerId] | None]
    ) -> Answers[TopicPartition]:
        """Start or cancel moves."""
        self._before_a_change()
        return self._cluster.alter_reassignments(targets)

    def alter_log_dirs(self, moves: Mapping[Replica, str]) -> Answers[Replica]:
        """Move replicas between directories."""
        self._before_a_change()
        return self._cluster.alter_log_dirs(moves)

    def elect_leaders(
        self, election: Election, partitions: Sequence[TopicPartition] | None = None
    ) -> Answers[TopicPartition]:
        """Elect leaders."""
        self._before_a_change()
        return self._cluster.elect_leaders(election, partitions)

    def unregister_broker(self, broker: BrokerId) -> Outcome:
        """Remove the registration of a broker."""
        self._before_a_change()
        return self._cluster.unregister_broker(broker)

    def _before_a_change(self) -> None:
        self._ownership.must_not_be_lost()
        if self._ownership.is_held:
            self._ownership.confirm()
