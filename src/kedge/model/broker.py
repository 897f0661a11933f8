"""A broker as a value: its id, rack, state, endpoints, capacity and log directories."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from kedge.model.partition import BrokerId


class BrokerState(StrEnum):
    """What a plan may do with a broker."""

    ALIVE = "alive"
    NEW = "new"  # empty, may receive
    DRAINING = "draining"  # must end with no replica
    DEAD = "dead"  # as draining, and cannot be read from

    @property
    def stays(self) -> bool:
        """Whether the broker may hold replicas after a plan is applied."""
        return self in (BrokerState.ALIVE, BrokerState.NEW)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The address of one listener of a broker."""

    listener: str
    host: str
    port: int
    protocol: str = "PLAINTEXT"


@dataclass(frozen=True, slots=True)
class Capacity:
    """The capacity of a broker; None where unknown.

    Disk in bytes, network in bytes per second, cpu in percent.
    """

    disk: float | None = None
    bytes_in: float | None = None
    bytes_out: float | None = None
    cpu: float | None = None


@dataclass(frozen=True, slots=True)
class LogDir:
    """One log directory of a broker; capacity in bytes, None where unknown."""

    path: str
    capacity: float | None = None


@dataclass(frozen=True, slots=True)
class Broker:
    """One broker. A missing rack is None; the empty string is a rack."""

    id: BrokerId
    rack: str | None = None
    state: BrokerState = BrokerState.ALIVE
    endpoints: tuple[Endpoint, ...] = ()
    capacity: Capacity = Capacity()
    log_dirs: tuple[LogDir, ...] = ()
