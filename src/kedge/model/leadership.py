"""Who leads a partition and who is in sync: what `…/partitions/P/state` holds."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from kedge.model.partition import BrokerId

NO_LEADER = BrokerId(-1)


class Recovery(IntEnum):
    """Whether a leader elected uncleanly has yet to recover its log (KIP-704)."""

    RECOVERED = 0
    RECOVERING = 1


class Leadership(NamedTuple):
    """A partition's leader and in-sync replicas; a tuple, since controllers hold so many of them.

    The leader epoch counts leaderships. The partition epoch counts writes of the record (it is
    the version of the state znode, and the token of its next conditional write). The controller
    epoch is that of the controller that wrote the record.
    """

    leader: BrokerId
    isr: tuple[BrokerId, ...]
    leader_epoch: int = 0
    partition_epoch: int = 0
    controller_epoch: int = 0
    recovery: Recovery = Recovery.RECOVERED
