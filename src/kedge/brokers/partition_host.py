"""One partition on one simulated broker: its role, fetching, commits and ISR changes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from kedge.brokers.disks import Disks
from kedge.brokers.environment import (
    Environment,
    FetchRequest,
    FetchResponse,
    IsrChange,
    IsrDecision,
)
from kedge.brokers.log import ReplicaLog, divergence, truncation_offset
from kedge.brokers.replication_progress import LeaderState
from kedge.model import BrokerId, TopicPartition
from kedge.model.broker_requests import LeaderAndIsrEntry
from kedge.model.error_codes import ErrorCode

AckCallback = Callable[[int | None], None]  # the offset of a committed record; None: unknown

# errors after which a leader keeps its current ISR: the change was certainly not made
_NOT_MADE = (ErrorCode.INELIGIBLE_REPLICA, ErrorCode.OPERATION_NOT_ATTEMPTED)
# errors after which it waits for a LeaderAndIsr request: its state is outdated
_OUTDATED = (
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.INVALID_REQUEST,
    ErrorCode.INVALID_UPDATE_VERSION,
    ErrorCode.UNKNOWN_TOPIC_ID,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
)


@dataclass(frozen=True, slots=True)
class Timings:
    """Timeouts of a broker, and the size of its fetches."""

    lag_ms: int = 10_000  # replica.lag.time.max.ms
    backoff_ms: int = 500  # replica.fetch.backoff.ms, and between attempts of an ISR change
    fetch_bytes_max: int = 256 << 20


class HostBroker(Protocol):
    """The broker of a hosted partition."""

    id: BrokerId
    disks: Disks
    environment: Environment
    timings: Timings
    live: frozenset[BrokerId]
    halted: bool


class HostedPartition:
    """The state of one partition in a broker's process; the log itself is on disk.

    `generation` counts role changes: callbacks of an earlier generation are ignored.
    """

    def __init__(self, host: HostBroker, tp: TopicPartition, log: ReplicaLog) -> None:
        self.host = host
        self.tp = tp
        self.log = log
        self.leader: BrokerId | None = None
        self.leader_epoch = self.partition_epoch = self.controller_epoch = -1
        self.leader_state: LeaderState | None = None
        self.is_following = False
        self.generation = 0
        self._unacked: deque[tuple[int, AckCallback]] = deque()
        self._parked: dict[BrokerId, tuple[FetchRequest, Callable[[FetchResponse], None]]] = {}

    # ---- roles ----

    def lead(self, entry: LeaderAndIsrEntry) -> None:
        """Become the leader, or the leader of a later epoch."""
        before, now = self.leader_state, entry.leadership
        # a skipped epoch may have had another leader, and its followers may have truncated
        is_next_epoch = now.leader_epoch == self.leader_epoch + 1
        self._adopt(entry)
        replicas = entry.assignment.replicas
        self.leader_state = LeaderState(
            self.host.id, self.log, replicas, now.isr, self.host.environment.now_ms
        )
        if before is not None and is_next_epoch:
            self.leader_state.retain(before)
        self._commit()

    def follow(self, entry: LeaderAndIsrEntry) -> None:
        """Become a follower, and start to fetch."""
        self._adopt(entry)
        self._fail_unacked()
        self.is_following = True
        self._fetch()

    def refresh(self, entry: LeaderAndIsrEntry) -> None:
        """Take over an ISR and replicas that changed within the leader epoch."""
        now = entry.leadership
        if now.partition_epoch <= self.partition_epoch:
            return
        self.partition_epoch = now.partition_epoch
        if self.leader_state is not None:
            now_ms = self.host.environment.now_ms
            self.leader_state.reassign(entry.assignment.replicas, now.isr, now_ms)
            self._commit()
            self._maybe_expand_by_parked()

    def stop(self) -> None:
        """Stop fetching; a leader continues until its replica is deleted."""
        self.generation += self.is_following
        self.is_following = False

    def drop(self) -> None:
        """End any role: the replica is deleted, or its directory has failed."""
        self.generation += 1
        self.is_following = False
        self.leader_state = None
        self._refuse_parked()
        self._fail_unacked()

    def _adopt(self, entry: LeaderAndIsrEntry) -> None:
        now = entry.leadership
        self.generation += 1
        self.is_following, self.leader_state = False, None
        self.leader, self.leader_epoch = now.leader, now.leader_epoch
        self.partition_epoch, self.controller_epoch = now.partition_epoch, now.controller_epoch
        self._refuse_parked()

    # ---- leading ----

    def produce(self, identity: int, size_bytes: int, acked: AckCallback) -> bool:
        """Append a record of a producer with acks=all.

        Returns False if this broker is not the leader or too few replicas are in sync.
        """
        leader_state = self.leader_state
        if leader_state is None or len(leader_state.isr) < self.host.environment.min_isr(
            self.tp.topic
        ):
            return False
        self.log.append_new(identity, self.leader_epoch, size_bytes)
        self._unacked.append((self.log.end_offset - 1, acked))
        for fetch, reply in self._take_parked():
            leader_state.waited(fetch.follower, self.host.environment.now_ms)
            reply(self._records_for(fetch))
        self._commit()
        return True

    def serve_fetch(self, fetch: FetchRequest, reply: Callable[[FetchResponse], None]) -> None:
        """Respond to a follower, at once or when the next record is appended."""
        leader_state = self.leader_state
        if (
            leader_state is None
            or fetch.leader_epoch != self.leader_epoch
            or fetch.follower not in leader_state.followers
        ):
            reply(FetchResponse(refused=True))
            return
        if fetch.offset < self.log.start_offset:
            reply(FetchResponse(start_offset=self.log.start_offset))
            return
        diverged = divergence(self.log, fetch.offset, fetch.last_epoch)
        if diverged is not None:
            reply(FetchResponse(diverged=diverged))
            return
        leader_state.fetched(fetch.follower, fetch.offset, self.host.environment.now_ms)
        self._commit()
        self._maybe_expand(leader_state, fetch.follower)
        if fetch.offset < self.log.end_offset:
            reply(self._records_for(fetch))
        else:
            self._parked[fetch.follower] = (fetch, reply)

    def _records_for(self, fetch: FetchRequest) -> FetchResponse:
        records = self.log.slice(fetch.offset, self.host.timings.fetch_bytes_max)
        directory = self.host.disks.directory_of(self.tp) or ""
        return FetchResponse(False, tuple(records), self.log.high_watermark, None, directory)

    def _commit(self) -> None:
        """Raise the high watermark, and acknowledge the records below it."""
        leader_state = self.leader_state
        if leader_state is None:
            return
        leader_state.advance()
        is_enough = len(leader_state.isr) >= self.host.environment.min_isr(self.tp.topic)
        while self._unacked and self._unacked[0][0] < self.log.high_watermark:
            offset, acked = self._unacked.popleft()
            acked(offset if is_enough else None)

    # ---- the in-sync replicas ----

    def _maybe_expand(self, leader_state: LeaderState, follower: BrokerId) -> None:
        if (
            leader_state.proposed is None
            and follower in self.host.live
            and leader_state.may_join(follower)
        ):
            self._propose(leader_state, (*leader_state.isr, follower))

    def _maybe_expand_by_parked(self) -> None:
        """Add caught-up followers whose fetch is parked: they could not join when they fetched."""
        for follower in self._parked:
            if self.leader_state is not None:
                self._maybe_expand(self.leader_state, follower)

    def maybe_change_isr(self) -> None:
        """Remove lagging followers from the ISR, or add one that has caught up."""
        self._maybe_expand_by_parked()
        leader_state = self.leader_state
        if leader_state is None or leader_state.proposed is not None:
            return
        lagging = leader_state.lagging(self.host.environment.now_ms, self.host.timings.lag_ms)
        if lagging:
            self._propose(leader_state, tuple(b for b in leader_state.isr if b not in lagging))

    def _propose(self, leader_state: LeaderState, isr: tuple[BrokerId, ...]) -> None:
        leader_state.proposed = isr
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
            self.host.environment.propose_isr(
                change,
                lambda decision: self._on_decision(generation, change, decision),
                lambda: self._propose_again(generation, change),
            )

    def _propose_again(self, generation: int, change: IsrChange) -> None:
        # the same change: whether the first attempt was applied is unknown
        delay_ms = self.host.timings.backoff_ms
        self.host.environment.after(delay_ms, lambda: self._send_proposal(generation, change))

    def _on_decision(self, generation: int, change: IsrChange, decision: IsrDecision) -> None:
        leader_state = self.leader_state
        if self._is_over(generation) or leader_state is None:
            return
        if decision.error is ErrorCode.NONE:
            self._apply_decision(leader_state, decision)
            self._maybe_expand_by_parked()
        elif decision.error in _NOT_MADE:
            leader_state.proposed = None
        elif decision.error not in _OUTDATED:
            self._propose_again(generation, change)

    def _apply_decision(self, leader_state: LeaderState, decision: IsrDecision) -> None:
        if decision.leader_epoch != self.leader_epoch:
            return
        if decision.partition_epoch > self.partition_epoch:
            self.partition_epoch = decision.partition_epoch
            leader_state.isr = decision.isr
            leader_state.proposed = None
            self._commit()

    # ---- following ----

    def _fetch(self) -> None:
        generation, leader = self.generation, self.leader
        directory = self.host.disks.directory_of(self.tp) or ""
        end, epoch = self.log.end_offset, self.log.last_epoch
        fetch = FetchRequest(self.tp, self.host.id, self.leader_epoch, end, epoch, directory)
        assert leader is not None
        self.host.environment.fetch(
            leader,
            fetch,
            lambda answer: self._on_fetched(generation, fetch, answer),
            lambda: self._fetch_later(generation),
        )

    def _on_fetched(self, generation: int, fetch: FetchRequest, answer: FetchResponse) -> None:
        if self._is_over(generation):
            return
        if answer.refused:
            self._fetch_later(generation)
            return
        if answer.start_offset is not None:
            self.log.begin_at(answer.start_offset)
        elif answer.diverged is not None:
            self.log.truncate(truncation_offset(self.log, answer.diverged))
        else:
            assert fetch.offset == self.log.end_offset, "one fetch at a time"
            self.log.append(answer.records)
            known = min(answer.high_watermark, self.log.end_offset)
            self.log.high_watermark = max(self.log.high_watermark, known)
        self._fetch()

    def _fetch_later(self, generation: int) -> None:
        self.host.environment.after(
            self.host.timings.backoff_ms,
            lambda: None if self._is_over(generation) else self._fetch(),
        )

    # ---- endings ----

    def _is_over(self, generation: int) -> bool:
        return self.host.halted or generation != self.generation

    def _take_parked(self) -> list[tuple[FetchRequest, Callable[[FetchResponse], None]]]:
        parked, self._parked = list(self._parked.values()), {}
        return parked

    def _refuse_parked(self) -> None:
        for _, reply in self._take_parked():
            reply(FetchResponse(refused=True))

    def _fail_unacked(self) -> None:
        waiting, self._unacked = self._unacked, deque()
        for _, acked in waiting:
            acked(None)
