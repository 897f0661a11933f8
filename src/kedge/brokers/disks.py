"""The log directories of one simulated broker, which survive its process."""

from __future__ import annotations

from kedge.brokers.log import ChangedPartitions, ReplicaLog
from kedge.model import TopicPartition


class Disks:
    """Log directories by name, each with its logs. A failed directory cannot be read."""

    def __init__(
        self, names: tuple[str, ...] = ("d0", "d1"), changed: ChangedPartitions | None = None
    ) -> None:
        self.logs: dict[str, dict[TopicPartition, ReplicaLog]] = {name: {} for name in names}
        self.failed: set[str] = set()
        self.requested_dirs: dict[TopicPartition, str] = {}  # for logs that do not exist yet
        self.changed: ChangedPartitions = {} if changed is None else changed

    @property
    def healthy(self) -> list[str]:
        """The directories that have not failed, in order."""
        return [name for name in self.logs if name not in self.failed]

    def directory_of(self, tp: TopicPartition) -> str | None:
        """The directory of a partition's log, failed or not."""
        return next((name for name, held in self.logs.items() if tp in held), None)

    def find(self, tp: TopicPartition) -> ReplicaLog | None:
        """A partition's log, if its directory is readable."""
        return next((self.logs[name][tp] for name in self.healthy if tp in self.logs[name]), None)

    def find_any(self, tp: TopicPartition) -> ReplicaLog | None:
        """A partition's log, whether its directory is readable or not."""
        return next((held[tp] for held in self.logs.values() if tp in held), None)

    def create(self, tp: TopicPartition, topic_id: str) -> ReplicaLog:
        """Create a log in the requested directory, or in the healthy one with the fewest logs."""
        requested = self.requested_dirs.pop(tp, None)
        fewest = min(self.healthy, key=lambda name: len(self.logs[name]))
        return self.put(requested if requested in self.healthy else fewest, tp, topic_id)

    def put(self, name: str, tp: TopicPartition, topic_id: str) -> ReplicaLog:
        """Create a log in one directory."""
        log = self.logs[name][tp] = ReplicaLog(tp, topic_id, self.changed)
        return log

    def delete(self, tp: TopicPartition) -> None:
        """Remove a partition's log from the readable directories."""
        self.changed[tp] = None
        for name in self.healthy:
            self.logs[name].pop(tp, None)

    def held(self) -> dict[TopicPartition, ReplicaLog]:
        """All readable logs."""
        return {tp: log for name in self.healthy for tp, log in self.logs[name].items()}
