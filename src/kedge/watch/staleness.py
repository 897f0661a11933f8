"""Staleness: why a proposal no longer fits the cluster, so that it has to be made anew."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kedge.errors import UnknownTopicOrPartition
from kedge.execution.preconditions import counted, named
from kedge.model import BrokerId, Snapshot, TopicPartition
from kedge.model.amounts import bytes_text
from kedge.plan import Change
from kedge.watch.findings import Finding, FindingKind
from kedge.watch.policy import Kind, Policy
from kedge.watch.proposals import Proposal
from kedge.watch.remedies import to_elect
from kedge.watch.samples import Observed

GROWTH_MAX = 1.25  # of the bytes that were predicted
SPREADS = frozenset({Kind.DISK, Kind.FILL, Kind.BALANCE})  # a new broker makes another plan better


def expired(proposal: Proposal, policy: Policy, now: float) -> str:
    """Why a proposal has expired; empty where it has not."""
    if now - proposal.made_at < policy.expires_s:
        return ""
    return "it was not carried out in the time that the policy gives proposals"


def stale(proposal: Proposal, observed: Observed, findings: Iterable[Finding]) -> str:
    """Why a proposal no longer fits the cluster; empty where it does."""
    found = [each for each in findings if each.remedy is proposal.kind]
    if not found:
        return "what it was made for is no longer found"
    if proposal.kind is Kind.REPAIR and found[0].brokers != proposal.subject:
        return f"by now brokers {named(found[0].brokers)} are down"
    if why := _brokers_changed(proposal, observed, findings):
        return why
    if proposal.plan is None:
        left = frozenset(to_elect(observed)) & proposal.partitions
        return "" if left else "the preferred replicas lead again"
    return _replicas_changed(proposal.plan.changes, observed.snapshot) or _grown(
        proposal, observed.snapshot
    )


def _brokers_changed(proposal: Proposal, observed: Observed, findings: Iterable[Finding]) -> str:
    """Brokers that joined or left; one that is down for less than the grace time may come back."""
    known = {each.id for each in observed.snapshot.brokers}
    down = {b for each in findings if each.kind is FindingKind.BROKER_DOWN for b in each.brokers}
    left = [b for b in sorted(proposal.alive) if b in down or b not in known]
    joined = sorted(observed.alive - proposal.alive) if proposal.kind in SPREADS else []
    parts = [
        f"{counted(ids, 'broker')} ({named(ids)}) {verb}"
        for ids, verb in ((joined, "joined"), (left, "left"))
        if ids
    ]
    return f"{' and '.join(parts)} since it was made" if parts else ""


def _replicas_changed(changes: Iterable[Change], snapshot: Snapshot) -> str:
    other = [change.tp for change in changes if replicas_in(snapshot, change.tp) != change.before]
    if not other:
        return ""
    verb = "has" if len(other) == 1 else "have"
    return f"{counted(other, 'partition')} {verb} changed since it was made ({named(other)})"


def replicas_in(snapshot: Snapshot, tp: TopicPartition) -> tuple[BrokerId, ...] | None:
    """The replicas of a partition; None where it does not exist."""
    try:
        return snapshot.assignment.replicas_of(snapshot.assignment.row(tp))
    except UnknownTopicOrPartition:
        return None


def _grown(proposal: Proposal, snapshot: Snapshot) -> str:
    now = bytes_now(proposal, snapshot)
    if now <= GROWTH_MAX * proposal.cost.bytes:
        return ""
    before = bytes_text(proposal.cost.bytes)
    return f"it would copy {bytes_text(now)} by now; {before} were predicted"


def bytes_now(proposal: Proposal, snapshot: Snapshot) -> int:
    """What a proposal would copy with the partitions as large as they are now."""
    if proposal.plan is None:
        return 0
    rows: Mapping[TopicPartition, int] = {
        change.tp: snapshot.assignment.row(change.tp) for change in proposal.plan.changes
    }
    return sum(
        max(int(snapshot.size[rows[change.tp]]), 0) * len(change.added)
        for change in proposal.plan.changes
    )
