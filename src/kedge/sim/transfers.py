"""Transfers in virtual time: who is moving bytes now, how fast, and who is done next."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import ceil, inf

import numpy as np

from kedge.sim.clock import Action, Clock, Timer
from kedge.sim.flows import fair_rates, padded

Resource = Hashable

_DONE_BYTES = 1e-3  # what rounding may leave of a transfer that is over


class Transfer:
    """Bytes on their way. `left_bytes` is exact as of the last change of rates."""

    __slots__ = ("done", "left_bytes", "rate", "resources", "size_bytes")

    def __init__(self, size_bytes: float, resources: tuple[int, ...], done: Action) -> None:
        self.size_bytes = size_bytes
        self.left_bytes = size_bytes
        self.resources = resources
        self.rate = 0.0
        self.done = done


class Transfers:
    """All transfers of a world, and the resources that they share.

    Several changes at one instant cost one computation: it is put off to the end of the instant.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._numbers: dict[Resource, int] = {}
        self._capacity: list[float] = []
        self._active: dict[Transfer, None] = {}  # a set that remembers its order
        self._settled_ms = clock.now_ms
        self._timer: Timer | None = None
        self._is_stale = False
        self.computations = 0

    def set_capacity(self, resource: Resource, bytes_per_second: float) -> None:
        """Say how much a resource carries, from now on."""
        number = self._numbers.setdefault(resource, len(self._numbers))
        if number == len(self._capacity):
            self._capacity.append(bytes_per_second)
        elif self._capacity[number] != bytes_per_second:
            self._capacity[number] = bytes_per_second
            self._change()

    def start(self, size_bytes: float, resources: Sequence[Resource], done: Action) -> Transfer:
        """Begin a transfer; `done` is called once, when its last byte has arrived."""
        numbers = tuple(self._numbers[resource] for resource in resources)
        transfer = Transfer(size_bytes, numbers, done)
        self._settle()
        self._active[transfer] = None
        self._change()
        return transfer

    def stop(self, transfer: Transfer) -> float:
        """End a transfer before its time; returns the bytes that did arrive."""
        self._settle()
        if transfer in self._active:
            del self._active[transfer]
            self._change()
        return transfer.size_bytes - transfer.left_bytes

    def arrived_bytes(self, transfer: Transfer) -> float:
        """How much of a transfer is over by now."""
        self._settle()
        return transfer.size_bytes - transfer.left_bytes

    def rate(self, transfer: Transfer) -> float:
        """Bytes per second, now; nothing for one that is over."""
        self._recompute()
        return transfer.rate if transfer in self._active else 0.0

    def __len__(self) -> int:
        return len(self._active)

    def _settle(self) -> None:
        """Book what arrived since the last time, at the rates that held until now."""
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
        self._plan_next()

    def _plan_next(self) -> None:
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
