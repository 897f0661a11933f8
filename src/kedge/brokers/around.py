"""What a simulated broker needs of the world around it, and the values that pass between."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from kedge.brokers.log import EpochEnd, Record
from kedge.model import BrokerId, Recovery, TopicPartition
from kedge.model.error_codes import ErrorCode


class Fetch(NamedTuple):
    """A follower asks its leader for what comes next."""

    tp: TopicPartition
    follower: BrokerId
    leader_epoch: int  # of the leadership that the follower believes in
    offset: int
    last_epoch: int  # of the follower's last record, so that a parting of ways is noticed
    directory: str  # where the follower writes


class Fetched(NamedTuple):
    """The leader's answer: records, or where the two logs parted, or a refusal."""

    refused: bool = False  # not the leader, or of another epoch: look again later
    records: tuple[Record, ...] = ()
    high_watermark: int = 0
    diverged: EpochEnd | None = None
    directory: str = ""  # where the leader reads
    start_offset: int | None = None  # where the leader's log begins, if that is what was missed

    @property
    def size_bytes(self) -> int:
        """The weight of the records."""
        return sum(record.size_bytes for record in self.records)


@dataclass(frozen=True, slots=True)
class IsrChange:
    """A leader wants its ISR to be another one."""

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
    """What became of it: the ISR as stored, or why not."""

    error: ErrorCode = ErrorCode.NONE
    isr: tuple[BrokerId, ...] = ()
    leader_epoch: int = -1
    partition_epoch: int = -1


class Around(Protocol):
    """Time, other brokers, and the way of ISR changes. Every callback comes later, never at once;
    a broker that is halted may be called back and ignores it."""

    @property
    def now_ms(self) -> int:
        """The time."""
        ...

    def after(self, delay_ms: int, action: Callable[[], None]) -> object:
        """Do something later."""
        ...

    def fetch(
        self,
        leader: BrokerId,
        fetch: Fetch,
        answered: Callable[[Fetched], None],
        failed: Callable[[], None],
    ) -> None:
        """Send a fetch to a leader."""
        ...

    def propose_isr(
        self,
        change: IsrChange,
        answered: Callable[[IsrDecision], None],
        failed: Callable[[], None],
    ) -> None:
        """Have an ISR stored; `failed` means that nobody knows whether it was."""
        ...

    def announce_failed_directory(self) -> None:
        """Tell the controller to look at this broker's replicas."""
        ...

    def min_isr(self, topic: str) -> int:
        """The topic's `min.insync.replicas`."""
        ...
