"""Records on their way to followers: one copy at a time for each replica.

A follower waits for one answer at a time. When it asks anew, what it asked for before is given up:
it is told at once and lets that pass, and the road is free for what it wants now.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from kedge.model import BrokerId, TopicPartition
from kedge.sim.transfers import Resource, Transfer, Transfers

Arriving = tuple[BrokerId, TopicPartition]


class Copy(NamedTuple):
    """Records on their way to a follower, and how it is told that they are there."""

    key: Arriving
    transfer: Transfer
    arrived: Callable[[], None]


class Arrivals:
    """The copies under way, by the replica that they are for."""

    def __init__(self, transfers: Transfers) -> None:
        self._transfers = transfers
        self.arriving: dict[Arriving, Copy] = {}

    def begin(
        self,
        key: Arriving,
        size_bytes: float,
        path: Iterable[Resource],
        arrived: Callable[[], None],
    ) -> Callable[[], object]:
        """Copy records to a follower; how to stop that."""
        self.abandon(key)

        def done() -> None:
            self._forget(copy)
            arrived()

        def stop() -> None:
            self._forget(copy)
            self._transfers.stop(copy.transfer)

        copy = Copy(key, self._transfers.start(size_bytes, list(path), done), arrived)
        self.arriving[key] = copy
        return stop

    def abandon(self, key: Arriving) -> None:
        """Give a copy up that its follower does not want any more."""
        copy = self.arriving.pop(key, None)
        if copy is not None:
            self._transfers.stop(copy.transfer)
            copy.arrived()

    def arriving_bytes(self, broker: BrokerId, tp: TopicPartition) -> int:
        """How much has come of what is not in the log yet."""
        copy = self.arriving.get((broker, tp))
        return 0 if copy is None else int(self._transfers.arrived_bytes(copy.transfer))

    def _forget(self, copy: Copy) -> None:
        if self.arriving.get(copy.key) is copy:
            del self.arriving[copy.key]
