"""Makes proposals: for each kind that is called for, a plan, its prediction and its reasons.

At most one proposal of a kind waits at a time. None is made while replicas move anyway, and none
but a repair while brokers are down: it would only become stale. What a person has rejected is not
proposed again for a while, and what could not be planned is tried again only later.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import NamedTuple, Protocol

import numpy as np

from kedge.execution.preconditions import counted, named
from kedge.model import BrokerId
from kedge.plan import Plan
from kedge.watch.effects import MakePlan, NoPlan, Predict, Script
from kedge.watch.findings import Finding
from kedge.watch.policy import Kind, Policy
from kedge.watch.proposals import WAITING, Cost, Proposal, ProposalState
from kedge.watch.remedies import goals_for, reaches_tolerance, to_elect
from kedge.watch.rules import moves_within
from kedge.watch.samples import Observed, moving, without_source

RETRY_SAMPLES = 10  # a plan that could not be made is tried again after so many samples


class Attempt(NamedTuple):
    """A plan that could not be made: when, with which brokers, and why."""

    at: float
    alive: frozenset[BrokerId]
    why: str


Key = tuple[Kind, tuple[int, ...]]


class ProposalBook(Protocol):
    """The proposals that a script knows, and how it stores one."""

    @property
    def proposals(self) -> Mapping[str, Proposal]: ...
    def in_states(self, states: frozenset[ProposalState]) -> Sequence[Proposal]: ...
    def store(self, proposal: Proposal) -> Script[bool]: ...


def answered_findings(
    book: ProposalBook,
    attempts: MutableMapping[Key, Attempt],
    policy: Policy,
    observed: Observed,
    findings: Sequence[Finding],
) -> Script[tuple[Finding, ...]]:
    """Make the proposals that findings call for; returns each finding with what is done."""
    answers: dict[Kind, str] = {}
    for kind in Kind:
        called = [each for each in findings if each.remedy is kind]
        if called and (filling := _filled_first(kind, answers)):
            answers[kind] = filling
        elif called:
            answers[kind] = yield from _answer(book, attempts, policy, observed, kind, called)
    return tuple(
        each if each.remedy is None else each.answered(answers[each.remedy]) for each in findings
    )


def _filled_first(kind: Kind, answers: Mapping[Kind, str]) -> str:
    """A broker that is filled evens out the others: a second plan would move the same twice."""
    filling = answers.get(Kind.FILL, "")
    return f"waits: {filling}" if kind is Kind.BALANCE and filling.startswith("proposal") else ""


def _answer(
    book: ProposalBook,
    attempts: MutableMapping[Key, Attempt],
    policy: Policy,
    observed: Observed,
    kind: Kind,
    findings: Sequence[Finding],
) -> Script[str]:
    """What is done about the findings of a kind, in a sentence."""
    waiting = [each for each in book.in_states(WAITING) if each.kind is kind]
    if waiting:
        return f"proposal {waiting[0].id} is {waiting[0].state}"
    if why := _hold(book, policy, observed, kind, findings):
        return why
    key = kind, subject_of(findings)
    tried = attempts.get(key)
    again_s = RETRY_SAMPLES * policy.sample_every_s
    if tried and tried.alive == observed.alive and observed.at - tried.at < again_s:
        return tried.why
    made = yield from make(book, policy, observed, kind, findings)
    if isinstance(made, str):
        attempts[key] = Attempt(observed.at, observed.alive, made)
        return made
    stored = yield from book.store(made)
    return f"proposal {made.id} is {made.state}" if stored else "it is proposed by another server"


def subject_of(findings: Iterable[Finding]) -> tuple[int, ...]:
    """The brokers that findings are about."""
    return tuple(sorted({broker for each in findings for broker in each.brokers}))


def _hold(
    book: ProposalBook,
    policy: Policy,
    observed: Observed,
    kind: Kind,
    findings: Sequence[Finding],
) -> str:
    """Why no proposal is made now; empty where one is."""
    running = book.in_states(frozenset({ProposalState.RUNNING}))
    if running:
        return f"waits for the run of proposal {running[0].id}"
    if bool(moving(observed.snapshot).any()):
        return "waits until no partition is being reassigned"
    subject = subject_of(findings)
    down = [each.id for each in observed.snapshot.brokers if not each.state.stays]
    others = [b for b in down if kind is not Kind.REPAIR or b not in subject]
    if others:
        return f"waits: broker {', '.join(map(str, others))} is down"
    for each in book.in_states(frozenset({ProposalState.REJECTED})):
        quiet = observed.at - each.changed_at < policy.quiet_after_rejection_s
        if quiet and each.kind is kind and each.subject == subject:
            return f"proposal {each.id} was rejected by {each.by}: {each.why}"
    return ""


def make(
    book: ProposalBook,
    policy: Policy,
    observed: Observed,
    kind: Kind,
    findings: Sequence[Finding],
) -> Script[Proposal | str]:
    """A new proposal, or why there is none."""
    if kind is Kind.LEADERS:
        elect = to_elect(observed)
        return replace(
            new_proposal(kind, observed, findings, Cost(leaders=len(elect))), elect=elect
        )
    if kind is Kind.REPAIR and (why := _lost(observed)):
        return why
    rested = {c.tp for c in moves_within(book.proposals.values(), observed.at, policy.cool_down_s)}
    goals = goals_for(kind, findings, policy, rested)
    plan: Plan | NoPlan = yield MakePlan(observed.snapshot, goals)
    if isinstance(plan, NoPlan):
        return f"no plan: {plan.why}"
    if not plan.partitions:
        return "no plan: no move would make it better"
    cost = yield Predict(plan, observed.snapshot, policy)
    made = new_proposal(kind, observed, findings, cost)
    return replace(made, plan=plan, complete=reaches_tolerance(plan, goals))


def _lost(observed: Observed) -> str:
    """Why no repair could end: partitions whose data is on brokers that are down alone."""
    assignment = observed.snapshot.assignment
    rows = np.flatnonzero(without_source(observed.snapshot)).tolist()
    lost = [assignment.key(row) for row in rows]
    if not lost:
        return ""
    return (
        f"no plan: {counted(lost, 'partition')} ({named(lost)}) can be copied from no live broker; "
        "bring one of their brokers back, or delete them"
    )


def new_proposal(
    kind: Kind, observed: Observed, findings: Sequence[Finding], cost: Cost
) -> Proposal:
    """An open proposal; its id names its moment and kind, which no other one shares."""
    moment = datetime.fromtimestamp(observed.at, UTC)
    return Proposal(
        id=f"{moment:%Y%m%dT%H%M%S}-{kind}",
        kind=kind,
        made_at=observed.at,
        changed_at=observed.at,
        reasons=tuple(each.why for each in findings),
        subject=subject_of(findings),
        alive=observed.alive,
        cost=cost,
    )
