"""The interface of a simulated broker to its environment: time, other brokers, ISR changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from kedge.brokers.log import EpochEnd, Record
from kedge.model import BrokerId, Recovery, TopicPartition
from kedge.model.error_codes import ErrorCode


class FetchRequest(NamedTuple):
    """A follower's request for the next records."""

    tp: TopicPartition
    follower: BrokerId
    leader_epoch: int  # the current leader epoch as the follower knows it
    offset: int
    last_epoch: int  # of the follower's last record, to detect divergence
    directory: str  # where the follower writes


class FetchResponse(NamedTuple):
    """The leader's response: records, the point of divergence, or an error."""

    refused: bool = False  # not the leader, or of another epoch: retry later
    records: tuple[Record, ...] = ()
    high_watermark: int = 0
    diverged: EpochEnd | None = None
    directory: str = ""  # where the leader reads
    start_offset: int | None = None  # the leader's log start, if the follower is below it

    @property
    def size_bytes(self) -> int:
        """The size of the records."""
        return sum(record.size_bytes for record in self.records)


@dataclass(frozen=True, slots=True)
class IsrChange:
    """A leader's request for a new ISR."""

    tp: TopicPartition
    topic_id: str
    leader: BrokerId
    leader_epoch: int
    partition_epoch: int
    controller_epoch: int
    isr: tuple[BrokerId, ...]
    recovery: Recovery = Recovery.RECOVERED


@dataclass(frozen=True, slots=True)
class IsrDecision:
    """The response to an ISR change: the ISR as stored, or an error."""

    error: ErrorCode = ErrorCode.NONE
    isr: tuple[BrokerId, ...] = ()
    leader_epoch: int = -1
    partition_epoch: int = -1


class Environment(Protocol):
    """Time, other brokers, and ISR changes. Callbacks are never called from within the method;
    those of a halted broker may still be called and have no effect."""

    @property
    def now_ms(self) -> int:
        """The current time."""
        ...

    def after(self, delay_ms: int, action: Callable[[], None]) -> object:
        """Call an action after a delay."""
        ...

    def fetch(
        self,
        leader: BrokerId,
        fetch: FetchRequest,
        answered: Callable[[FetchResponse], None],
        failed: Callable[[], None],
    ) -> None:
        """Send a fetch request to a leader."""
        ...

    def propose_isr(
        self,
        change: IsrChange,
        answered: Callable[[IsrDecision], None],
        failed: Callable[[], None],
    ) -> None:
        """Request an ISR change; `failed` means that its outcome is unknown."""
        ...

    def announce_failed_directory(self) -> None:
        """Notify the controller that a log directory of this broker has failed."""
        ...

    def min_isr(self, topic: str) -> int:
        """The topic's `min.insync.replicas`."""
        ...
