"""A run of the executor on virtual time: copies take as long as the simulator's bandwidth allows.

The executor, its journal and its throttles are those of `kedge apply`. The cluster is in memory;
its moves are transfers of `kedge.sim`, over disks, links, and the throttles that the run has set.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from kedge.apply import Executor, Pacing, RunOptions, Runs, new_record, preview
from kedge.apply.throttles import Waiting
from kedge.cluster.memory import MemoryCluster
from kedge.cluster.memory_partitions import LOG_DIRS
from kedge.cluster.port import (
    Answers,
    Changes,
    ConfigOp,
    ConfigResource,
    LogDirDescription,
    ResourceKind,
    StoredReplica,
    TopicCreation,
)
from kedge.errors import KedgeError
from kedge.execution import Limits, RunKind
from kedge.execution.prediction import Rates, Timing
from kedge.model import Broker, BrokerId, TopicPartition
from kedge.plan import Change, Plan, Reassignment
from kedge.plan.throttles import (
    FOLLOWER_RATE,
    FOLLOWER_REPLICAS,
    LEADER_RATE,
    LEADER_REPLICAS,
)
from kedge.sim.bandwidth import UNLIMITED
from kedge.sim.clock import Clock
from kedge.sim.transfers import Resource, Transfer, Transfers

Sizes = Mapping[TopicPartition, int]


class CopyingCluster(MemoryCluster):
    """A cluster in memory whose moves take time."""

    def __init__(
        self, changes: Sequence[Change], sizes: Sizes, rates: Rates, timing: Timing
    ) -> None:
        ids = sorted({b for c in changes for b in (*c.before, *c.after)})
        super().__init__([Broker(b) for b in ids])
        self.hold_moves = True
        self.clock = Clock()
        self.first_start: int | None = None
        self.last_end = 0
        self._sizes, self._timing = sizes, timing
        self._transfers = Transfers(self.clock)
        self._copies: dict[TopicPartition, dict[BrokerId, Transfer]] = {}
        self._listed: dict[tuple[str, str], frozenset[str]] = {}
        for broker in ids:
            for link in ("out", "in"):
                self._transfers.set_capacity((link, broker), rates.network)
            self._transfers.set_capacity(("disk", broker), rates.disk)
            for throttle in (LEADER_RATE, FOLLOWER_RATE):
                self._transfers.set_capacity((throttle, broker), UNLIMITED)
        topics: dict[str, dict[int, tuple[BrokerId, ...]]] = {}
        for change in changes:
            topics.setdefault(change.tp.topic, {})[change.tp.partition] = change.before
        self.create_topics([TopicCreation(name, assignment=a) for name, a in topics.items()])

    # ---- throttles ----

    def alter_configs(
        self, changes: Changes, *, validate_only: bool = False
    ) -> Answers[ConfigResource]:
        """Set configs; rates apply to copies in progress, lists to those that start."""
        answers = super().alter_configs(changes, validate_only=validate_only)
        for resource, steps in {} if validate_only else changes.items():
            for step in steps:
                value = step.value if step.op is ConfigOp.SET else None
                if resource.kind is ResourceKind.BROKER:
                    rate = UNLIMITED if value is None else float(value)
                    self._transfers.set_capacity((step.name, BrokerId(int(resource.name))), rate)
                else:
                    self._listed[resource.name, step.name] = frozenset((value or "").split(","))
        return answers

    # ---- moves ----

    def alter_reassignments(
        self, targets: Mapping[TopicPartition, Sequence[BrokerId] | None]
    ) -> Answers[TopicPartition]:
        """Start moves: their copies begin a moment later."""
        answers = super().alter_reassignments(targets)
        self.first_start = self.clock.now_ms if self.first_start is None else self.first_start
        for tp in targets:
            self.clock.after(round(self._timing.start_s * 1000), lambda tp=tp: self._begin(tp))
        return answers

    def _begin(self, tp: TopicPartition) -> None:
        partition = self._partition(tp)
        leader = partition.leader
        assert leader is not None
        if not partition.assignment.adding:
            self._end(tp)
        for follower in partition.assignment.adding:
            self._copies.setdefault(tp, {})[follower] = self._transfers.start(
                float(self._sizes[tp]),
                self._path(tp, leader, follower),
                lambda follower=follower: self._arrived(tp, follower),
            )

    def _path(self, tp: TopicPartition, leader: BrokerId, follower: BrokerId) -> list[Resource]:
        path: list[Resource] = [
            *(("disk", leader), ("out", leader)),
            *(("in", follower), ("disk", follower)),
        ]
        for names, rate, broker in (
            (LEADER_REPLICAS, LEADER_RATE, leader),
            (FOLLOWER_REPLICAS, FOLLOWER_RATE, follower),
        ):
            if f"{tp.partition}:{broker}" in self._listed.get((tp.topic, names), frozenset()):
                path.append((rate, broker))
        return path

    def _arrived(self, tp: TopicPartition, follower: BrokerId) -> None:
        del self._copies[tp][follower]
        if not self._copies[tp]:
            self.clock.after(round(self._timing.in_sync_s * 1000), lambda: self._end(tp))

    def _end(self, tp: TopicPartition) -> None:
        self._copies.pop(tp, None)
        self._partition(tp).finish_reassignment(self.alive)
        self.last_end = self.clock.now_ms

    # ---- sizes ----

    def log_dirs(
        self, brokers: Sequence[BrokerId], topics: Sequence[str] | None = None
    ) -> dict[BrokerId, tuple[LogDirDescription, ...] | KedgeError]:
        """All replicas in one directory; a copy has the bytes that have arrived."""
        stored: dict[BrokerId, list[StoredReplica]] = {broker: [] for broker in brokers}
        for name, partitions in self._topics.items():
            for number, each in partitions.items():
                tp = TopicPartition(name, number)
                copies = self._copies.get(tp, {})
                for broker in each.assignment.replicas:
                    if broker in stored:
                        copy = copies.get(broker)
                        there = (
                            self._sizes[tp] if copy is None else self._transfers.arrived_bytes(copy)
                        )
                        stored[broker].append(StoredReplica(tp, int(there), 0))
        return {
            broker: (LogDirDescription(LOG_DIRS[0], tuple(replicas)),)
            for broker, replicas in stored.items()
        }


class SimulatedRun(NamedTuple):
    """How a run went: seconds from its first move to the end of its last, and in all."""

    moving_seconds: float
    seconds: float
    moved: int


def simulated_run(
    changes: Sequence[Change],
    sizes: Sizes,
    limits: Limits,
    rates: Rates,
    timing: Timing,
    state: Path,
) -> SimulatedRun:
    """Carry changes out on virtual time, by the executor of `kedge apply`."""
    cluster = CopyingCluster(changes, sizes, rates, timing)

    def sleep(seconds: float) -> None:
        cluster.clock.run_until(cluster.clock.now_ms + max(round(seconds * 1000), 1))

    def now() -> float:
        return cluster.clock.now_ms / 1000

    entries = tuple(Reassignment.anywhere(change.tp, change.after) for change in changes)
    plan = Plan(entries, {change.tp: change.before for change in changes}, cluster_id="memory")
    runs = Runs(state, "memory")
    record = new_record("memory", kind=RunKind.APPLY, rate=limits.rate, each_way=limits.each_way)
    files = runs.begin(plan, record)
    options = RunOptions(limits, ignore_health=True)
    judged = preview(cluster, plan, options, waiting=Waiting(sleep, now))
    pacing = Pacing(interval_s=timing.poll_s, sleep=sleep, clock=now)
    outcome = Executor(cluster, files, judged, pacing).carry_out()
    started = cluster.first_start or 0
    return SimulatedRun((cluster.last_end - started) / 1000, now(), outcome.moved)
