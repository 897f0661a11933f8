"""The jobs of an operator, each a plan with its own goals, checks, preparation and ending.

    drain        moves everything off brokers that leave, and makes sure that nothing is left there
    fill         moves load onto brokers that are new or empty
    replication  gives topics another replication factor
    balance      evens out what brokers carry

A job is carried out by `propose` and `apply.carry_out`, as any other plan:

    job.check(snapshot)                       refuses what cannot be done, before it is planned
    job.nothing_to_do(snapshot)               why there is nothing to plan, if so
    plan = plan_of(snapshot, job.goals(…))
    proposal = propose(cluster, runs, plan, options, job)
    run, outcome = carry_out(cluster, runs, proposal, pacing)
        job.prepare(cluster, run)             once the run has begun, before it acts
    job.finish(cluster, waiting)              checks the result on the cluster
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np

from kedge.apply import cordons, drain
from kedge.apply.commands import Proposal, allowed, propose_apply
from kedge.apply.preview import RunOptions
from kedge.apply.run_port import Run, RunStore
from kedge.apply.run_store import PLAN, RunFiles
from kedge.apply.throttles import Waiting
from kedge.cluster.port import Cluster
from kedge.cluster.snapshot_taker import take_snapshot
from kedge.errors import RefusedCommand, UnknownBroker
from kedge.execution import Verb, counted, named
from kedge.files.plan_files import write_plan_snapshot
from kedge.model import BrokerId, Snapshot
from kedge.model.runs_topic import RUNS_TOPIC

if TYPE_CHECKING:
    from kedge.balance import Goals
    from kedge.plan import Plan


@dataclass(frozen=True, slots=True)
class Ending:
    """How a job ended on the cluster, beyond its moves: sentences, fields for programs, success."""

    lines: Sequence[str] = ()
    row: Mapping[str, object] = field(default_factory=dict[str, object])
    complete: bool = True


class Job:
    """One job; the methods of this class are those of a job without specials."""

    name = "job"
    question = "Apply this plan?"

    def check_cluster(self, cluster: Cluster) -> None:
        """Refuse what this cluster cannot do."""

    def check(self, snapshot: Snapshot) -> None:
        """Refuse what cannot be done with the cluster as it is."""

    def nothing_to_do(self, snapshot: Snapshot) -> str | None:
        """Why nothing is to be planned, or None."""
        return None

    def goals(self, goals: Goals) -> Goals:
        """The goals that the operator has given, with those of the job."""
        return goals

    def goals_on(self, snapshot: Snapshot, goals: Goals) -> Goals:
        """The goals without what the snapshot does not know and the job does besides."""
        return goals

    def check_end(self, cluster: Cluster) -> str | None:
        """With nothing to move: refuse an ending that cannot be; returns what to ask first."""
        return None

    def prepare(self, cluster: Cluster, run: Run | None) -> list[str]:
        """Change what must be changed before moves start, with a line in the journal of the run
        first; returns notes on it. There is no run where nothing is to be moved."""
        return []

    def finish(self, cluster: Cluster, waiting: Waiting) -> Ending:
        """Check the result, and do what comes after the moves."""
        return Ending()


@dataclass(frozen=True)
class Balance(Job):
    """Evens out what brokers carry."""

    name = "balance"


@dataclass(frozen=True)
class Fill(Job):
    """Moves load onto brokers."""

    brokers: tuple[BrokerId, ...]
    name = "fill"

    def check(self, snapshot: Snapshot) -> None:
        _check_known(snapshot, self.brokers)
        down = [broker for broker in self.brokers if not _state_stays(snapshot, broker)]
        if down:
            raise RefusedCommand(
                f"Broker {named(down)} is down and can receive nothing",
                hint="start it, or leave it out",
            )

    def goals(self, goals: Goals) -> Goals:
        from kedge.balance import NewBroker

        return replace(goals, add_brokers=tuple(NewBroker(broker) for broker in self.brokers))


@dataclass(frozen=True)
class Replication(Job):
    """Gives topics another replication factor; names may be patterns."""

    factors: Mapping[str, int]
    name = "replication"

    def goals(self, goals: Goals) -> Goals:
        return replace(goals, replication_factor=dict(self.factors))


@dataclass(frozen=True)
class Drain(Job):
    """Moves everything off brokers; then unregisters them if that is wanted."""

    brokers: tuple[BrokerId, ...]
    unregister: bool = False
    allow_down: bool = False
    name = "drain"

    def check_cluster(self, cluster: Cluster) -> None:
        if self.unregister:
            drain.check_registrations(cluster)

    def check(self, snapshot: Snapshot) -> None:
        held = _held(snapshot, self.brokers)
        if not self.unregister:
            _check_known(snapshot, self.brokers)
        for broker in self.brokers:
            if held[broker] and not _state_stays(snapshot, broker) and not self.allow_down:
                raise RefusedCommand(
                    f"Broker {broker} is down and holds {held[broker]} replicas",
                    hint="start it first, or use --ignore-health to copy from the other replicas",
                )
        if not self._staying(snapshot) and any(held.values()):
            raise RefusedCommand(
                f"{_listed(self.brokers)}: no other broker is alive to take the replicas",
                hint="keep at least one broker, or add one",
            )

    def nothing_to_do(self, snapshot: Snapshot) -> str | None:
        if any(_held(snapshot, self.brokers).values()):
            return None
        verb = "holds" if len(self.brokers) == 1 else "hold"
        return f"Nothing to move: {_listed(self.brokers).lower()} {verb} no replica"

    def goals(self, goals: Goals) -> Goals:
        return replace(goals, remove_brokers=frozenset(map(int, self.brokers)))

    def goals_on(self, snapshot: Snapshot, goals: Goals) -> Goals:
        """A broker that is stopped and holds nothing is not in the metadata: it is unregistered."""
        known = {int(broker.id) for broker in snapshot.brokers}
        goals = replace(goals, remove_brokers=goals.remove_brokers & known)
        return self._with_room_for_runs(snapshot, goals)

    def _with_room_for_runs(self, snapshot: Snapshot, goals: Goals) -> Goals:
        """The topic of runs has as many replicas as brokers stay: it stops no drain."""
        wanted = snapshot.wanted_rf[snapshot.assignment.rows_of_topic(RUNS_TOPIC)]
        staying = len(self._staying(snapshot))
        if RUNS_TOPIC in goals.replication_factor or not len(wanted) or wanted.max() <= staying:
            return goals
        return replace(goals, replication_factor={**goals.replication_factor, RUNS_TOPIC: staying})

    def _staying(self, snapshot: Snapshot) -> list[BrokerId]:
        return [b.id for b in snapshot.brokers if b.state.stays and b.id not in self.brokers]

    def check_end(self, cluster: Cluster) -> str | None:
        if not self.unregister:
            cordonable = cordons.cordonable(cluster, self.brokers)
            return f"Cordon broker {named(cordonable)}?" if cordonable else None
        drain.refuse_alive(cluster, self.brokers)
        return f"Unregister broker {named(self.brokers)}?"

    def prepare(self, cluster: Cluster, run: Run | None) -> list[str]:
        cordonable = cordons.cordonable(cluster, self.brokers)
        cordons.cordon(cluster, cordonable, run)
        if not cordonable:
            return []
        return [f"{_listed(cordonable)} cordoned: no new replica is placed there"]

    def finish(self, cluster: Cluster, waiting: Waiting) -> Ending:
        left = drain.what_is_left(cluster, self.brokers, waiting)
        row: dict[str, object] = {
            "brokers": list(self.brokers),
            "left_on_brokers": {str(b): list(map(str, tps)) for b, tps in left.replicas.items()},
            "offline_log_dirs": {str(broker): paths for broker, paths in left.offline.items()},
            "unregistered": [],
        }
        if not left.empty:
            lines = [
                f"{counted(tps, 'replica')} left on broker {broker} ({named(tps)})"
                for broker, tps in left.replicas.items()
            ]
            return Ending([*lines, "Run the same command again to move them"], row, False)
        lines = [self._empty_line(left)]
        if not self.unregister:
            return Ending(lines, row)
        return self._unregistered(cluster, lines, row)

    def _empty_line(self, left: drain.Remains) -> str:
        """That the brokers are empty, and which log directories that is not known of."""
        are = "is" if len(self.brokers) == 1 else "are"
        line = f"{_listed(self.brokers)} {are} empty"
        if not left.unread:
            return line
        silent = [broker for broker in left.unread if broker not in left.offline]
        unknown = [f"no log directory read of {_listed(silent)}"] if silent else []
        unknown += [
            f"what broker {broker} holds in {named(paths)} is not known: offline"
            for broker, paths in left.offline.items()
        ]
        return f"{line} in the metadata; {'; '.join(unknown)}"

    def _unregistered(self, cluster: Cluster, lines: list[str], row: dict[str, object]) -> Ending:
        try:
            removed = drain.unregister(cluster, self.brokers)
        except RefusedCommand as refusal:
            return Ending([*lines, f"Not unregistered: {refusal}"], row, False)
        row["unregistered"] = removed
        absent = [broker for broker in self.brokers if broker not in removed]
        lines += [f"{_listed(removed)} unregistered"] if removed else []
        lines += [f"Not registered (any more): broker {named(absent)}"] if absent else []
        return Ending(lines, row)


# ---- planning and proposing ---------------------------------------------------------------------


def snapshot_for(cluster: Cluster, runs: RunStore, job: Job) -> Snapshot:
    """The snapshot that a job is planned from; refuses what can be refused before planning."""
    job.check_cluster(cluster)
    if runs.all():
        allowed(Verb.APPLY, runs, runs.chosen(None))
    snapshot = take_snapshot(cluster, taken_at=datetime.now(UTC).replace(microsecond=0))
    job.check(snapshot)
    return snapshot


def propose(
    cluster: Cluster, runs: RunStore, plan: Plan, options: RunOptions, job: Job
) -> Proposal:
    """What carrying the plan of a job out would do."""
    return propose_apply(cluster, runs, plan, options, f"kedge {job.name}")


def keep_snapshot(run: Run, snapshot: Snapshot) -> None:
    """Write the snapshot that a plan was made from beside the plan of a run on disk."""
    if isinstance(run, RunFiles):
        write_plan_snapshot(snapshot, run.directory / PLAN)


# ---- brokers ------------------------------------------------------------------------------------


def _check_known(snapshot: Snapshot, brokers: Sequence[BrokerId]) -> None:
    known = {broker.id for broker in snapshot.brokers}
    for broker in brokers:
        if broker not in known:
            raise UnknownBroker(
                f"Broker {broker} is not in the cluster",
                hint=f"its brokers are {named(sorted(known))}",
            )


def _state_stays(snapshot: Snapshot, broker: BrokerId) -> bool:
    return any(each.id == broker and each.state.stays for each in snapshot.brokers)


def _held(snapshot: Snapshot, brokers: Sequence[BrokerId]) -> dict[BrokerId, int]:
    """How many replicas each broker holds, those that arrive or leave included."""
    replicas = snapshot.assignment.replicas
    return {broker: int(np.count_nonzero(replicas == broker)) for broker in brokers}


def _listed(brokers: Sequence[BrokerId]) -> str:
    return f"{'Broker' if len(brokers) == 1 else 'Brokers'} {named(brokers)}"
