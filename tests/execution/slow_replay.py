"""A replay that is slow and obvious: everything is computed anew at every moment.

Loads come from the replicas that are in sync, rates from progressive filling over all copies, and
what starts from `next_moves` with an observation, as a run does. One log directory per broker.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import TypeVar

from kedge.execution import Limits, Observation, Sizes, next_moves, statuses_of
from kedge.execution.prediction import Environment
from kedge.model import BrokerId, ReplicaAssignment, TopicPartition
from kedge.plan import Change, PartitionReplica

Key = TypeVar("Key")
Amounts = defaultdict[Key, float]

FLOOR = 0.05
TINY = 1e-7


@dataclass
class Copy:
    tp: TopicPartition
    source: BrokerId
    target: BrokerId
    size: float
    growth: float
    begins: float
    left: float
    copied: float = inf
    in_sync: float = inf
    rate: float = 0.0


@dataclass
class Slow:
    """The state of a replay, and what it has seen."""

    changes: Sequence[Change]
    sizes: Mapping[TopicPartition, int]
    leaders: Mapping[TopicPartition, BrokerId]
    limits: Limits
    environment: Environment
    copies: dict[TopicPartition, list[Copy]] = field(default_factory=dict)
    start: dict[TopicPartition, float] = field(default_factory=dict)
    end: dict[TopicPartition, float] = field(default_factory=dict)
    peak: dict[BrokerId, float] = field(default_factory=dict)
    next_poll: float = 0.0
    sent: Amounts[TopicPartition] = field(
        default_factory=lambda: defaultdict(float)
    )  # bytes through the links
    appended: Amounts[TopicPartition] = field(
        default_factory=lambda: defaultdict(float)
    )  # while copies ran

    # ---- what is there at a moment ----

    def in_sync(self, change: Change, now: float) -> set[BrokerId]:
        if change.tp in self.end:
            return set(change.after)
        added = {c.target for c in self.copies.get(change.tp, []) if c.in_sync <= now + TINY}
        return {*change.before, *added}

    def leader(self, change: Change) -> BrokerId:
        first = self.leaders[change.tp]
        return change.after[0] if change.tp in self.end and first not in change.after else first

    def loads(self, now: float) -> Amounts[Hashable]:
        found: Amounts[Hashable] = defaultdict(float)
        for change in self.changes:
            growth = self.environment.appended.get(change.tp, 0.0)
            replicas, leader = self.in_sync(change, now), self.leader(change)
            sent = growth * (len(replicas) - 1)
            found["out", leader] += sent + self.environment.consumed.get(change.tp, 0.0)
            if leader in change.before:
                found["throttle out", leader] += sent
            for broker in replicas:
                found["in", broker] += growth
                found["disk", broker] += growth
                if broker in change.added and broker != leader:
                    found["throttle in", broker] += growth
        return found

    def capacity(self, resource: tuple[str, BrokerId], load: float, growing: float) -> float:
        kind, _ = resource
        if kind.startswith("throttle"):
            left = inf if self.limits.rate is None else max(self.limits.rate - load, 0.0)
            share = self.environment.timing.throttle_share
            return left if left <= growing else growing + share * (left - growing)
        rates = self.environment.rates
        limit = rates.disk if kind == "disk" else rates.network
        return max(limit - load, FLOOR * limit)

    def used(self, now: float) -> Amounts[BrokerId]:
        found: Amounts[BrokerId] = defaultdict(float)
        for change in self.changes:
            size = self.sizes[change.tp]
            gone = now >= self.end.get(change.tp, inf) + self.environment.timing.delete_s - TINY
            for broker in change.before:
                if broker in change.after or not gone:
                    found[broker] += size
            for copy in self.copies.get(change.tp, []):
                found[copy.target] += size - copy.left
        return found

    # ---- what happens ----

    def active(self, now: float) -> list[Copy]:
        started = (c for copies in self.copies.values() for c in copies)
        return [c for c in started if c.begins <= now + TINY and c.copied == inf]

    def set_rates(self, now: float) -> None:
        """Progressive filling over everything."""
        loads, active = self.loads(now), self.active(now)
        uses = {id(c): path(c) for c in active}
        growing: Amounts[Hashable] = defaultdict(float)
        for copy in active:
            for resource in uses[id(copy)]:
                growing[resource] += copy.growth
        left = {r: self.capacity(r, loads[r], growing[r]) for each in uses.values() for r in each}
        full = dict(left)
        open_copies = list(active)
        while open_copies:
            count = Counter(r for c in open_copies for r in uses[id(c)])
            tightest = min(count, key=lambda r: left[r] / count[r])
            share = max(left[tightest], 0.0) / count[tightest]
            for copy in [c for c in open_copies if tightest in uses[id(c)]]:
                copy.rate = share
                open_copies.remove(copy)
                for resource in uses[id(copy)]:
                    left[resource] -= share
        for resource, amount in full.items():  # no link, disk or throttle gives more than it has
            taken = sum(c.rate for c in active if resource in uses[id(c)])
            assert taken <= amount * (1 + 1e-9)

    @property
    def begin_s(self) -> float:
        return self.environment.timing.read_s + self.environment.timing.start_s

    def poll(self, now: float) -> None:
        timing = self.environment.timing
        is_idle = all(tp in self.end for tp in self.copies)
        wait = 2 * timing.read_s if is_idle else 0.0
        self.next_poll = now + (wait or timing.poll_s + timing.read_s)
        moving = {tp: c for tp, c in self.copies.items() if c and tp not in self.end}
        by_tp = {change.tp: change for change in self.changes}
        seen = Observation(
            alive=frozenset(self.environment.brokers),
            replicas={c.tp: c.after if c.tp in self.end else c.before for c in self.changes},
            leaders={c.tp: self.leader(c) for c in self.changes},
            moving={
                tp: ReplicaAssignment(
                    (*by_tp[tp].after, *by_tp[tp].removed), by_tp[tp].added, by_tp[tp].removed
                )
                for tp in moving
            },
        )
        sizes = Sizes(
            {PartitionReplica(*c.tp, c.before[0]): self.sizes[c.tp] for c in self.changes}
        )
        waiting = [c for c in self.changes if c.tp not in self.end]
        statuses = statuses_of(waiting, seen)
        startable = [c for c in waiting if c.tp not in self.copies]
        chosen = next_moves(
            [c for c in waiting if c in startable or c.tp in moving],
            statuses,
            seen,
            each_way=self.limits.each_way,
            sizes=sizes,
        )
        for change in chosen:
            if change.tp in self.copies:
                continue
            size, growth = self.sizes[change.tp], self.environment.appended.get(change.tp, 0.0)
            source, begins = self.leaders[change.tp], now + self.begin_s
            self.start[change.tp] = now
            self.copies[change.tp] = [
                Copy(change.tp, source, target, size, growth, begins, size)
                for target in change.added
            ]

    def settle(self, now: float) -> None:
        """Note what is copied, in sync, and ended by now."""
        for change in self.changes:
            copies = self.copies.get(change.tp)
            if copies is None or change.tp in self.end:
                continue
            for copy in copies:
                if copy.copied == inf and copy.left <= TINY and copy.begins <= now + TINY:
                    copy.copied, copy.left = now, 0.0
                    copy.in_sync = now + self.environment.timing.in_sync_s
            begun = self.start[change.tp] + self.begin_s
            last = max((c.in_sync for c in copies), default=begun)
            if last <= now + TINY:
                self.end[change.tp] = now

    def next_moment(self, now: float) -> float:
        timing = self.environment.timing
        moments = [self.next_poll] if len(self.end) < len(self.changes) else []
        for copies in self.copies.values():
            for copy in copies:
                if copy.begins > now + TINY:
                    moments.append(copy.begins)
                elif copy.copied == inf and copy.rate > copy.growth:
                    moments.append(now + copy.left / (copy.rate - copy.growth))
                moments.append(copy.in_sync)
        moments += [end + timing.delete_s for end in self.end.values()]
        moments += [s + self.begin_s for s in self.start.values()]
        return min((m for m in moments if m > now + TINY), default=inf)

    def run(self, until: float) -> None:
        now = 0.0
        self.note_peaks(now)
        while now < until:
            self.settle(now)
            if now >= self.next_poll - TINY:
                self.poll(now)
            self.set_rates(now)
            later = self.next_moment(now)
            if later == inf:
                return
            for copy in self.active(now):
                progress = max(copy.rate - copy.growth, 0.0) * (later - now)
                copy.left -= progress
                self.sent[copy.tp] += copy.rate * (later - now)
                self.appended[copy.tp] += min(copy.rate, copy.growth) * (later - now)
            self.note_peaks(later, before_deletions=True)
            now = later

    def note_peaks(self, now: float, *, before_deletions: bool = False) -> None:
        moment = now - 10 * TINY if before_deletions else now
        for broker, amount in self.used(moment).items():
            self.peak[broker] = max(self.peak.get(broker, 0.0), amount)


def path(copy: Copy) -> list[tuple[str, BrokerId]]:
    return [
        *((kind, copy.source) for kind in ("disk", "out", "throttle out")),
        *((kind, copy.target) for kind in ("disk", "in", "throttle in")),
    ]
