"""The status of moves between the log directories of one broker, from what it reports.

A broker that moves a replica to another of its directories keeps both for a while: the current one
and the future one, which replaces it once it has caught up (KIP-113).

    the broker reports                         the move is          done
    no such replica                            missing replica      no
    the replica, but in no live directory      missing directory    no
    a future copy in the wanted directory      active               no
    a future copy in another directory         active, elsewhere    no
    no future copy, current = wanted           completed            yes
    no future copy, current ≠ wanted           cancelled            yes
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from kedge.model import BrokerId, TopicPartition

ANY_LOG_DIR = "any"


class PartitionReplica(NamedTuple):
    """One copy of a partition: the one that a certain broker holds."""

    topic: str
    partition: int
    broker: BrokerId

    @property
    def tp(self) -> TopicPartition:
        """The partition that it is a copy of."""
        return TopicPartition(self.topic, self.partition)

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}-{self.broker}"


class Directories(NamedTuple):
    """Where a broker keeps a replica; None for no live directory and for no future copy."""

    current: str | None
    future: str | None = None


class LogDirState(Enum):
    """How far a move between directories is."""

    COMPLETED = "completed"
    ACTIVE = "active"
    CANCELLED = "cancelled"
    MISSING_REPLICA = "missing replica"
    MISSING_LOG_DIR = "missing log dir"


@dataclass(frozen=True, slots=True)
class LogDirStatus:
    """One wanted directory and what became of it."""

    replica: PartitionReplica
    wanted: str
    state: LogDirState
    current: str | None = None
    future: str | None = None

    @property
    def done(self) -> bool:
        """Whether nothing is left to wait for; a cancelled move counts as done."""
        return self.state in (LogDirState.COMPLETED, LogDirState.CANCELLED)

    @property
    def line(self) -> str:
        """The status as `--verify` prints it."""
        replica, where = self.replica, f"Partition {self.replica.tp}"
        match self.state:
            case LogDirState.COMPLETED:
                return f"Reassignment of replica {replica} completed successfully."
            case LogDirState.ACTIVE if self.future == self.wanted:
                return f"Reassignment of replica {replica} is still in progress."
            case LogDirState.ACTIVE:
                return (
                    f"{where} on broker {replica.broker} is being moved to log dir {self.future} "
                    f"instead of {self.wanted}."
                )
            case LogDirState.CANCELLED:
                return (
                    f"{where} on broker {replica.broker} is not being moved from log dir "
                    f"{self.current} to {self.wanted}."
                )
            case LogDirState.MISSING_REPLICA:
                return (
                    f"{where} cannot be found in any live log directory on broker {replica.broker}."
                )
            case LogDirState.MISSING_LOG_DIR:
                return (
                    f"{where} is not found in any live log dir on broker {replica.broker}. "
                    "There is likely an offline log directory on the broker."
                )


def log_dir_statuses(
    wanted: Mapping[PartitionReplica, str], reported: Mapping[PartitionReplica, Directories]
) -> list[LogDirStatus]:
    """The state of every wanted directory, by broker, topic and partition."""
    by_broker = sorted(wanted, key=lambda each: (each.broker, each.topic, each.partition))
    return [log_dir_status(each, wanted[each], reported.get(each)) for each in by_broker]


def log_dir_status(
    replica: PartitionReplica, wanted: str, reported: Directories | None
) -> LogDirStatus:
    """The state of one wanted directory."""
    if reported is None:
        return LogDirStatus(replica, wanted, LogDirState.MISSING_REPLICA)
    current, future = reported
    if current is None:
        state = LogDirState.MISSING_LOG_DIR
    elif future is not None:
        state = LogDirState.ACTIVE
    else:
        state = LogDirState.COMPLETED if current == wanted else LogDirState.CANCELLED
    return LogDirStatus(replica, wanted, state, current, future)


def cancelling_log_dir_moves(statuses: Iterable[LogDirStatus]) -> dict[PartitionReplica, str]:
    """The orders that stop active moves: each replica is sent to the directory it is in."""
    return {
        status.replica: status.current
        for status in statuses
        if status.state is LogDirState.ACTIVE and status.current is not None
    }
