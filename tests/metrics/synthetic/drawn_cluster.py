"""Draws a cluster: brokers, topics, producers, readers, and what happens to it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

BEFORE_S = 300  # the cluster runs for so long before the recording begins
WORDS = ("orders", "billing", "clicks", "geo", "audit", "users", "feed", "iot", "mail", "stock")


class Cleanup(StrEnum):
    NONE = "none"
    RETENTION = "retention"  # whole segments of 1 MB are deleted
    COMPACTION = "compaction"


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads partitions of a topic."""

    name: str
    partitions: tuple[int, ...]
    commits: bool = True
    share: float = 1.0  # of what is appended; the rest stays behind
    refetched: float = 1.0  # bytes that leave brokers over bytes that arrive
    rack: str = ""  # reads from the replica in this rack, if there is one


@dataclass(frozen=True, slots=True)
class Topic:
    name: str
    replicas: list[list[int]]  # by partition; the first one is the preferred leader
    bytes_per_s: list[float]
    record_bytes: list[float]
    cleanup: Cleanup = Cleanup.NONE
    readers: tuple[Reader, ...] = ()


@dataclass(frozen=True, slots=True)
class Events:
    """Seconds after the start of the recording; -1 for what does not happen."""

    leader_moved: int
    moved: tuple[str, int]  # topic and partition
    reassigned: int
    reassigned_partition: tuple[str, int]
    stopped: int
    started: int
    elected: int
    broker: int


@dataclass(frozen=True, slots=True)
class Cluster:
    seed: int
    name: str
    t0: int
    seconds: int
    brokers: dict[int, str]  # id to rack
    topics: list[Topic]
    events: Events
    hosts: dict[int, str] = field(default_factory=dict[int, str])


def draw_cluster(seed: int, seconds: int = 900) -> Cluster:
    """A cluster whose names, ids, skews and events follow from the seed."""
    draw = np.random.default_rng(seed)
    count = int(draw.integers(3, 6))
    ids = sorted(int(i) for i in draw.choice(2000 if seed % 2 else 12, count, replace=False))
    racks = {broker: "abc"[at % 3] for at, broker in enumerate(ids)}
    topics = [_topic(draw, kind, ids, racks) for kind in _KINDS]
    hot = next(t for t in topics if "hot" in t.name)
    deleted = next(t for t in topics if t.cleanup is Cleanup.RETENTION)
    stopped = int(draw.integers(540, 620))
    events = Events(
        leader_moved=int(draw.integers(305, 340)),
        moved=(hot.name, int(np.argmax(hot.bytes_per_s))),
        reassigned=int(draw.integers(420, 470)),
        reassigned_partition=(deleted.name, int(draw.integers(len(deleted.replicas)))),
        stopped=stopped,
        started=stopped + int(draw.integers(25, 75)),
        elected=int(draw.integers(720, 800)),
        broker=int(draw.choice(ids)),
    )
    t0 = 1_790_000_000 // 60 * 60 + int(draw.integers(0, 100_000)) * 60
    t0 += seed % 4 * 15  # intervals of results begin with the minute, recordings may not
    hosts = {broker: f"10.{broker // 250}.{broker % 250}.7" for broker in ids}
    return Cluster(seed, f"c-{seed}", t0, seconds, racks, topics, events, hosts)


_KINDS = (*("plain", "deleted", "compacted", "hot", "mixed", "unread", "slow", "idle", "small"),)


def _topic(draw: np.random.Generator, kind: str, ids: list[int], racks: dict[int, str]) -> Topic:
    partitions = int(draw.integers(3, 13))
    if kind == "deleted":  # segments of 1 MB live for a minute or more
        partitions = int(draw.integers(4, 13))
    if kind == "slow":  # what is fetched twice is in no offset: few enough to leave the p90 alone
        partitions = int(draw.integers(2, 4))
    factor = 3 if kind in ("plain", "compacted", "hot") else 2
    start = int(draw.integers(len(ids)))
    replicas = [
        [ids[(start + p + r * (1 + p // len(ids) % 2)) % len(ids)] for r in range(factor)]
        for p in range(partitions)
    ]
    replicas = [list(dict.fromkeys(each)) for each in replicas]
    total = {"idle": 0.0, "small": 8_000.0, "slow": 60_000.0}.get(kind, 70_000.0)
    shares = draw.dirichlet(np.full(partitions, 8.0 if kind != "mixed" else 3.0))
    if kind == "hot":
        shares *= 0.4
        shares[int(draw.integers(partitions))] += 0.6
    sizes = np.exp(draw.normal(np.log(float(draw.uniform(150, 900))), 0.15, partitions))
    if kind == "mixed":
        sizes = draw.choice([100.0, 900.0, 2_500.0, 7_500.0, 16_000.0], partitions)
    if kind == "compacted":
        sizes[:] = float(draw.uniform(200, 600))
    word, joint = draw.choice(WORDS), draw.choice([".", "_", "-", "."])
    name = joint.join([str(word), kind, f"v{int(draw.integers(1, 9))}"])
    cleanup = {"deleted": Cleanup.RETENTION, "compacted": Cleanup.COMPACTION}.get(
        kind, Cleanup.NONE
    )
    speed = float(draw.uniform(0.6, 1.6))
    if kind == "plain":  # some partitions of a busy topic are idle
        shares[draw.random(partitions) < 0.2] = 0.0
    rates = total * speed * shares
    if kind == "mixed":  # a handful of large records would be more noise than rate
        rates = np.maximum(rates, 0.5 * sizes)
    return Topic(
        name,
        replicas,
        [float(rate) for rate in rates],
        [float(size) for size in sizes],
        cleanup,
        _readers(draw, kind, name, partitions),
    )


def _readers(draw: np.random.Generator, kind: str, name: str, count: int) -> tuple[Reader, ...]:
    every = tuple(range(count))
    if kind == "plain":
        return (Reader(f"{name}-a", every), Reader(f"{name}-b", every))
    if kind == "deleted":
        return (Reader(f"{name}-near", every, rack="c"),)
    if kind in ("compacted", "hot", "small"):
        return (Reader(f"{name}-g", every),)
    if kind == "mixed":
        some = every[: max(count // 2, 1)]
        return (Reader(f"{name}-some", some), Reader(f"{name}-silent", every, commits=False))
    if kind == "slow":
        refetched = float(draw.uniform(1.0, 1.2))
        share = float(draw.uniform(0.3, 0.6))
        return (Reader(f"{name}-slow", every, share=share, refetched=refetched),)
    return ()
