"""Watches the moves of a run: which are stuck and why, and which rate they need."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from kedge.apply.destinations import time_text
from kedge.apply.move_bytes import bytes_of, growing, sizes_of, under_way
from kedge.apply.observe import Found
from kedge.cluster.port import Cluster, LogDirDescription
from kedge.errors import KedgeError
from kedge.execution import Statuses
from kedge.execution.stuck_moves import (
    NONE_NEEDED,
    GrowthMeter,
    Idle,
    MoveWatch,
    NeededRate,
    StuckEvidence,
    StuckReason,
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

    def newly_stuck(
        self, statuses: Statuses, found: Found, rate: int | None
    ) -> dict[TopicPartition, StuckReason]:
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

    def _why(self, change: Change, found: Found, rate: int | None, idle: Idle) -> StuckReason:
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
        reason = why_stuck(evidence)
        idle_s = idle.without_bytes_s
        new = f"no new bytes for {time_text(idle_s)}" if idle_s >= 1 else "no fewer bytes left"
        return reason._replace(why=f"{new}: {reason.why}")

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
