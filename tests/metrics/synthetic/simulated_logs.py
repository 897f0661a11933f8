"""Simulates logs, counters and readers of a drawn cluster, in ticks of a quarter of a second."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tests.metrics.synthetic.drawn_cluster import BEFORE_S, Cleanup, Cluster, Topic

TICKS = 4  # per second
SEGMENT = 1 << 20
COMMIT_S = 5
NO_LEADER = -1
Array = np.ndarray[Any, np.dtype[Any]]


@dataclass
class Logs:
    """All that happens to the logs of one topic; arrays have a row per partition."""

    cluster: Cluster
    topic: Topic
    draw: np.random.Generator

    @cached_property
    def ticks(self) -> int:
        return (BEFORE_S + self.cluster.seconds + 60) * TICKS

    def tick(self, second: float) -> int:
        """The tick of a second after the start of the recording."""
        return int(np.clip((second + BEFORE_S) * TICKS, 0, self.ticks - 1))

    # ---- producers ------------------------------------------------------------------------------

    @cached_property
    def appended(self) -> tuple[Array, Array]:
        """Records and bytes of each tick."""
        rate = np.array(self.topic.bytes_per_s)[:, None]
        size = np.array(self.topic.record_bytes)[:, None]
        shape = (len(rate), self.ticks)
        wave = 1 + 0.15 * np.sin(np.arange(self.ticks) / TICKS / self.draw.uniform(60, 300))
        records = self.draw.poisson(rate / size * wave / TICKS, shape).astype(float)
        noise = np.exp(self.draw.normal(0, 0.1, shape) - 0.005)
        bytes_ = np.where(records > 0, np.rint(records * size * noise) + 61, 0.0)
        return records, bytes_

    @cached_property
    def end_offset(self) -> Array:
        return np.cumsum(self.appended[0], axis=1)

    @cached_property
    def bytes(self) -> Array:
        return np.cumsum(self.appended[1], axis=1)

    # ---- replicas -------------------------------------------------------------------------------

    @cached_property
    def leader(self) -> Array:
        """The broker that leads, by partition and tick."""
        events = self.cluster.events
        first = np.array([each[0] for each in self.topic.replicas])
        leader = np.repeat(first[:, None], self.ticks, axis=1)
        for p, replicas in enumerate(self.replicas_after):
            if (self.topic.name, p) in (events.moved, events.reassigned_partition):
                hot = (self.topic.name, p) == events.moved
                at = self.tick(events.leader_moved if hot else events.reassigned + 15)
                leader[p, at:] = replicas[0]
            down, elected = self.tick(events.stopped), self.tick(events.elected)
            if leader[p, down] == events.broker:
                others = [b for b in replicas if b != events.broker]
                leader[p, down:elected] = others[0] if others else NO_LEADER
            leader[p, elected:] = replicas[0]
        return leader

    @cached_property
    def replicas_after(self) -> list[list[int]]:
        """The replicas after the moves."""
        events, ids = self.cluster.events, list(self.cluster.brokers)
        found: list[list[int]] = []
        for p, replicas in enumerate(self.topic.replicas):
            if (self.topic.name, p) == events.moved:
                replicas = [*replicas[1:], replicas[0]]
            elif (self.topic.name, p) == events.reassigned_partition:
                fresh = [b for b in ids if b not in replicas]
                replicas = [fresh[0], *replicas[1:]] if fresh else replicas
            found.append(replicas)
        return found

    def held(self, p: int) -> Iterator[tuple[int, int, int]]:
        """Broker, first and last tick of each replica of a partition."""
        at = self.tick(self.cluster.events.reassigned)
        for broker in dict.fromkeys([*self.topic.replicas[p], *self.replicas_after[p]]):
            before, after = broker in self.topic.replicas[p], broker in self.replicas_after[p]
            yield broker, 0 if before else at, self.ticks if after else at + 15 * TICKS

    def replica(self, p: int, broker: int, first: int) -> tuple[Array, Array, Array]:
        """Size, start and end offset of a replica by tick."""
        end, size = self.end_offset[p].copy(), self.bytes[p].copy()
        start = np.zeros(self.ticks)
        if self.topic.cleanup is Cleanup.RETENTION:
            start, removed = self._retention(p, broker)
            size = size - removed
        elif self.topic.cleanup is Cleanup.COMPACTION:
            size = self._compaction(p, broker)
        if first:  # it copies what is there, then follows
            copying = slice(first, first + 12 * TICKS)
            share = np.linspace(0, 1, 12 * TICKS)
            size[copying] *= share[: len(size[copying])]
            end[copying] = start[copying] + (end - start)[copying] * share[: len(end[copying])]
        return size, start, np.floor(end)

    def _retention(self, p: int, broker: int) -> tuple[Array, Array]:
        """Segments over 1 MB are deleted when the broker looks, every 30 s."""
        start, removed = np.zeros(self.ticks), np.zeros(self.ticks)
        bounds = np.searchsorted(self.bytes[p], np.arange(1, 400) * SEGMENT)
        gone = 0
        for at in range(self._phase(broker, 30), self.ticks, 30 * TICKS):
            rolled = int((bounds < at).sum())
            while gone < rolled - 1:
                gone += 1
            if gone:
                removed[at:] = self.bytes[p, bounds[gone - 1]]
                # the start is seen a moment before the size
                start[max(at - 2, 0) :] = self.end_offset[p, bounds[gone - 1]]
        return start, removed

    def _compaction(self, p: int, broker: int) -> Array:
        """Records older than 20 s are cleaned every 30 to 60 s; keys bound what stays."""
        size = self.bytes[p].copy()
        unique = 250_000.0 + 60_000 * (p % 3)
        cleaned_to, kept = 0, 0.6 * unique
        at = self._phase(broker, 30)
        while at < self.ticks:
            upto = max(at - 20 * TICKS, 0)
            dirty = self.bytes[p, upto] - self.bytes[p, cleaned_to]
            kept, cleaned_to = min(unique, kept + 0.3 * dirty), upto
            size[at:] = kept + self.bytes[p, at:] - self.bytes[p, cleaned_to]
            at += int(self.draw.integers(30, 60)) * TICKS
        return size

    def _phase(self, broker: int, seconds: int) -> int:
        return (broker * 7919) % (seconds * TICKS) + TICKS

    # ---- readers --------------------------------------------------------------------------------

    @cached_property
    def read(self) -> dict[str, Array]:
        """The offset that each reader has reached, by partition and tick."""
        found: dict[str, Array] = {}
        for reader in self.topic.readers:
            lag = int(self.draw.integers(1, 3))
            reached = np.zeros_like(self.end_offset)
            for p in reader.partitions:
                late = np.concatenate([np.zeros(lag), self.end_offset[p, :-lag]])
                begun = late[self.tick(-60)]
                if reader.share < 1:
                    late = np.minimum(late, begun + np.floor((late - begun) * reader.share))
                reached[p] = np.maximum(late, 0)
            found[reader.name] = reached
        return found

    def read_bytes(self, reader: str) -> Array:
        """Bytes of each tick that a reader got."""
        reached, got = self.read[reader], np.zeros_like(self.bytes)
        for p in range(len(reached)):
            at = np.interp(reached[p], self.end_offset[p], self.bytes[p])
            got[p, 1:] = np.maximum(np.diff(at), 0)
        return got

    def served_by(self, rack: str) -> Array:
        """The broker that serves each partition at each tick."""
        events, served = self.cluster.events, self.leader.copy()
        for p in range(len(served)):
            if not rack:
                continue
            for broker, first, last in self.held(p):
                if self.cluster.brokers[broker] == rack:
                    first = first + 15 * TICKS if first else 0
                    served[p, first:last] = broker
                    if broker == events.broker:
                        down = slice(self.tick(events.stopped), self.tick(events.started + 10))
                        served[p, down] = self.leader[p, down]
        return served

    @cached_property
    def out(self) -> Array:
        """Bytes of each tick that all readers got: the truth."""
        return sum((self.read_bytes(r.name) for r in self.topic.readers), np.zeros_like(self.bytes))

    def committed(self, reader: str, second: float) -> Array:
        """Offsets that a group had committed."""
        return self.read[reader][:, self.tick(second // COMMIT_S * COMMIT_S)]

    # ---- counters of brokers --------------------------------------------------------------------

    def up(self, broker: int) -> Array:
        up = np.ones(self.ticks, np.bool_)
        events = self.cluster.events
        if broker == events.broker:
            up[self.tick(events.stopped) : self.tick(events.started)] = False
        return up

    def counter(self, broker: int, name: str) -> Array:
        """A byte or message counter by tick; NaN where the broker has no such series."""
        up = self.up(broker)
        if name == "bytesout":
            amount = np.zeros(self.ticks)
            for reader in self.topic.readers:
                own = self.served_by(reader.rack) == broker
                amount += (self.read_bytes(reader.name) * own).sum(axis=0) * reader.refetched
            there = up & (_since_restart(amount, up) > 0)
        else:
            own = self.leader == broker
            amount = (self.appended[1 if name == "bytesin" else 0] * own).sum(axis=0)
            there = up & own.any(axis=0) & (self.bytes.sum(axis=0) > 0)
        return _counted(amount, there)


def _since_restart(amount: Array, up: Array) -> Array:
    total = np.cumsum(amount)
    base = np.maximum.accumulate(np.where(up, 0.0, total))
    return total - base


def _counted(amount: Array, there: Array) -> Array:
    """From 0 at each birth of the series; the first one has a past."""
    total = np.cumsum(amount)
    born = there & ~np.concatenate([[False], there[:-1]])
    before = np.concatenate([[0.0], total[:-1]])
    base = np.maximum.accumulate(np.where(born, before, 0.0))
    past = 7_654_321.0 if there[0] else 0.0
    first_life = np.cumsum(born) <= 1
    return np.where(there, total - base + np.where(first_life, past, 0.0), np.nan)
