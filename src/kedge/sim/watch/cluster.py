"""A simulated cluster: brokers, partitions that grow, reassignments, and the run of a proposal.

Copying is one move after the other at the rate of the run. A move that has started goes on without
the process that started it, as in Kafka; the next one needs a process at work, an open window, and
its brokers alive.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from kedge.execution.windows import is_open
from kedge.model import (
    Assignment,
    Broker,
    BrokerId,
    BrokerState,
    Capacity,
    Snapshot,
    TopicPartition,
)
from kedge.plan import Change
from kedge.watch.policy import Policy
from kedge.watch.proposals import Proposal
from kedge.watch.samples import Observed

CATCH_UP_S = 900.0  # from the return of a broker to its replicas in sync
STUCK_S = 7200.0  # a run whose next move is held up for so long fails
Replicas = tuple[BrokerId, ...]


@dataclass(slots=True)
class SimBroker:
    """One broker; `in_sync_from` is when its replicas have caught up."""

    rack: str | None
    capacity: float
    alive: bool = True
    in_sync_from: float = 0.0


@dataclass(slots=True)
class SimPartition:
    """One partition: replicas, those being added, its bytes, and bytes per second of growth."""

    replicas: Replicas
    size: float
    growth: float = 0.0
    leader: BrokerId | None = None
    target: Replicas | None = None
    adding: Replicas = ()


@dataclass(slots=True)
class SimRun:
    """The run of a proposal: what is left to move, and the move under way.

    `owner` is the process at work on it; None when that has died.
    """

    proposal: Proposal
    policy: Policy
    sizes: Mapping[TopicPartition, float]
    left: list[Change]
    owner: object | None
    moving: Change | None = None
    bytes_left: float = 0.0
    copied: float = 0.0
    held_since: float | None = None
    ended: str = ""  # done, or failed
    why: str = ""

    @property
    def windows_hold(self) -> bool:
        """Whether the windows of the policy apply to it."""
        approval = self.proposal.approval
        return approval is None or not approval.at_once


@dataclass(frozen=True, slots=True)
class Truth:
    """The cluster at the moment of a sample, for the checkers."""

    replicas: Mapping[TopicPartition, Replicas]
    missing: frozenset[TopicPartition]
    moving: frozenset[TopicPartition]
    alive: frozenset[BrokerId]


class SimCluster:
    """The cluster; time is passed by `advance`."""

    def __init__(self, now: float) -> None:
        self.now = now
        self.held_until = 0.0  # another process acts on the runs until then, and moves nothing
        self.intruder_s = 0.0  # for so long one will, once the next run is marked as begun
        self.brokers: dict[BrokerId, SimBroker] = {}
        self.partitions: dict[TopicPartition, SimPartition] = {}
        self.foreign: dict[TopicPartition, float] = {}  # when a foreign move ends
        self.runs: dict[str, SimRun] = {}
        self.on_move: Callable[[SimRun, Change], None] = lambda run, change: None
        self.on_copied: Callable[[SimRun, float], None] = lambda run, copied: None
        self.on_moved: Callable[[SimRun, Change], None] = lambda run, change: None

    # ---- what is seen ---------------------------------------------------------------------------

    def isr(self, partition: SimPartition) -> Replicas:
        """The replicas in sync: on live brokers that have caught up, and not being added."""
        return tuple(
            b
            for b in partition.replicas
            if b not in partition.adding and self._in_sync(b)
        )  # fmt: skip

    def _in_sync(self, broker: BrokerId) -> bool:
        found = self.brokers.get(broker)
        return found is not None and found.alive and found.in_sync_from <= self.now

    def truth(self) -> Truth:
        """What the checkers compare a decision with."""
        return Truth(
            {tp: each.replicas for tp, each in self.partitions.items()},
            frozenset(
                tp
                for tp, each in self.partitions.items()
                if len(self.isr(each)) < len(each.replicas) - len(each.adding)
            ),
            frozenset(tp for tp, each in self.partitions.items() if each.target is not None),
            frozenset(b for b, each in self.brokers.items() if each.alive),
        )

    def observe(self) -> Observed:
        """The cluster as a sample takes it."""
        self._elect()
        tps = sorted(self.partitions)
        rows = [self.partitions[tp] for tp in tps]
        assignment = Assignment.from_mapping({tp: self.partitions[tp].replicas for tp in tps})
        width = assignment.replicas.shape[1]
        held = {b for each in rows for b in each.replicas}
        snapshot = Snapshot.of(
            [self._described(b) for b in sorted(self.brokers) if self._listed(b, held)],
            assignment,
            wanted_rf=np.array([len(each.replicas) - len(each.adding) for each in rows]),
            leader=np.array([-1 if e.leader is None else e.leader for e in rows], np.int32),
            isr=_padded([self.isr(each) for each in rows], width),
            adding=_padded([each.adding for each in rows], width),
            size=np.array([int(each.size) for each in rows]),
        )
        return Observed(self.now, snapshot)

    def _listed(self, broker: BrokerId, held: set[BrokerId]) -> bool:
        return self.brokers[broker].alive or broker in held

    def _described(self, broker: BrokerId) -> Broker:
        each = self.brokers[broker]
        if not each.alive:
            return Broker(broker, state=BrokerState.DEAD)
        return Broker(broker, each.rack, capacity=Capacity(disk=each.capacity))

    def _elect(self) -> None:
        for each in self.partitions.values():
            in_sync = self.isr(each)
            if each.leader not in in_sync:
                each.leader = next(iter(in_sync), None)

    # ---- time -----------------------------------------------------------------------------------

    def advance(self, seconds: float) -> None:
        """Let time pass: partitions grow, moves copy and end."""
        end = self.now + seconds
        while self.now < end:
            step = min(300.0, end - self.now)
            self.now += step
            for each in self.partitions.values():
                each.size += each.growth * step
            self._end_foreign()
            for run in self.runs.values():
                if not run.ended:
                    self._work(run, step)

    def _end_foreign(self) -> None:
        for tp in [tp for tp, at in self.foreign.items() if at <= self.now]:
            del self.foreign[tp]
            self._settle(tp)

    def _settle(self, tp: TopicPartition) -> None:
        each = self.partitions[tp]
        if each.target is not None:
            each.replicas, each.target, each.adding = each.target, None, ()

    # ---- the lock of the runs -------------------------------------------------------------------

    @property
    def is_held(self) -> bool:
        """Whether another process acts on the runs, as one whose own run is paused."""
        return self.held_until > self.now

    def let_intruder_in(self) -> None:
        """A process that locks the runs just before a run of the loop does."""
        if self.intruder_s:
            self.held_until, self.intruder_s = self.now + self.intruder_s, 0.0

    # ---- the run of a proposal ------------------------------------------------------------------

    def _work(self, run: SimRun, seconds: float) -> None:
        rate = float(run.policy.throttle or 100e6)
        while seconds > 0 and not run.ended:
            if run.moving is None and not self._next_move(run):
                return
            assert run.moving is not None
            if not self._can_copy(run.moving):
                self._held(run, "a broker of the move is down")
                return
            part = min(run.bytes_left, rate * seconds)
            seconds -= max(part / rate, 1.0)
            run.bytes_left -= part
            run.copied += part
            run.held_since = None
            self.on_copied(run, part)
            if run.bytes_left <= 0:
                self._moved(run, run.moving)

    def _next_move(self, run: SimRun) -> bool:
        if not run.left:
            self._end(run, "done", "")
            return False
        if run.owner is None:
            return False
        if run.windows_hold and not is_open(run.policy.budget.windows, self.now):
            return False
        change = run.left[0]
        partition = self.partitions.get(change.tp)
        if partition is None or partition.replicas != change.before or change.tp in self.foreign:
            self._end(run, "failed", f"{change.tp} was changed by another client")
            return False
        if not self._can_copy(change):
            self._held(run, "a broker of the next move is down")
            return False
        self.on_move(run, change)
        run.left.pop(0)
        run.moving, run.bytes_left = change, run.sizes[change.tp] * len(change.added)
        partition.target, partition.adding = change.after, change.added
        kept = (b for b in change.before if b not in change.after)
        partition.replicas = (*change.after, *kept)
        return True

    def _can_copy(self, change: Change) -> bool:
        added = all(self._alive(b) for b in change.added)
        return added and any(self._in_sync(b) for b in change.before)

    def _alive(self, broker: BrokerId) -> bool:
        return broker in self.brokers and self.brokers[broker].alive

    def _held(self, run: SimRun, why: str) -> None:
        run.held_since = run.held_since or self.now
        if self.now - run.held_since >= STUCK_S:
            self.fail(run, why)

    def _moved(self, run: SimRun, change: Change) -> None:
        self._settle(change.tp)
        run.moving = None
        self.on_moved(run, change)

    def _end(self, run: SimRun, how: str, why: str) -> None:
        run.ended, run.why, run.owner = how, why, None

    def fail(self, run: SimRun, why: str) -> None:
        """End a run with an error; its move under way is cancelled."""
        if run.moving is not None:
            partition = self.partitions[run.moving.tp]
            partition.replicas, partition.target = run.moving.before, None
            partition.adding = ()
            run.moving = None
        self._end(run, "failed", why)

    def begin(self, proposal: Proposal, policy: Policy, owner: object) -> SimRun:
        """Begin the run of a proposal; an election is done at once."""
        changes = [] if proposal.plan is None else proposal.plan.changes
        sizes = {change.tp: self.partitions[change.tp].size for change in changes}
        run = SimRun(proposal, policy, sizes, list(changes), owner)
        self.runs[proposal.id] = run
        for tp in proposal.elect:
            each = self.partitions[tp]
            if each.replicas[0] in self.isr(each):
                each.leader = each.replicas[0]
        return run


def _padded(lists: list[Replicas], width: int) -> np.ndarray:
    matrix = np.full((len(lists), width), -1, np.int32)
    for row, ids in enumerate(lists):
        matrix[row, : len(ids)] = ids
    return matrix
