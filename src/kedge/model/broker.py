"""A broker as it registers itself, and what it can carry."""

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
        """Whether replicas may be on this broker once a plan is done."""
        return self in (BrokerState.ALIVE, BrokerState.NEW)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where one listener of a broker is reached."""

    listener: str
    host: str
    port: int
    protocol: str = "PLAINTEXT"


@dataclass(frozen=True, slots=True)
class Capacity:
    """What a broker can carry; None where nobody knows.

    Disk in bytes, network in bytes per second, cpu in percent.
    """

    disk: float | None = None
    bytes_in: float | None = None
    bytes_out: float | None = None
    cpu: float | None = None


@dataclass(frozen=True, slots=True)
class LogDir:
    """One directory that a broker keeps logs in; capacity in bytes, None where unknown."""

    path: str
    capacity: float | None = None


@dataclass(frozen=True, slots=True)
class Broker:
    """One broker. A missing rack is None; the empty text is a rack like any other."""

    id: BrokerId
    rack: str | None = None
    state: BrokerState = BrokerState.ALIVE
    endpoints: tuple[Endpoint, ...] = ()
    capacity: Capacity = Capacity()
    log_dirs: tuple[LogDir, ...] = ()
