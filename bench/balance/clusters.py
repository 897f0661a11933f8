"""Clusters to balance, from a size, a scenario and a seed.

Brokers come in three makes whose disk and network are not in proportion; a few topics hold most of
the bytes and most hold little; partitions of one topic differ; retention and the number of readers
differ from topic to topic. Replicas lie in different racks, by chance and blind to load.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from kedge.balance.goals.problem import Problem

SCENARIOS = ("skew", "grow", "drain", "rf", "mixed", "jumbo", "kafka", "jbod")
CPU = (6e-7, 3e-7, 2e-7)  # percent per byte/s: the leader's in, its out, a follower's in
BROKER = np.array([4e12, 2e8, 4e8, 100.0])  # what the smallest make can carry
FILLED = np.array([0.55, 0.45, 0.50, 0.40])  # mean of load ÷ capacity

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class Size(NamedTuple):
    """How large a cluster is."""

    brokers: int
    partitions: int
    racks: int


SIZES = {"S": Size(30, 2_000, 3), "M": Size(200, 40_000, 5), "L": Size(1_000, 200_000, 20)}


@dataclass(frozen=True, slots=True, eq=False)
class Cluster:
    """What a scenario is before it is a problem."""

    size: Size
    rack: Ints
    capacity: Floats
    leaving: npt.NDArray[np.bool_]
    topic: Ints
    home: Ints
    wanted: Ints
    disk: Floats
    bytes_in: Floats
    bytes_out: Floats  # to consumers

    def problem(self, tolerance: float) -> Problem:
        """All four resources within one tolerance, nothing excluded."""
        sent = self.bytes_out + (self.wanted - 1) * self.bytes_in
        zero = np.zeros_like(sent)
        leader_cpu = CPU[0] * self.bytes_in + CPU[1] * sent
        leader = np.stack([self.disk, self.bytes_in, sent, leader_cpu], axis=1)
        follower = np.stack([self.disk, self.bytes_in, zero, CPU[2] * self.bytes_in], axis=1)
        racks = len(np.unique(self.rack[~self.leaving]))
        brokers = self.size.brokers
        return Problem(
            rack=self.rack.astype(np.int32),
            capacity=self.capacity.copy(),
            must_empty=self.leaving.copy(),
            may_receive=~self.leaving,
            may_give=np.ones(brokers, np.bool_),
            max_replicas=np.full(brokers, np.iinfo(np.int32).max, np.int32),
            topic=self.topic.astype(np.int32),
            initial=self.home.astype(np.int32),
            wanted=self.wanted.astype(np.int32),
            movable=np.ones(len(self.topic), np.bool_),
            leader_movable=np.ones(len(self.topic), np.bool_),
            leader_load=leader,
            follower_load=follower,
            rack_limit=(-(-self.wanted // racks)).astype(np.int32),
            weight=np.ones(4),
            tolerance=np.full(4, tolerance),
            hard_limit=np.full((brokers, 4), np.inf),
        )


def cluster(size: str, scenario: str, seed: int) -> Cluster:
    """The cluster of a scenario; `jbod` is `skew` to the search, its log dirs come later."""
    shape = SIZES[size]
    luck = np.random.default_rng([seed, shape.brokers, SCENARIOS.index(scenario)])
    rack, capacity = _brokers(shape, scenario, luck)
    topic, factor = _topics(shape, luck)
    disk, taken, sent = _loads(topic, factor, capacity, luck, jumbo=scenario == "jumbo")
    fresh = np.zeros(shape.brokers, np.bool_)
    if scenario == "grow":
        fresh[luck.choice(shape.brokers, shape.brokers // 10, replace=False)] = True
    leaving = np.zeros(shape.brokers, np.bool_)
    if scenario == "drain":
        leaving[luck.choice(shape.brokers, max(1, shape.brokers // 50), replace=False)] = True
    by_rule = scenario == "kafka"
    place = _in_turn if by_rule else _by_chance
    home = place(rack, ~fresh, topic, factor, luck)
    more = luck.random(int(topic.max()) + 1) < 0.2 if scenario == "rf" else np.zeros(1, np.bool_)
    wanted = np.minimum(factor + (more[topic] if scenario == "rf" else 0), shape.racks)
    home = np.pad(home, ((0, 0), (0, int(wanted.max()) - home.shape[1])), constant_values=-1)
    capacity = _scaled_cpu(capacity, factor, taken, sent)
    return Cluster(shape, rack, capacity, leaving, topic, home, wanted, disk, taken, sent)


def _brokers(shape: Size, scenario: str, luck: np.random.Generator) -> tuple[Ints, Floats]:
    rack = np.sort(luck.permutation(np.arange(shape.brokers) % shape.racks))
    make = luck.choice(3, shape.brokers, p=[0.5, 0.35, 0.15])
    middle_cpu = 1.6 if scenario == "mixed" else 1.25
    times = np.array([[1, 1, 1, 1], [1.5, 1.25, 1.25, middle_cpu], [2, 2, 2, 2]])[make]
    return rack, times * BROKER


def _topics(shape: Size, luck: np.random.Generator) -> tuple[Ints, Ints]:
    """The topic of each partition, large topics first, and its replication factor."""
    topics = max(4, shape.partitions // 25)
    share = np.arange(1, topics + 1.0) ** -0.5
    count = np.maximum(1, np.floor(share / share.sum() * shape.partitions)).astype(np.int64)
    count = np.minimum(count, max(1, shape.partitions // 10))
    count[:64] += max(0, (shape.partitions - int(count.sum())) // 64)
    count[0] += shape.partitions - int(count.sum())
    factor = np.where(luck.random(topics) < 0.15, 2, 3)
    topic = np.repeat(np.arange(topics), count)
    return topic, factor[topic]


def _loads(
    topic: Ints, factor: Ints, capacity: Floats, luck: np.random.Generator, *, jumbo: bool
) -> tuple[Floats, Floats, Floats]:
    """Bytes on disk, bytes in and bytes out to consumers, per partition."""
    topics = int(topic.max()) + 1
    weight = np.arange(1, topics + 1.0) ** -0.9 * luck.lognormal(0, 0.6, topics)
    uneven = luck.lognormal(0, np.where(luck.random(topics) < 0.2, 1.0, 0.25)[topic])
    disk = weight[topic] * uneven / np.bincount(topic, uneven)[topic]
    taken = disk * luck.lognormal(0, 0.8, topics)[topic]
    readers = luck.choice([0, 0.5, 1, 2, 3, 5], topics, p=[0.05, 0.1, 0.4, 0.25, 0.15, 0.05])
    sent = taken * readers[topic] * luck.lognormal(0, 0.2, len(topic))
    loads = [disk, taken, sent]
    for r, copies in enumerate((factor, factor, np.ones_like(factor))):
        whole = float((capacity[:, r] / BROKER[r]).sum())
        for _ in range(0 if jumbo else 8):  # no replica above a tenth of a small broker's share
            loads[r] = np.minimum(loads[r], 0.1 * (loads[r] * copies).sum() / whole)
        share = FILLED[r] if r < 2 else 0.35
        loads[r] = loads[r] * (share * capacity[:, r].sum() / (loads[r] * copies).sum())
    return np.maximum(1, np.floor(loads[0])), loads[1], loads[2]


def _scaled_cpu(capacity: Floats, factor: Ints, taken: Floats, sent: Floats) -> Floats:
    """Cpu such that the mean is as wanted, whatever the traffic."""
    out = sent + (factor - 1) * taken
    used = (CPU[0] * taken + CPU[1] * out + (factor - 1) * CPU[2] * taken).sum()
    cpu = capacity[:, 3] * (used / (FILLED[3] * capacity[:, 3].sum()))
    return np.column_stack([capacity[:, :3], cpu])


def _by_chance(
    rack: Ints, usable: npt.NDArray[np.bool_], topic: Ints, factor: Ints, luck: np.random.Generator
) -> Ints:
    """Replicas in different racks, a larger rack sooner than a small one; then any broker of it."""
    racks = [np.nonzero(usable & (rack == r))[0] for r in range(int(rack.max()) + 1)]
    lengths = np.array([len(one) for one in racks])
    lots = np.log(luck.random((len(topic), len(racks)))) / lengths
    chosen = np.argsort(-lots, axis=1)[:, : int(factor.max())]
    listed = np.zeros((len(racks), int(lengths.max())), np.int64)
    for r, members in enumerate(racks):
        listed[r, : len(members)] = members
    home = listed[chosen, (luck.random(chosen.shape) * lengths[chosen]).astype(np.int64)]
    home[np.arange(home.shape[1])[None] >= factor[:, None]] = -1
    return home


def _in_turn(
    rack: Ints, usable: npt.NDArray[np.bool_], topic: Ints, factor: Ints, luck: np.random.Generator
) -> Ints:
    """What Kafka's rack-aware placement leaves behind when topics are made one after another."""
    from kedge.model import Broker, BrokerId
    from kedge.placement import fixed, place

    brokers = [Broker(BrokerId(b), f"r{rack[b]:03d}") for b in np.nonzero(usable)[0].tolist()]
    home = np.full((len(topic), int(factor.max())), -1, np.int64)
    starts = np.searchsorted(topic, np.arange(int(topic.max()) + 2))
    for t in range(len(starts) - 1):
        first, last = int(starts[t]), int(starts[t + 1])
        if first == last:
            continue
        rf = int(factor[first])
        start = fixed(int(luck.integers(0, len(brokers))))
        made = place(brokers, partitions=last - first, replication_factor=rf, start=start)
        home[first:last, :rf] = made.replicas
    return home
