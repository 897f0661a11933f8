"""The capacity of brokers: what a snapshot gives, and the rule for what it does not give.

A disk without a capacity has the sum of its log directories' capacities. A broker without a
capacity of some resource has the median of the brokers that have one; if none has, all are equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

import numpy as np

from kedge.balance.goals.problem import Bools, Floats
from kedge.model import Broker, Capacity


def capacities_of(broker: Broker) -> tuple[float | None, ...]:
    """Disk, in, out, cpu of one broker; None where unknown."""
    given = broker.capacity
    disk = given.disk
    if disk is None and broker.log_dirs:
        parts = [one.capacity for one in broker.log_dirs]
        disk = None if None in parts else sum(part for part in parts if part is not None)
    return disk, given.bytes_in, given.bytes_out, given.cpu


def filled_capacities(brokers: Sequence[Broker]) -> tuple[Floats, Bools]:
    """float64[B, 4] and bool[B, 4]: the capacity of every broker, and whether it is its own."""
    given = np.array([capacities_of(broker) for broker in brokers], np.float64)
    given = given.reshape(len(brokers), 4)
    known, filled = given > 0, np.ones_like(given)
    for column in range(4):
        if known[:, column].any():
            own = given[:, column]
            middle = np.median(own[known[:, column]])
            filled[:, column] = np.where(known[:, column], own, middle)
    return filled, known


def typical_capacity(brokers: Sequence[Broker]) -> Capacity:
    """The median capacity, for a broker that is yet to be started."""
    return Capacity(
        *(
            median(known) if (known := [c for c in column if c is not None]) else None
            for column in zip(*map(capacities_of, brokers), strict=True)
        )
    )
