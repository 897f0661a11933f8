"""Observes how far a run is: its journal, its plan, and the cluster."""

from __future__ import annotations

from dataclasses import dataclass

from kedge.apply.cluster_time import speed_of
from kedge.apply.observe import observe, work_in
from kedge.apply.preview import target_of
from kedge.apply.run_port import OwnerSeen, Run, RunStore
from kedge.cluster.port import Cluster
from kedge.execution import (
    ENDED,
    Limits,
    MoveStatus,
    Observation,
    RunRecord,
    RunState,
    Statuses,
    Work,
    in_order,
    statuses_of,
)
from kedge.plan import Change

AT_REST = frozenset({*ENDED, RunState.STOPPED, RunState.FAILED})


@dataclass(frozen=True, slots=True)
class RunStatus:
    """A run at one moment; `state` has its rollback considered, the record's state has not."""

    name: str
    record: RunRecord
    state: RunState
    changes: tuple[Change, ...]
    statuses: Statuses
    seen: Observation
    work: Work
    owner: OwnerSeen | None = None  # of the cluster's runs, where the store knows it
    speed: float = 1.0  # of the cluster's time, beside ours
    has_process: bool | None = None  # whether any acts on the cluster's runs

    @property
    def at_rest(self) -> bool:
        """Whether no process carries the run out, by its journal."""
        return self.record.state in AT_REST

    @property
    def at_work(self) -> bool | None:
        """Whether a process carries the run or its rollback out; None where that is not known."""
        return False if self.state in AT_REST else self.has_process

    @property
    def limits(self) -> Limits:
        """How fast the run may go."""
        return Limits(self.record.rate, self.record.each_way)


def run_status(cluster: Cluster, runs: RunStore, run: Run) -> RunStatus:
    """Read the journal of a run and its partitions on the cluster."""
    record, plan = run.record(), run.plan()
    changes, target = tuple(in_order(plan)), target_of(plan, record.kind)
    found = observe(cluster, changes, target)
    statuses = statuses_of(changes, found.seen, target)
    work = work_in(found, changes, statuses, target, record.log_dirs)
    state, owner, speed = runs.state_of(run), runs.owner(), speed_of(runs.clock())
    acting = runs.has_process()
    seen = found.seen
    return RunStatus(run.name, record, state, changes, statuses, seen, work, owner, speed, acting)


def moved_partitions(cluster: Cluster, runs: RunStore, run: Run) -> int:
    """How many partitions of a run are in place: by its journal once it has ended."""
    moved = run.record().moved
    if moved is not None:
        return moved
    statuses = run_status(cluster, runs, run).statuses
    return sum(status is MoveStatus.DONE for status in statuses.values())
