"""The disks of one broker: what survives when its process does not."""

from __future__ import annotations

from kedge.brokers.log import ReplicaLog, Touched
from kedge.model import TopicPartition


class Disks:
    """Log directories by name, each with the logs that it holds. A failed one cannot be read."""

    def __init__(
        self, names: tuple[str, ...] = ("d0", "d1"), touched: Touched | None = None
    ) -> None:
        self.logs: dict[str, dict[TopicPartition, ReplicaLog]] = {name: {} for name in names}
        self.failed: set[str] = set()
        self.wishes: dict[TopicPartition, str] = {}  # where a log is to be once it is made
        self.touched: Touched = {} if touched is None else touched

    @property
    def healthy(self) -> list[str]:
        """The directories that work, in their order."""
        return [name for name in self.logs if name not in self.failed]

    def directory_of(self, tp: TopicPartition) -> str | None:
        """Where a partition's log is, on a directory that works or not."""
        return next((name for name, held in self.logs.items() if tp in held), None)

    def find(self, tp: TopicPartition) -> ReplicaLog | None:
        """A partition's log, if it can be read."""
        return next((self.logs[name][tp] for name in self.healthy if tp in self.logs[name]), None)

    def create(self, tp: TopicPartition, topic_id: str) -> ReplicaLog:
        """A new log: where it was wished for, or in the working directory that has the fewest."""
        wish = self.wishes.pop(tp, None)
        fewest = min(self.healthy, key=lambda name: len(self.logs[name]))
        return self.put(wish if wish in self.healthy else fewest, tp, topic_id)

    def put(self, name: str, tp: TopicPartition, topic_id: str) -> ReplicaLog:
        """A new log in one directory."""
        log = self.logs[name][tp] = ReplicaLog(tp, topic_id, self.touched)
        return log

    def delete(self, tp: TopicPartition) -> None:
        """Remove a partition's log from the directories that work."""
        self.touched[tp] = None
        for name in self.healthy:
            self.logs[name].pop(tp, None)

    def remnant(self, tp: TopicPartition) -> ReplicaLog | None:
        """A partition's log, be it on a directory that cannot be read."""
        return next((held[tp] for held in self.logs.values() if tp in held), None)

    def held(self) -> dict[TopicPartition, ReplicaLog]:
        """Every log that can be read."""
        return {tp: log for name in self.healthy for tp, log in self.logs[name].items()}

    def size_bytes(self, name: str) -> int:
        """How many bytes a directory holds."""
        return sum(log.size_bytes for log in self.logs[name].values())
