"""The port to a log with one writer, in memory: for tests, with the fencing of Kafka.

`MemoryTopic` is what a cluster would keep; each `MemoryLog` is a client of it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from threading import Lock

from kedge.cluster.log_port import ClusterClock, LogEntry, LogRecord
from kedge.errors import ClusterUnavailable, JournalDamaged, WriterFenced


class MemoryTopic:
    """The records of a log, and the epoch of its writer."""

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        self.created = False
        self.records: list[LogRecord] = []
        self.epoch = 0
        self.down = False
        self.now = now
        self.clock: ClusterClock | None = None
        self.lock = Lock()
        self._next = 0

    def add(self, key: str | None, value: bytes | None) -> int:
        """Store a record; returns its offset."""
        offset = self._next
        self._next += 1
        self.records.append(LogRecord(offset, self.now(), key, value))
        return offset

    def delete(self) -> None:
        """Delete the log; the epoch of the writer is kept elsewhere, as in Kafka."""
        self.created, self.records, self._next = False, [], 0

    def compact(self) -> None:
        """Keep the last record of each key, and no tombstones."""
        last = {each.key: each for each in self.records}
        self.records = [each for each in self.records if last[each.key] is each and each.value]


class MemoryLog:
    """One client of a topic in memory."""

    def __init__(self, topic: MemoryTopic) -> None:
        self._topic = topic
        self._epoch = 0

    @property
    def name(self) -> str:
        return "the log in memory"

    def exists(self) -> bool:
        return self._topic.created

    def create(self) -> list[str]:
        self._topic.created = True
        return []

    def read(self, after: int) -> list[LogRecord]:
        self._must_be_up()
        return [each for each in self._topic.records if each.offset > after]

    def become_writer(self) -> None:
        self._must_be_up()
        with self._topic.lock:
            self._topic.epoch += 1
            self._epoch = self._topic.epoch

    def append(self, entries: Sequence[LogEntry]) -> int:
        self._must_be_up()
        with self._topic.lock:
            if not self._topic.created:
                raise JournalDamaged("the log in memory was deleted")
            if self._epoch != self._topic.epoch:
                raise WriterFenced("another writer has replaced this one")
            return [self._topic.add(*entry) for entry in entries][-1]

    def append_unfenced(self, entry: LogEntry) -> int:
        self._must_be_up()
        with self._topic.lock:
            return self._topic.add(*entry)

    def clock(self) -> ClusterClock | None:
        return self._topic.clock

    def close(self) -> None:
        return None

    def _must_be_up(self) -> None:
        if self._topic.down:
            raise ClusterUnavailable("the log in memory does not answer")
