"""Refuse goals that no plan can meet, before the search.

Each refusal names the goal that blocks and the least change that would make it possible. Only what
is certain is refused here; what the search may fail to find is reported after it.
"""

from __future__ import annotations

from math import ceil

import numpy as np

from kedge.balance.goals.goals import RESOURCES, Goals
from kedge.balance.goals.problem import Bools, Problem
from kedge.errors import InfeasibleGoals
from kedge.model.columns import text_list
from kedge.model.snapshot import Snapshot


def refuse_infeasible(snapshot: Snapshot, goals: Goals, fixed: Bools, problem: Problem) -> None:
    """Raise InfeasibleGoals for the first goal that cannot be met."""
    if len(fixed) and fixed.all():
        raise InfeasibleGoals(
            "Nothing to plan: every partition is excluded or already moving",
            hint="include at least one topic",
        )
    _refuse_factors(snapshot, problem)
    if goals.strict_racks:
        _refuse_racks(snapshot, problem)
    _refuse_fixed_on_leaving(snapshot, goals, fixed, problem)
    _refuse_no_receiver(snapshot, problem)
    _refuse_counts(goals, problem)
    _refuse_capacity(goals, problem)
    _refuse_mandatory(goals, problem)


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
        f"Replication factor {factor} of topic {name} needs {factor} brokers; {brokers} stay",
        hint=f"use replication factor {brokers} or keep {factor - brokers} more brokers",
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
        f"--strict-racks: {factor} replicas of topic {name} need {factor} racks; there are {racks}",
        hint=f"use {racks} replicas, add {factor - racks} racks, or drop --strict-racks",
    )


def _refuse_fixed_on_leaving(
    snapshot: Snapshot, goals: Goals, fixed: Bools, problem: Problem
) -> None:
    """Brokers to be emptied that hold replicas which must not move."""
    held = fixed[:, None] & (problem.initial >= 0)
    stuck = held & problem.must_empty[problem.initial]
    if not bool(stuck.any()):
        return
    row, place = (int(index[0]) for index in np.nonzero(stuck))
    broker = snapshot.brokers[int(problem.initial[row, place])].id
    rows: list[int] = np.unique(np.nonzero(stuck)[0]).tolist()
    topics = sorted({snapshot.assignment.key(each).topic for each in rows})
    excluded = goals.topics is not None or goals.exclude_topics or goals.exclude_partitions
    why = "excluded" if excluded else "already moving"
    hint = f"let {text_list(topics)} move" if excluded else "wait for the moves, or cancel them"
    raise InfeasibleGoals(
        f"Broker {broker} is to be emptied and holds {int(stuck.sum())} replicas that are {why}",
        hint=f"{hint}, or keep broker {broker}",
    )


def _refuse_no_receiver(snapshot: Snapshot, problem: Problem) -> None:
    """Replicas that must move while no broker may receive them."""
    mandatory = int(problem.must_empty[problem.initial[problem.initial >= 0]].sum())
    missing = int(np.maximum(problem.wanted - (problem.initial >= 0).sum(axis=1), 0).sum())
    if problem.may_receive.any() or not mandatory + missing:
        return
    raise InfeasibleGoals(
        f"{mandatory + missing} replicas must move and no broker may receive them",
        hint=f"let one of {text_list(broker.id for broker in snapshot.brokers)} receive",
    )


def _refuse_counts(goals: Goals, problem: Problem) -> None:
    """More replicas than brokers may hold together."""
    most = goals.max_replicas_per_broker
    brokers, total = int(_staying(problem).sum()), int(problem.wanted.sum())
    if most is not None and total > most * brokers:
        raise InfeasibleGoals(
            f"{brokers} brokers with at most {most} replicas each cannot hold {total} replicas",
            hint=f"use --max-replicas-per-broker {-(-total // max(1, brokers))}",
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
                f"The load needs {amount_text(total[place], name)} of {name}; the limits allow "
                f"{amount_text(limit[place], name)}",
                hint=f"add brokers for {amount_text(missing, name)}, or "
                + raise_limit_hint(name, (goals.limit_of(name) or 1) * total[place] / limit[place]),
            )


def _refuse_mandatory(goals: Goals, problem: Problem) -> None:
    """More bytes that must move than there is free space."""
    initial = problem.initial
    there = initial >= 0
    size = problem.size
    gone = (there & problem.must_empty[initial]).sum(axis=1)
    missing = np.maximum(problem.wanted - there.sum(axis=1), 0)
    mandatory = float((size * (gone + missing)).sum())
    load = np.bincount(
        initial[there],
        np.broadcast_to(size[:, None], initial.shape)[there],
        minlength=problem.brokers,
    )
    free = np.maximum(problem.hard_limit[:, 0] - load, 0)[problem.may_receive]
    largest = float(size[(gone + missing) > 0].max(initial=0))
    stuck = ~problem.may_give & _staying(problem)
    if stuck.any() and mandatory > free.sum():
        raise InfeasibleGoals(
            f"{amount_text(mandatory, 'disk')} must move; brokers that may receive have "
            f"{amount_text(float(free.sum()), 'disk')} free",
            hint="let brokers receive that have "
            f"{amount_text(mandatory - float(free.sum()), 'disk')} free",
        )
    most = float(problem.hard_limit[problem.may_receive, 0].max(initial=0))
    if largest > most and mandatory:
        raise InfeasibleGoals(
            f"A replica of {amount_text(largest, 'disk')} must move; the largest disk that may "
            f"receive it has {amount_text(most, 'disk')}",
            hint=f"add a broker with {amount_text(largest, 'disk')}",
        )


def raise_limit_hint(name: str, share: float) -> str:
    """How to allow a load of this share of the capacity: a limit, or none beyond the capacity."""
    percent = ceil(100 * share)
    return f"use --limits {name}={percent}%" if percent <= 100 else f"use --limits {name}=off"


UNITS = ("B", "kB", "MB", "GB", "TB", "PB", "EB")


def amount_text(amount: float, resource: str) -> str:
    """A load for a sentence: bytes with their unit, cpu in percent."""
    if resource == "cpu":
        return f"{amount:.0f} %"
    step = 0
    while abs(amount) >= 999.5 and step < len(UNITS) - 1:
        amount, step = amount / 1000, step + 1
    text = f"{amount:.3g} {UNITS[step]}"
    return text if resource == "disk" else f"{text}/s"
