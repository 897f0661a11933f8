"""Imbalance of a cluster: the figures of a plan's summary.

The imbalance of a resource is the greatest utilisation of a broker over the mean utilisation, of
the brokers that stay. 1 is perfect. `leaders` and `replicas` are counts, each broker alike.
"""

from __future__ import annotations

import numpy as np

from kedge.balance.goals.capacity import filled_capacities
from kedge.balance.goals.problem import Bools, Floats, Int32s
from kedge.model.columns import row_lengths
from kedge.model.snapshot import CpuModel, Snapshot

NAMES = ("disk", "in", "out", "cpu", "leaders", "replicas")


def loads_of(snapshot: Snapshot, replicas: Int32s, leader: Int32s) -> Floats:
    """float64[B, 6]: what brokers carry with these replicas and leaders (broker indexes).

    A partition without a leader adds to no broker's leader load.
    """
    count = len(snapshot.brokers)
    there = replicas >= 0
    factor = row_lengths(replicas)
    cpu = snapshot.cpu_model or CpuModel(0.0, 0.0, 0.0)
    size = np.maximum(snapshot.size, 0).astype(np.float64)
    taken, consumed = np.nan_to_num(snapshot.bytes_in), np.nan_to_num(snapshot.bytes_out)
    sent = consumed + (factor - 1) * taken
    held, led = replicas[there], leader >= 0
    rows = np.nonzero(there)[0]

    def of_replicas(values: Floats) -> Floats:
        return np.bincount(held, values[rows], count).astype(np.float64)

    def of_leaders(values: Floats) -> Floats:
        return np.bincount(leader[led], values[led], count).astype(np.float64)

    follower = cpu.follower_in * taken
    led_cpu = cpu.leader_in * taken + cpu.leader_out * sent - follower
    columns = (
        of_replicas(size),
        of_replicas(taken),
        of_leaders(sent),
        of_replicas(follower) + of_leaders(led_cpu),
        of_leaders(np.ones(len(replicas))),
        of_replicas(np.ones(len(replicas))),
    )
    return np.stack(columns, axis=1).astype(np.float64)


def capacities(snapshot: Snapshot) -> Floats:
    """float64[B, 6]: what brokers can carry, leaders and replicas counted alike on each."""
    filled, _ = filled_capacities(snapshot.brokers)
    return np.concatenate([filled, np.ones((len(filled), len(NAMES) - 4))], axis=1)


def brokers_that_stay(snapshot: Snapshot) -> Bools:
    """bool[B]: the brokers that are there when the plan is done."""
    return np.array([broker.state.stays for broker in snapshot.brokers], np.bool_)


def imbalance(loads: Floats, capacity: Floats, stays: Bools) -> dict[str, float]:
    """Greatest over mean utilisation, by name; a load that is 0 everywhere is left out."""
    loads, capacity = loads[stays], capacity[stays]
    found: dict[str, float] = {}
    for column, name in enumerate(NAMES):
        mean = loads[:, column].sum() / max(float(capacity[:, column].sum()), 1e-300)
        if mean > 0:
            found[name] = float((loads[:, column] / capacity[:, column]).max() / mean)
    return found


def count_bounds(partitions: int, replicas: int, brokers: int) -> dict[str, float]:
    """The least that leaders and replicas, which come in ones, can be out of balance."""
    whole = {"leaders": partitions, "replicas": replicas}
    return {
        name: -(-count // brokers) * brokers / count
        for name, count in whole.items()
        if count and brokers
    }
