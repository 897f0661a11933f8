"""Ending a run otherwise than by finishing it: give it up, take it back, tidy up after it."""

from __future__ import annotations

from dataclasses import replace

from kedge.apply.looking import observe, remove_throttles
from kedge.apply.runs import RunFiles, Runs
from kedge.cluster.port import Cluster
from kedge.errors import InvalidPlan
from kedge.execution import Ending, Standing, standings_of
from kedge.execution import journal as lines
from kedge.model import TopicPartition
from kedge.plan import Plan, inverse


def give_up(cluster: Cluster, run: RunFiles) -> list[TopicPartition]:
    """Cancel what is under way and remove the throttles; what has arrived stays where it is."""
    changes = run.plan().changes
    standings = standings_of(changes, observe(cluster, changes))
    moving = {c.tp: c.before for c in changes if standings[c.tp] is Standing.MOVING}
    # Sent back by name: a plain cancel would leave them in the order that the move wanted.
    for refusal in (cluster.alter_reassignments(moving) if moving else {}).values():
        if refusal is not None:
            raise refusal
    tidy(cluster, run)
    run.write(lines.ended(Ending.CANCELLED))
    return list(moving)


def tidy(cluster: Cluster, run: RunFiles) -> bool:
    """Remove the throttles that a run has left; whether there were any."""
    lease = run.state().lease
    if lease:
        remove_throttles(cluster, lease)
        run.write(lines.released())
    return bool(lease)


def tidy_all(cluster: Cluster, runs: Runs) -> list[RunFiles]:
    """Remove the throttles of every run that left some, except while its moves are under way."""
    tidied: list[RunFiles] = []
    for run in runs.unfinished():
        changes = run.plan().changes
        standings = standings_of(changes, observe(cluster, changes)).values()
        if Standing.MOVING not in standings and tidy(cluster, run):
            tidied.append(run)
    return tidied


def way_back(cluster: Cluster, run: RunFiles) -> Plan:
    """The plan that undoes what a run has done so far."""
    plan = run.plan()
    standings = standings_of(plan.changes, observe(cluster, plan.changes))
    touched = (Standing.DONE, Standing.MOVING)
    kept = [at for at, each in enumerate(plan.partitions) if standings[each.tp] in touched]
    if not kept:
        raise InvalidPlan(f"run {run.name} has moved nothing: there is nothing to take back")
    place = {old: new for new, old in enumerate(kept)}
    waves = (tuple(place[at] for at in wave if at in place) for wave in plan.waves)
    partial = replace(
        plan,
        partitions=tuple(plan.partitions[at] for at in kept),
        before={plan.partitions[at].tp: plan.before[plan.partitions[at].tp] for at in kept},
        reasons={},
        waves=tuple(wave for wave in waves if wave),
        summary=None,
    )
    return inverse(partial)
