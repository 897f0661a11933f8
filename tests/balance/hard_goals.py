"""Whether an answer breaks a hard goal, said in the dullest possible way."""

from __future__ import annotations

from collections import Counter

from kedge.balance.goals.problem import Problem
from kedge.balance.search.solution import Solution


def broken_goals(problem: Problem, found: Solution) -> list[str]:
    """Every hard goal that the answer breaks, in words."""
    broken: list[str] = []
    held = Counter[int]()
    for p, row in enumerate(found.replicas.tolist()):
        after = [b for b in row if b >= 0]
        before = [b for b in problem.initial[p].tolist() if b >= 0]
        held.update(after)
        broken += [f"{p}: {fault}" for fault in _faults(problem, p, before, after)]
    for b, count in held.items():
        if count > problem.max_replicas[b] and not found.over_max_replicas:
            broken.append(f"broker {b} holds {count}")
    return broken


def _faults(problem: Problem, p: int, before: list[int], after: list[int]) -> list[str]:
    faults: list[str] = []
    came, gone = sorted(set(after) - set(before)), sorted(set(before) - set(after))
    if len(set(after)) != len(after):
        faults.append("twice on one broker")
    if problem.must_empty[after].any():
        faults.append("on a broker that must be empty")
    if not problem.may_receive[came].all():
        faults.append("given to a broker that may not receive")
    if len(before) == problem.wanted[p] and not problem.must_empty[before].any():
        crowded = _most(problem, before) > problem.rack_limit[p]
        if gone and not problem.movable[p]:
            faults.append("moved though it may not")
        if not crowded and not problem.may_give[gone].all():
            faults.append("taken from a broker that may not give")
        if after[0] != before[0] and not problem.leader_movable[p] and not crowded:
            faults.append("led by another")
    if _most(problem, after) > max(problem.rack_limit[p], _most(problem, before)):
        faults.append("more in one rack than before")
    return faults


def _most(problem: Problem, brokers: list[int]) -> int:
    return max(Counter(problem.rack[brokers].tolist()).values(), default=0)
