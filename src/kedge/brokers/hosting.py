"""One partition on one broker: leading it, following it, or neither."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from kedge.brokers.around import Around, Fetch, Fetched, IsrChange, IsrDecision
from kedge.brokers.disks import Disks
from kedge.brokers.leading import Leading
from kedge.brokers.log import ReplicaLog, divergence, meeting_point
from kedge.model import BrokerId, TopicPartition
from kedge.model.broker_requests import LeaderAndIsrEntry
from kedge.model.error_codes import ErrorCode

Acked = Callable[[int | None], None]  # the offset of a committed record, or None: nobody knows

# answers after which a leader goes back to the ISR it had: the change was certainly not made
_NOT_MADE = (ErrorCode.INELIGIBLE_REPLICA, ErrorCode.OPERATION_NOT_ATTEMPTED)
# answers after which it waits for a LeaderAndIsr: it is behind the times
_BEHIND = (
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.INVALID_REQUEST,
    ErrorCode.INVALID_UPDATE_VERSION,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
)


@dataclass(frozen=True, slots=True)
class Timings:
    """How patient a broker is, and how much it fetches at once."""

    lag_ms: int = 10_000  # replica.lag.time.max.ms
    backoff_ms: int = 500  # replica.fetch.backoff.ms, and between tries of an ISR change
    fetch_bytes_max: int = 256 << 20


class Host(Protocol):
    """What a hosted partition needs of its broker."""

    id: BrokerId
    disks: Disks
    around: Around
    timings: Timings
    live: frozenset[BrokerId]
    halted: bool


class Hosted:
    """The state of one partition in a broker's process; the log itself is on disk.

    `generation` counts changes of role: what was begun in an earlier one is ignored when it ends.
    """

    def __init__(self, host: Host, tp: TopicPartition, log: ReplicaLog) -> None:
        self.host = host
        self.tp = tp
        self.log = log
        self.leader: BrokerId | None = None
        self.leader_epoch = self.partition_epoch = self.controller_epoch = -1
        self.leading: Leading | None = None
        self.is_following = False
        self.generation = 0
        self._waiting: deque[tuple[int, Acked]] = deque()
        self._parked: dict[BrokerId, tuple[Fetch, Callable[[Fetched], None]]] = {}

    # ---- roles ----

    def lead(self, entry: LeaderAndIsrEntry) -> None:
        """Become the leader, or the leader of a later epoch."""
        before, now = self.leading, entry.leadership
        # a skipped epoch may have had another leader, and its followers may have truncated
        is_next_epoch = now.leader_epoch == self.leader_epoch + 1
        self._adopt(entry)
        replicas = entry.assignment.replicas
        self.leading = Leading(self.host.id, self.log, replicas, now.isr, self.host.around.now_ms)
        if before is not None and is_next_epoch:
            self.leading.retain(before)
        self._commit()

    def follow(self, entry: LeaderAndIsrEntry) -> None:
        """Become a follower, and begin to fetch."""
        self._adopt(entry)
        self._fail_waiting()
        self.is_following = True
        self._fetch()

    def stop(self) -> None:
        """Stop fetching; a leader that is told to stop goes on until its replica is deleted."""
        self.generation += self.is_following
        self.is_following = False

    def drop(self) -> None:
        """Be nothing any more: the replica is deleted, or its directory has failed."""
        self.generation += 1
        self.is_following = False
        self.leading = None
        self._refuse_parked()
        self._fail_waiting()

    def _adopt(self, entry: LeaderAndIsrEntry) -> None:
        now = entry.leadership
        self.generation += 1
        self.is_following, self.leading = False, None
        self.leader, self.leader_epoch = now.leader, now.leader_epoch
        self.partition_epoch, self.controller_epoch = now.partition_epoch, now.controller_epoch
        self._refuse_parked()

    # ---- leading ----

    def produce(self, identity: int, size_bytes: int, acked: Acked) -> bool:
        """Append a record for a producer that wants all in-sync replicas to have it (acks=all).

        False when it is refused outright: not the leader, or too few replicas in sync.
        """
        leading = self.leading
        if leading is None or len(leading.isr) < self.host.around.min_isr(self.tp.topic):
            return False
        self.log.append_new(identity, self.leader_epoch, size_bytes)
        self._waiting.append((self.log.end_offset - 1, acked))
        for fetch, reply in self._take_parked():
            reply(self._records_for(fetch))
        self._commit()
        return True

    def serve_fetch(self, fetch: Fetch, reply: Callable[[Fetched], None]) -> None:
        """Answer a follower now, or when there is something to tell."""
        leading = self.leading
        if (
            leading is None
            or fetch.leader_epoch != self.leader_epoch
            or fetch.follower not in leading.followers
        ):
            reply(Fetched(refused=True))
            return
        if fetch.offset < self.log.start_offset:
            reply(Fetched(start_offset=self.log.start_offset))
            return
        parted = divergence(self.log, fetch.offset, fetch.last_epoch)
        if parted is not None:
            reply(Fetched(diverged=parted))
            return
        leading.fetched(fetch.follower, fetch.offset, self.host.around.now_ms)
        self._commit()
        self._maybe_expand(leading, fetch.follower)
        if fetch.offset < self.log.end_offset:
            reply(self._records_for(fetch))
        else:
            self._parked[fetch.follower] = (fetch, reply)

    def _records_for(self, fetch: Fetch) -> Fetched:
        records = self.log.slice(fetch.offset, self.host.timings.fetch_bytes_max)
        directory = self.host.disks.directory_of(self.tp) or ""
        return Fetched(False, tuple(records), self.log.high_watermark, None, directory)

    def _commit(self) -> None:
        """Raise the high watermark, and tell the producers whose records it has passed."""
        leading = self.leading
        if leading is None:
            return
        leading.advance()
        enough = len(leading.isr) >= self.host.around.min_isr(self.tp.topic)
        while self._waiting and self._waiting[0][0] < self.log.high_watermark:
            offset, acked = self._waiting.popleft()
            acked(offset if enough else None)

    # ---- the in-sync replicas ----

    def _maybe_expand(self, leading: Leading, follower: BrokerId) -> None:
        if leading.proposed is None and follower in self.host.live and leading.may_join(follower):
            self._propose(leading, (*leading.isr, follower))

    def _maybe_expand_by_waiting(self) -> None:
        """Take in followers who wait for records: they fetched when it was not yet possible."""
        for follower in self._parked:
            if self.leading is not None:
                self._maybe_expand(self.leading, follower)

    def maybe_change_isr(self) -> None:
        """Take those out of the ISR who have not kept up, or somebody in."""
        self._maybe_expand_by_waiting()
        leading = self.leading
        if leading is None or leading.proposed is not None:
            return
        slow = leading.laggards(self.host.around.now_ms, self.host.timings.lag_ms)
        if slow:
            self._propose(leading, tuple(b for b in leading.isr if b not in slow))

    def _propose(self, leading: Leading, isr: tuple[BrokerId, ...]) -> None:
        leading.proposed = isr
        change = IsrChange(
            tp=self.tp,
            topic_id=self.log.topic_id,
            leader=self.host.id,
            leader_epoch=self.leader_epoch,
            partition_epoch=self.partition_epoch,
            controller_epoch=self.controller_epoch,
            isr=isr,
        )
        self._send_proposal(self.generation, change)

    def _send_proposal(self, generation: int, change: IsrChange) -> None:
        if not self._is_over(generation):
            self.host.around.propose_isr(
                change,
                lambda decision: self._on_decision(generation, change, decision),
                lambda: self._propose_again(generation, change),
            )

    def _propose_again(self, generation: int, change: IsrChange) -> None:
        # the very same change: whether the first try was carried out is not known
        delay_ms = self.host.timings.backoff_ms
        self.host.around.after(delay_ms, lambda: self._send_proposal(generation, change))

    def _on_decision(self, generation: int, change: IsrChange, decision: IsrDecision) -> None:
        leading = self.leading
        if self._is_over(generation) or leading is None:
            return
        if decision.error is ErrorCode.NONE:
            self._take_decision(leading, decision)
            self._maybe_expand_by_waiting()
        elif decision.error in _NOT_MADE:
            leading.proposed = None
        elif decision.error not in _BEHIND:
            self._propose_again(generation, change)

    def _take_decision(self, leading: Leading, decision: IsrDecision) -> None:
        if decision.leader_epoch != self.leader_epoch:
            return
        if decision.partition_epoch > self.partition_epoch:
            self.partition_epoch = decision.partition_epoch
            leading.isr = decision.isr
            leading.proposed = None
            self._commit()

    # ---- following ----

    def _fetch(self) -> None:
        generation, leader = self.generation, self.leader
        directory = self.host.disks.directory_of(self.tp) or ""
        end, epoch = self.log.end_offset, self.log.last_epoch
        fetch = Fetch(self.tp, self.host.id, self.leader_epoch, end, epoch, directory)
        assert leader is not None
        self.host.around.fetch(
            leader,
            fetch,
            lambda answer: self._on_fetched(generation, fetch, answer),
            lambda: self._fetch_later(generation),
        )

    def _on_fetched(self, generation: int, fetch: Fetch, answer: Fetched) -> None:
        if self._is_over(generation):
            return
        if answer.refused:
            self._fetch_later(generation)
            return
        if answer.start_offset is not None:
            self.log.begin_at(answer.start_offset)
        elif answer.diverged is not None:
            self.log.truncate(meeting_point(self.log, answer.diverged))
        else:
            assert fetch.offset == self.log.end_offset, "one fetch at a time"
            self.log.append(answer.records)
            known = min(answer.high_watermark, self.log.end_offset)
            self.log.high_watermark = max(self.log.high_watermark, known)
        self._fetch()

    def _fetch_later(self, generation: int) -> None:
        self.host.around.after(
            self.host.timings.backoff_ms,
            lambda: None if self._is_over(generation) else self._fetch(),
        )

    # ---- endings ----

    def _is_over(self, generation: int) -> bool:
        return self.host.halted or generation != self.generation

    def _take_parked(self) -> list[tuple[Fetch, Callable[[Fetched], None]]]:
        parked, self._parked = list(self._parked.values()), {}
        return parked

    def _refuse_parked(self) -> None:
        for _, reply in self._take_parked():
            reply(Fetched(refused=True))

    def _fail_waiting(self) -> None:
        waiting, self._waiting = self._waiting, deque()
        for _, acked in waiting:
            acked(None)
