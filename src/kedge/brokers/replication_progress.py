"""A leader's view of its followers: in-sync replicas, lagging replicas and the high watermark.

The ISR that counts is the *maximal* ISR (KIP-497): while an ISR change is in progress and its
outcome unknown, a record is committed only when the old and the new members all have it. No member
of any ISR that the controller may store then lacks a committed record.

A follower joins the ISR when it has reached the high watermark *and* the offset at which this
leadership began: right after an election the high watermark may be behind what was committed
before. It leaves when it has not been at the log end for the lag time.
"""

from __future__ import annotations

from collections.abc import Iterable

from kedge.brokers.log import ReplicaLog
from kedge.model import BrokerId


class FollowerProgress:
    """The progress of one follower, from its fetch requests."""

    __slots__ = ("caught_up_ms", "end_at_fetch", "end_offset", "fetched_ms")

    def __init__(self, now_ms: int) -> None:
        self.end_offset = -1  # unknown until it fetches
        self.caught_up_ms = now_ms
        self.fetched_ms = now_ms
        self.end_at_fetch = 0

    def fetched(self, offset: int, leader_end: int, now_ms: int) -> None:
        """Record that the follower has everything below an offset."""
        if offset >= leader_end:
            self.caught_up_ms = now_ms
        elif offset >= self.end_at_fetch:
            self.caught_up_ms = max(self.caught_up_ms, self.fetched_ms)
        self.end_offset, self.end_at_fetch, self.fetched_ms = offset, leader_end, now_ms


class LeaderState:
    """One leadership of one partition, from its LeaderAndIsr request to the next."""

    def __init__(
        self,
        me: BrokerId,
        log: ReplicaLog,
        replicas: Iterable[BrokerId],
        isr: tuple[BrokerId, ...],
        now_ms: int,
    ) -> None:
        self.me = me
        self.log = log
        self.start_offset = log.end_offset
        self.followers = {b: FollowerProgress(now_ms) for b in replicas if b != me}
        self.isr = isr
        self.proposed: tuple[BrokerId, ...] | None = None

    def retain(self, before: LeaderState) -> None:
        """Keep the followers' end offsets of this broker's leadership one epoch earlier.

        Only valid across consecutive epochs: then no other broker has led in between, and no
        follower has truncated its log to another leader's. Kafka keeps them across any gap.
        """
        for broker in self.followers:
            if broker in before.followers:
                self.followers[broker].end_offset = before.followers[broker].end_offset

    def reassign(
        self, replicas: Iterable[BrokerId], isr: tuple[BrokerId, ...], now_ms: int
    ) -> None:
        """Other replicas and another ISR within this leadership."""
        known = self.followers
        self.followers = {
            b: known.get(b) or FollowerProgress(now_ms) for b in replicas if b != self.me
        }
        self.isr, self.proposed = isr, None

    @property
    def maximal_isr(self) -> tuple[BrokerId, ...]:
        """The members of the current ISR and of the proposed one."""
        if self.proposed is None:
            return self.isr
        return self.isr + tuple(b for b in self.proposed if b not in self.isr)

    def fetched(self, follower: BrokerId, offset: int, now_ms: int) -> None:
        """Record a fetch request."""
        self.followers[follower].fetched(offset, self.log.end_offset, now_ms)

    def waited(self, follower: BrokerId, now_ms: int) -> None:
        """Record that a follower had all records until one was appended now."""
        if follower in self.followers:
            self.followers[follower].caught_up_ms = now_ms

    def advance(self) -> bool:
        """Raise the high watermark to what the maximal ISR has; returns whether it changed."""
        ends = [self.followers[b].end_offset for b in self.maximal_isr if b in self.followers]
        committed = min([self.log.end_offset, *ends])
        if committed <= self.log.high_watermark:
            return False
        self.log.high_watermark = committed
        return True

    def may_join(self, follower: BrokerId) -> bool:
        """Whether a follower outside the ISR has caught up."""
        if follower in self.maximal_isr or follower not in self.followers:
            return False
        end = self.followers[follower].end_offset
        return end >= self.log.high_watermark and end >= self.start_offset

    def lagging(self, now_ms: int, lag_ms: int) -> tuple[BrokerId, ...]:
        """Members of the ISR that have not kept up, or are no longer replicas."""
        return tuple(b for b in self.isr if b != self.me and self._lags(b, now_ms, lag_ms))

    def _lags(self, broker: BrokerId, now_ms: int, lag_ms: int) -> bool:
        progress = self.followers.get(broker)
        if progress is None:
            return True
        if progress.end_offset == self.log.end_offset:
            return False
        return now_ms - progress.caught_up_ms > lag_ms
