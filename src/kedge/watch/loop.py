"""The loop: one script per sample, from looking at the cluster to starting what may start.

    sample → follow the run → find → retire proposals → make proposals → start one → report

The script keeps nothing that matters between two samples: policy, history and proposals are read
at each, so that any server can go on where another one died, at any `yield`. What is remembered in
`Memory` only saves work.

The durable write comes first. A proposal is stored as running before its run is started; a server
that dies in between leaves a running proposal without a run, which goes back to where it came from
and through all rules again; so does one whose run could not begin.
`StartRun` begins a run only if the proposal is still stored in that very version, so that a server
which was replaced meanwhile starts nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from kedge.watch.detectors import detect
from kedge.watch.effects import (
    FindOtherProcess,
    LoadFindings,
    LoadProposals,
    ObserveRun,
    ReadPolicy,
    RecordSample,
    Refused,
    RunPhase,
    RunSeen,
    Script,
    StartRun,
    StoreFindings,
    StoreProposal,
    TakeSample,
    Unreachable,
)
from kedge.watch.findings import Finding, FindingKind
from kedge.watch.make_proposals import Attempt, answered_findings
from kedge.watch.policy import DAY_S, Kind, Policy
from kedge.watch.proposals import WAITING, Proposal, ProposalState
from kedge.watch.rules import RULES, Rule, Situation, why_not
from kedge.watch.samples import Observed, sample_of
from kedge.watch.staleness import bytes_now, expired, stale

_S = ProposalState
RECENT = 1.5  # samples are never exactly as old as a condition is long


@dataclass(slots=True)
class Memory:
    """What one server remembers between samples; losing it costs a plan, no more."""

    attempts: dict[tuple[Kind, tuple[int, ...]], Attempt] = field(
        default_factory=dict[tuple[Kind, tuple[int, ...]], Attempt]
    )


@dataclass(slots=True)
class Book:
    """The proposals as this script knows them; those that others change are left alone."""

    proposals: dict[str, Proposal]

    def store(self, proposal: Proposal) -> Script[bool]:
        """Store a proposal; False if another version was there, which is then left alone."""
        stored: bool = yield StoreProposal(proposal)
        if stored:
            self.proposals[proposal.id] = proposal
        else:
            self.proposals.pop(proposal.id, None)
        return stored

    def in_states(self, states: frozenset[ProposalState]) -> list[Proposal]:
        """Proposals, in the sequence of their making."""
        found = (each for each in self.proposals.values() if each.state in states)
        return sorted(found, key=lambda each: (each.made_at, each.id))


@dataclass(frozen=True, slots=True)
class Looked:
    """What one sample led to."""

    at: float
    findings: tuple[Finding, ...]
    waiting: tuple[tuple[str, str], ...] = ()
    started: str = ""


def watch_once(memory: Memory, rules: Mapping[str, Rule] = RULES) -> Script[Looked]:
    """Take one sample, and do what follows from it."""
    policy: Policy = yield ReadPolicy()
    observed: Observed | Unreachable = yield TakeSample()
    if isinstance(observed, Unreachable):
        return (yield from keep_findings(observed))
    detect_ = policy.detect
    history = yield RecordSample(sample_of(observed), detect_.memory_s, RECENT * detect_.recent_s)
    proposals: list[Proposal] = yield LoadProposals(memory_of(policy))
    book = Book({each.id: each for each in proposals})
    yield from follow_runs(book, policy, observed)
    found = (*detect(history, policy, settled_at=settled_at(book)), *unfinished(book, observed))
    findings = one_of_each(found)
    yield from retire(book, policy, observed, findings)
    answered = yield from answered_findings(book, memory.attempts, policy, observed, findings)
    started, waiting = yield from start_one(book, policy, observed, rules)
    yield StoreFindings(observed.at, answered, waiting)
    return Looked(observed.at, answered, waiting, started)


def keep_findings(unread: Unreachable) -> Script[Looked]:
    """Add that the cluster cannot be read; what was wrong at the last sample may still be so."""
    before: tuple[Finding, ...] = yield LoadFindings()
    known = {each.kind: each for each in before}.get(FindingKind.UNREACHABLE)
    since = unread.at if known is None else known.since
    others = tuple(each for each in before if each.kind is not FindingKind.UNREACHABLE)
    findings = (Finding(FindingKind.UNREACHABLE, since, unread.why), *others)
    yield StoreFindings(unread.at, findings)
    return Looked(unread.at, findings)


def memory_of(policy: Policy) -> float:
    """How long ended proposals matter."""
    return max(DAY_S, policy.cool_down_s, policy.quiet_after_rejection_s, policy.expires_s)


def settled_at(book: Book) -> float:
    """When the last run of the loop ended."""
    ended = [p.ended_at for p in book.proposals.values() if p.started_at is not None and p.ended_at]
    return max(ended, default=0.0)


def unfinished(book: Book, observed: Observed) -> list[Finding]:
    """Brokers that a run has filled only in part, since the budget did not allow more."""
    filled = [p for p in book.in_states(frozenset({_S.DONE})) if p.kind is Kind.FILL]
    if not filled or filled[-1].complete:
        return []
    brokers = tuple(b for b in filled[-1].subject if b in observed.alive)
    if not brokers:
        return []
    ids = ", ".join(map(str, brokers))
    why = f"Broker {ids} was filled in part, as far as the budget of a day allowed"
    return [Finding(FindingKind.EMPTY_BROKER, filled[-1].changed_at, why, brokers)]


def one_of_each(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """The findings without those that say the same again."""
    found: dict[Any, Finding] = {}
    for each in findings:
        found.setdefault(each.key, each)
    return tuple(found.values())


# ---- the run under way --------------------------------------------------------------------------


def follow_runs(book: Book, policy: Policy, observed: Observed) -> Script[None]:
    """Learn how runs have ended, continue what was interrupted, take back what never began."""
    for running in book.in_states(frozenset({_S.RUNNING})):
        seen: RunSeen = yield ObserveRun(running)
        if seen.phase is RunPhase.ABSENT:
            back = _S.OPEN if running.approval is None else _S.APPROVED
            yield from book.store(running.in_state(back, observed.at, "its run did not begin"))
        elif seen.phase is RunPhase.INTERRUPTED:
            refused: Refused | None = yield StartRun(running, policy)
            if refused is not None and refused.final:
                yield from _ended(book, running, observed, RunSeen(RunPhase.FAILED, refused.why))
        elif seen.phase is not RunPhase.AT_WORK:
            yield from _ended(book, running, observed, seen)


def _ended(book: Book, running: Proposal, observed: Observed, seen: RunSeen) -> Script[None]:
    state = _S.DONE if seen.phase is RunPhase.DONE else _S.FAILED
    ended = replace(running.in_state(state, observed.at, seen.why), bytes_copied=seen.bytes_copied)
    yield from book.store(ended)


# ---- proposals that no longer fit ---------------------------------------------------------------


def retire(
    book: Book, policy: Policy, observed: Observed, findings: tuple[Finding, ...]
) -> Script[None]:
    """End proposals that no longer fit the cluster, or whose time to decide has passed."""
    for each in book.in_states(WAITING):
        if why := stale(each, observed, findings):
            yield from book.store(each.in_state(_S.STALE, observed.at, why))
        elif why := expired(each, policy, observed.at):
            yield from book.store(each.in_state(_S.EXPIRED, observed.at, why))


# ---- starting -----------------------------------------------------------------------------------


def start_one(
    book: Book, policy: Policy, observed: Observed, rules: Mapping[str, Rule]
) -> Script[tuple[str, tuple[tuple[str, str], ...]]]:
    """Start the most urgent proposal that may start; returns it, and what the others wait for."""
    waiting: list[tuple[str, str]] = []
    started = ""
    for each in sorted(book.in_states(WAITING), key=urgency):
        each = replace(each, cost=replace(each.cost, bytes=bytes_now(each, observed.snapshot)))
        situation = Situation(policy, observed, tuple(book.proposals.values()))
        if why := (yield from _why_not_now(each, situation, rules)):
            waiting.append((each.id, why))
        elif (yield from _start(book, each, policy, observed)):
            started = each.id
    return started, tuple(waiting)


def _why_not_now(
    proposal: Proposal, situation: Situation, rules: Mapping[str, Rule]
) -> Script[str]:
    """The first reason against a start; runs are looked at only if there is no other reason."""
    if why := why_not(proposal, situation, rules):
        return why
    other: bool = yield FindOtherProcess()
    return why_not(proposal, replace(situation, other_process=other), rules)


def urgency(proposal: Proposal) -> tuple[bool, int, float]:
    """What a person has approved comes first, then the kinds in their order."""
    return (proposal.approval is None, list(Kind).index(proposal.kind), proposal.made_at)


def _start(book: Book, proposal: Proposal, policy: Policy, observed: Observed) -> Script[bool]:
    running = proposal.in_state(_S.RUNNING, observed.at, by=_starter(proposal))
    if not (yield from book.store(running)):
        return False
    refused: Refused | None = yield StartRun(running, policy)
    if refused is None:
        return True
    state = _S.FAILED if refused.final else (_S.OPEN if running.approval is None else _S.APPROVED)
    ended = replace(running.in_state(state, observed.at, refused.why), started_at=None)
    yield from book.store(ended)
    return False


def _starter(proposal: Proposal) -> str:
    return proposal.by if proposal.approval is None else proposal.approval.by
