"""One partition as clients are shown it: a leader that cannot be reached is none."""

from __future__ import annotations

from dataclasses import dataclass

from kedge.endpoint.call import Lens
from kedge.model import NO_LEADER, BrokerId
from kedge.model.broker_requests import MetadataEntry
from kedge.model.error_codes import ErrorCode


@dataclass(frozen=True, slots=True)
class Shown:
    """What a client is told of a partition."""

    error: ErrorCode
    leader: int
    leader_epoch: int
    replicas: list[int]
    isr: list[int]
    offline: list[int]


def shown(lens: Lens, entry: MetadataEntry) -> Shown:
    """A partition as the node knows it; a replica whose broker is not there is offline too."""
    now, there = entry.leadership, lens.addresses
    led = now.leader in there
    return Shown(
        error=ErrorCode.NONE if led else _error(lens, now.leader),
        leader=now.leader if led else NO_LEADER,
        leader_epoch=now.leader_epoch,
        replicas=list(entry.replicas),
        isr=list(now.isr),
        offline=[b for b in entry.replicas if b in entry.offline or b not in there],
    )


def _error(lens: Lens, leader: BrokerId) -> ErrorCode:
    if leader in lens.image.brokers:
        return ErrorCode.LISTENER_NOT_FOUND
    return ErrorCode.LEADER_NOT_AVAILABLE
