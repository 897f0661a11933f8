"""The port to a log with one writer at a time, kept by the cluster itself.

A log is a compacted topic of one partition: of records with the same key the last one counts, and a
record without a value removes its key. Any client reads it. One client is its writer: it appends
records in transactions, and each new writer fences the one before, so that a process which was
paused and replaced cannot write again. Other clients may append single records outside of
transactions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

NOTHING_READ = -1  # the offset before the first


class LogEntry(NamedTuple):
    """A record to be written; without a value it removes the key."""

    key: str
    value: bytes | None


class LogRecord(NamedTuple):
    """A record as it was read; `at` is when the cluster stored it, in seconds since 1970.

    `key` is None where the record has none, or one that is no text: no writer of Kedge made it.
    """

    offset: int
    at: float
    key: str | None
    value: bytes | None


class ClusterClock(NamedTuple):
    """The time of a cluster whose clock is not ours, in seconds, and how fast it passes."""

    seconds: float
    speed: float


class FencedLog(Protocol):
    """One log. Every call ends within a deadline; calls may come from several threads in turn."""

    @property
    def name(self) -> str:
        """What the log is called, for messages."""
        ...

    def exists(self) -> bool:
        """Whether the log was created."""
        ...

    def create(self) -> list[str]:
        """Create the log unless it exists; returns what is wrong with its settings, if anything.

        After it was found to be deleted it is read and written from its beginning again.

        Raises:
            Unauthorised: a permission is missing; it is named.
            UnsupportedByCluster: the cluster keeps no data.
        """
        ...

    def read(self, after: int) -> list[LogRecord]:
        """Every committed record after an offset, in order."""
        ...

    def become_writer(self) -> None:
        """Fence the writer before; its unfinished transaction is aborted.

        When this returns, `read` shows everything that earlier writers have committed.

        Raises:
            WriterFenced: another client has called at the same time.
        """
        ...

    def append(self, entries: Sequence[LogEntry]) -> int:
        """Write entries, all or none; returns the offset of the last.

        Raises:
            WriterFenced: another client has become the writer, or this one has to become it again.
            JournalDamaged: the log was deleted since it was read; nothing was written.
            Unavailable: no answer in time; the entries may have been written.
        """
        ...

    def append_unfenced(self, entry: LogEntry) -> int:
        """Write one entry outside of transactions; every client may. Returns its offset.

        A reader may see it a moment later, when the transactions before it have ended.
        """
        ...

    def clock(self) -> ClusterClock | None:
        """The clock of the cluster, where its time does not pass as ours does: a lab."""
        ...

    def close(self) -> None:
        """Close the connections."""
        ...
