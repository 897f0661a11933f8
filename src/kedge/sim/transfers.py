"""Transfers of bytes in virtual time, at max-min fair rates over shared resources."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from math import ceil, inf
from typing import NamedTuple

import numpy as np

from kedge.model import BrokerId, TopicPartition
from kedge.sim.clock import Action, Clock, Timer
from kedge.sim.fair_rates import fair_rates, padded

Resource = Hashable
ReplicaKey = tuple[BrokerId, TopicPartition]

_DONE_BYTES = 1e-3  # rounding error that may be left of a finished transfer


class Transfer:
    """A transfer in progress. `left_bytes` is exact as of the last change of rates."""

    __slots__ = ("done", "left_bytes", "rate", "resources", "size_bytes")

    def __init__(self, size_bytes: float, resources: tuple[int, ...], done: Action) -> None:
        self.size_bytes = size_bytes
        self.left_bytes = size_bytes
        self.resources = resources
        self.rate = 0.0
        self.done = done


class Transfers:
    """All transfers in progress, and the resources that they share.

    Several changes at one instant cost one computation, at the end of the instant.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._numbers: dict[Resource, int] = {}
        self._capacity: list[float] = []
        self._active: dict[Transfer, None] = {}  # an ordered set
        self._settled_ms = clock.now_ms
        self._timer: Timer | None = None
        self._is_stale = False
        self.computations = 0

    def set_capacity(self, resource: Resource, bytes_per_second: float) -> None:
        """Set the capacity of a resource."""
        number = self._numbers.setdefault(resource, len(self._numbers))
        if number == len(self._capacity):
            self._capacity.append(bytes_per_second)
        elif self._capacity[number] != bytes_per_second:
            self._capacity[number] = bytes_per_second
            self._change()

    def start(self, size_bytes: float, resources: Sequence[Resource], done: Action) -> Transfer:
        """Start a transfer; `done` is called once, when its last byte has arrived."""
        numbers = tuple(self._numbers[resource] for resource in resources)
        transfer = Transfer(size_bytes, numbers, done)
        self._settle()
        self._active[transfer] = None
        self._change()
        return transfer

    def stop(self, transfer: Transfer) -> float:
        """Cancel a transfer; returns the bytes that have arrived."""
        self._settle()
        if transfer in self._active:
            del self._active[transfer]
            self._change()
        return transfer.size_bytes - transfer.left_bytes

    def arrived_bytes(self, transfer: Transfer) -> float:
        """The bytes of a transfer that have arrived."""
        self._settle()
        return transfer.size_bytes - transfer.left_bytes

    def rate(self, transfer: Transfer) -> float:
        """The current bytes per second; 0 for a finished transfer."""
        self._recompute()
        return transfer.rate if transfer in self._active else 0.0

    def __len__(self) -> int:
        return len(self._active)

    def _settle(self) -> None:
        """Account for the bytes that have arrived at the current rates."""
        elapsed_ms = self._clock.now_ms - self._settled_ms
        self._settled_ms = self._clock.now_ms
        if elapsed_ms:
            for transfer in self._active:
                left = transfer.left_bytes - transfer.rate * elapsed_ms / 1000
                transfer.left_bytes = left if left > _DONE_BYTES else 0.0

    def _change(self) -> None:
        if not self._is_stale:
            self._is_stale = True
            self._clock.after(0, self._recompute)

    def _recompute(self) -> None:
        if not self._is_stale:
            return
        self._is_stale = False
        self._settle()
        self.computations += 1
        transfers = list(self._active)
        rates = fair_rates(np.array(self._capacity), padded([t.resources for t in transfers]))
        for transfer, rate in zip(transfers, rates.tolist(), strict=True):
            transfer.rate = rate
        self._schedule_finish()

    def _schedule_finish(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        soonest = min(map(_seconds_left, self._active), default=inf)
        self._timer = (
            None if soonest == inf else self._clock.after(ceil(soonest * 1000), self._finish)
        )

    def _finish(self) -> None:
        self._settle()
        over = [transfer for transfer in self._active if transfer.left_bytes <= 0]
        for transfer in over:
            del self._active[transfer]
        self._change()
        for transfer in over:
            transfer.done()


def _seconds_left(transfer: Transfer) -> float:
    if transfer.left_bytes <= 0:
        return 0.0
    return transfer.left_bytes / transfer.rate if transfer.rate > 0 else inf


class Copy(NamedTuple):
    """Records in transfer to a follower."""

    key: ReplicaKey
    transfer: Transfer
    arrived: Callable[[], None]


class ReplicaCopies:
    """The copies to followers in progress: at most one per replica.

    A follower has one fetch in flight. When it fetches again, the copy of its earlier fetch is
    cancelled: `arrived` is called at once, and the follower ignores the outdated response.
    """

    def __init__(self, transfers: Transfers) -> None:
        self._transfers = transfers
        self.in_progress: dict[ReplicaKey, Copy] = {}

    def begin(
        self,
        key: ReplicaKey,
        size_bytes: float,
        path: Iterable[Resource],
        arrived: Callable[[], None],
    ) -> Callable[[], object]:
        """Start to copy records to a follower; returns the function that stops it."""
        self.cancel(key)

        def done() -> None:
            self._remove(copy)
            arrived()

        def stop() -> None:
            self._remove(copy)
            self._transfers.stop(copy.transfer)

        copy = Copy(key, self._transfers.start(size_bytes, list(path), done), arrived)
        self.in_progress[key] = copy
        return stop

    def cancel(self, key: ReplicaKey) -> None:
        """Cancel a copy that its follower no longer needs."""
        copy = self.in_progress.pop(key, None)
        if copy is not None:
            self._transfers.stop(copy.transfer)
            copy.arrived()

    def arrived_bytes(self, broker: BrokerId, tp: TopicPartition) -> int:
        """Bytes that have arrived and are not in the log yet."""
        copy = self.in_progress.get((broker, tp))
        return 0 if copy is None else int(self._transfers.arrived_bytes(copy.transfer))

    def _remove(self, copy: Copy) -> None:
        if self.in_progress.get(copy.key) is copy:
            del self.in_progress[copy.key]
