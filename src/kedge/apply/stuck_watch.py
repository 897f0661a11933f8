"""Watches the moves of a run: which are stuck and why, and which rate they need."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from kedge.apply.move_bytes import bytes_of, growing, sizes_of, under_way
from kedge.apply.observe import Found
from kedge.cluster.port import Cluster, LogDirDescription
from kedge.errors import KedgeError
from kedge.execution import MoveStatus, Statuses
from kedge.execution.stuck_moves import (
    NONE_NEEDED,
    GrowthMeter,
    Idle,
    MoveWatch,
    NeededRate,
    StuckEvidence,
    needed_rate,
    why_stuck,
)
from kedge.model import BrokerId, TopicPartition
from kedge.plan import Change, PartitionReplica


@dataclass(slots=True)
class StuckWatch:
    """What is remembered of the moves of a run from poll to poll."""

    cluster: Cluster
    changes: Sequence[Change]
    stuck_after_s: float
    clock: Callable[[], float]
    needed: NeededRate = NONE_NEEDED
    _watch: MoveWatch = field(default_factory=MoveWatch)
    _growth: GrowthMeter = field(default_factory=GrowthMeter)
    _explained: set[TopicPartition] = field(default_factory=set[TopicPartition])
    _down_since: dict[BrokerId, float] = field(default_factory=dict[BrokerId, float])

    def newly_stuck(
        self, statuses: Statuses, found: Found, rate: int | None
    ) -> dict[TopicPartition, str]:
        """The moves that were not stuck before and are now, with the reason; updates `needed`."""
        moving, now = under_way(self.changes, statuses), self.clock()
        growth = self._growth.at(now, sizes_of(moving, found))
        self.needed = needed_rate(growing(moving, found, growth))
        idle = self._watch.at(now, bytes_of(moving, found))
        late = [change for change in moving if self._is_stuck(idle[change.tp], rate)]
        new = [change for change in late if change.tp not in self._explained]
        self._explained = {change.tp for change in late}
        return {change.tp: self._why(change, found, rate, idle[change.tp]) for change in new}

    def _is_stuck(self, idle: Idle, rate: int | None) -> bool:
        starved = rate is not None and self.needed.rate > rate
        without = idle.without_end_s if starved else idle.without_bytes_s
        return without >= self.stuck_after_s

    def _why(self, change: Change, found: Found, rate: int | None, idle: Idle) -> str:
        destinations = tuple(change.added) or tuple(change.after)
        dirs = self._log_dirs(destinations, found)
        left = found.sizes.of_partition(change)
        here = [PartitionReplica(*change.tp, broker) for broker in destinations]
        evidence = StuckEvidence(
            leader=found.seen.leaders.get(change.tp),
            destinations=destinations,
            down=tuple(b for b in destinations if b not in found.seen.alive),
            without_replica=tuple(r.broker for r in here if r not in found.sizes.replicas),
            offline_log_dirs=tuple(
                f"{each.path} on broker {b}" for b, each in dirs if each.error is not None
            ),
            full_log_dirs=tuple(
                f"{each.path} on broker {b}"
                for b, each in dirs
                if each.usable_bytes is not None and each.usable_bytes < left
            ),
            rate=rate,
            needed=self.needed,
        )
        minutes = idle.without_bytes_s / 60
        new = f"no new bytes for {minutes:.0f} min" if minutes >= 1 else "no fewer bytes left"
        return f"{new}: {why_stuck(evidence)}"

    def _log_dirs(
        self, brokers: Sequence[BrokerId], found: Found
    ) -> list[tuple[BrokerId, LogDirDescription]]:
        alive = [broker for broker in brokers if broker in found.seen.alive]
        answers = self.cluster.log_dirs(alive, []) if alive else {}
        return [
            (broker, each)
            for broker, answer in answers.items()
            if not isinstance(answer, KedgeError)
            for each in answer
        ]

    def waiting_in_vain(self, statuses: Statuses, found: Found) -> dict[TopicPartition, str]:
        """Moves that wait for a broker which has been down for too long, with the reason."""
        now, alive = self.clock(), found.seen.alive
        waited = {
            broker: change.tp
            for change in self.changes
            if statuses[change.tp] is MoveStatus.WAITING
            for broker in change.after
            if broker not in alive
        }
        self._down_since = {broker: self._down_since.get(broker, now) for broker in waited}
        gone = {b for b, since in self._down_since.items() if now - since >= self.stuck_after_s}
        return {
            change.tp: f"broker {min(gone & set(change.after))} is down for "
            f"{self.stuck_after_s / 60:.0f} min"
            for change in self.changes
            if statuses[change.tp] is MoveStatus.WAITING and gone & set(change.after)
        }
