"""Demands that no plan can meet, refused before anybody searches.

Each refusal names the goal that blocks and the least change that would make it possible. Only what
is certain is refused here; what merely may not be found is told after the search.
"""

from __future__ import annotations

import numpy as np

from kedge.balance.goals import RESOURCES, Goals
from kedge.balance.problem import Bools, Problem
from kedge.errors import InfeasibleGoals
from kedge.model.columns import text_list
from kedge.model.snapshot import Snapshot


def refuse_infeasible(snapshot: Snapshot, goals: Goals, fixed: Bools, problem: Problem) -> None:
    """Raise what makes the demand impossible."""
    if len(fixed) and fixed.all():
        raise InfeasibleGoals(
            "every partition is excluded or being moved already: there is nothing to plan",
            hint="leave at least one topic in",
        )
    _refuse_factors(snapshot, problem)
    if goals.strict_racks:
        _refuse_racks(snapshot, problem)
    _refuse_fixed_on_leaving(snapshot, goals, fixed, problem)
    _refuse_no_receiver(snapshot, problem)
    _refuse_counts(goals, problem)
    _refuse_capacity(goals, problem)
    _refuse_forced(goals, problem)


def _staying(problem: Problem) -> Bools:
    return ~problem.must_empty


def _refuse_factors(snapshot: Snapshot, problem: Problem) -> None:
    """More replicas than brokers."""
    brokers = int(_staying(problem).sum())
    over = np.flatnonzero(problem.wanted > brokers)
    if not len(over):
        return
    row = int(over[np.argmax(problem.wanted[over])])
    factor = int(problem.wanted[row])
    name = snapshot.assignment.key(row).topic
    raise InfeasibleGoals(
        f"replication factor {factor} of {name}, {brokers} brokers stay",
        hint=f"ask for {brokers} or keep {factor - brokers} more brokers",
    )


def _refuse_racks(snapshot: Snapshot, problem: Problem) -> None:
    """More replicas than racks, where no rack may hold two."""
    racks = len(np.unique(problem.rack[_staying(problem)]))
    over = np.flatnonzero(problem.wanted > racks)
    if not len(over):
        return
    factor = int(problem.wanted[over].max())
    row = int(over[np.argmax(problem.wanted[over])])
    name = snapshot.assignment.key(row).topic
    raise InfeasibleGoals(
        f"rack safety: {factor} replicas of {name} in {racks} racks, one rack each",
        hint=f"ask for {racks} replicas, add {factor - racks} racks, or drop --strict-racks",
    )


def _refuse_fixed_on_leaving(
    snapshot: Snapshot, goals: Goals, fixed: Bools, problem: Problem
) -> None:
    """Brokers to be emptied that hold what nobody may touch."""
    held = fixed[:, None] & (problem.home >= 0)
    stuck = held & problem.must_empty[problem.home]
    if not bool(stuck.any()):
        return
    row, place = (int(index[0]) for index in np.nonzero(stuck))
    broker = snapshot.brokers[int(problem.home[row, place])].id
    rows: list[int] = np.unique(np.nonzero(stuck)[0]).tolist()
    topics = sorted({snapshot.assignment.key(each).topic for each in rows})
    excluded = goals.topics is not None or goals.exclude_topics or goals.exclude_partitions
    why = "excluded" if excluded else "being moved already"
    hint = f"let {text_list(topics)} move" if excluded else "wait for the moves, or cancel them"
    raise InfeasibleGoals(
        f"broker {broker} must end empty and holds {int(stuck.sum())} replicas that are {why}",
        hint=f"{hint}, or keep broker {broker}",
    )


def _refuse_no_receiver(snapshot: Snapshot, problem: Problem) -> None:
    """Replicas that have to go somewhere, and nobody who may take them."""
    forced = int(problem.must_empty[problem.home[problem.home >= 0]].sum())
    missing = int(np.maximum(problem.wanted - (problem.home >= 0).sum(axis=1), 0).sum())
    if problem.may_receive.any() or not forced + missing:
        return
    raise InfeasibleGoals(
        f"{forced + missing} replicas need a new home and every broker is leaving or excluded",
        hint=f"let one of {text_list(broker.id for broker in snapshot.brokers)} receive",
    )


def _refuse_counts(goals: Goals, problem: Problem) -> None:
    """More replicas than brokers may hold together."""
    most = goals.max_replicas_per_broker
    brokers, total = int(_staying(problem).sum()), int(problem.wanted.sum())
    if most is not None and total > most * brokers:
        raise InfeasibleGoals(
            f"at most {most} replicas per broker: {brokers} brokers stay for {total} replicas",
            hint=f"allow {-(-total // max(1, brokers))}",
        )


def _refuse_capacity(goals: Goals, problem: Problem) -> None:
    """More load than all capacities together."""
    stays = _staying(problem)
    total = problem.leader_load.sum(axis=0) + (
        problem.follower_load * (problem.wanted - 1)[:, None]
    ).sum(axis=0)
    limit = problem.hard_limit[stays].sum(axis=0)
    for place, name in enumerate(RESOURCES):
        if total[place] > limit[place]:
            missing = total[place] - limit[place]
            raise InfeasibleGoals(
                f"capacity: {shown(total[place], name)} of {name} for brokers that may carry "
                f"{shown(limit[place], name)}",
                hint=f"add brokers for {shown(missing, name)}, or lift the limit of {name} to "
                f"{100 * (goals.limit_of(name) or 1) * total[place] / limit[place]:.0f} %",
            )


def _refuse_forced(goals: Goals, problem: Problem) -> None:
    """More bytes that must find a new home than there is room for."""
    home = problem.home
    there = home >= 0
    size = problem.size
    gone = (there & problem.must_empty[home]).sum(axis=1)
    missing = np.maximum(problem.wanted - there.sum(axis=1), 0)
    forced = float((size * (gone + missing)).sum())
    load = np.bincount(
        home[there], np.broadcast_to(size[:, None], home.shape)[there], minlength=problem.brokers
    )
    free = np.maximum(problem.hard_limit[:, 0] - load, 0)[problem.may_receive]
    largest = float(size[(gone + missing) > 0].max(initial=0))
    stuck = ~problem.may_give & _staying(problem)
    if stuck.any() and forced > free.sum():
        raise InfeasibleGoals(
            f"room: {shown(forced, 'disk')} must move and the brokers that may receive have room "
            f"for {shown(float(free.sum()), 'disk')}",
            hint=f"let brokers receive that have {shown(forced - float(free.sum()), 'disk')} free",
        )
    most = float(problem.hard_limit[problem.may_receive, 0].max(initial=0))
    if largest > most and forced:
        raise InfeasibleGoals(
            f"room: a replica of {shown(largest, 'disk')} must move and the largest disk that may "
            f"receive it holds {shown(most, 'disk')}",
            hint=f"add a broker with {shown(largest, 'disk')}",
        )


UNITS = ("B", "kB", "MB", "GB", "TB", "PB", "EB")


def shown(amount: float, resource: str) -> str:
    """A load for a sentence: bytes with their unit, cpu in percent."""
    if resource == "cpu":
        return f"{amount:.0f} %"
    step = 0
    while abs(amount) >= 999.5 and step < len(UNITS) - 1:
        amount, step = amount / 1000, step + 1
    text = f"{amount:.3g} {UNITS[step]}"
    return text if resource == "disk" else f"{text}/s"
