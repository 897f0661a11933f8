"""Proposals of the loop: listed, shown, approved, rejected with a reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool

from kedge.errors import KedgeError, StaleVersion, UnknownResource
from kedge.plan import plan_to_json
from kedge.report.plans import change_row
from kedge.watch.proposals import Proposal, ProposalState, approve, reject
from kedge.web.access.roles import Role
from kedge.web.api.requests import (
    JSON,
    Change,
    ClusterName,
    Done,
    Reader,
    ServicesOf,
    answer,
    changes,
    check_reachable,
)
from kedge.web.api.snapshots import download
from kedge.web.loop.loop_rows import proposal_row
from kedge.web.services import Services

router = APIRouter(prefix="/api/v1/clusters/{cluster}/proposals", tags=["proposals"])

ProposalId = Annotated[str, Path(min_length=1, max_length=60, pattern=r"^[\w.:-]+$")]
STARTED = (ProposalState.RUNNING, ProposalState.DONE, ProposalState.FAILED)


class CostOfProposal(BaseModel):
    """What it costs, as predicted: bytes, moves, seconds; null seconds mean that it never ends."""

    bytes: int
    moves: int
    leaders: int
    seconds: float | None
    seconds_p10: float | None
    seconds_p90: float | None
    peak_disk: float | None
    problems: list[str]


class ApprovalOfProposal(BaseModel):
    """The account that approved it, when, and whether it may run outside of the windows."""

    by: str
    at: float
    at_once: bool


class ProposalSummary(BaseModel):
    """A proposal without its moves; times are seconds since 1970."""

    id: str
    kind: str
    state: ProposalState
    version: int
    made_at: float
    changed_at: float
    started_at: float | None
    ended_at: float | None
    by: str
    why: str
    reasons: list[str]
    brokers: list[int]
    partitions: int
    elections: int
    complete: bool
    cost: CostOfProposal
    bytes_copied: int | None
    approval: ApprovalOfProposal | None
    waits_for: str


class ProposalShown(ProposalSummary):
    """A proposal with the run that carries it out, once it has begun."""

    run: str | None


class ProposalList(BaseModel):
    """Proposals, those that changed last first."""

    proposals: list[ProposalSummary]


class ChangeOfPartition(BaseModel):
    """One partition: from where to where, and why; an election changes no replicas."""

    topic: str
    partition: int
    before: list[int]
    after: list[int]
    why: str | None


class ChangeList(BaseModel):
    """A page of the partitions that a proposal changes."""

    total: int
    changes: list[ChangeOfPartition]


class Approve(BaseModel):
    """The version that was seen; `at_once` does not wait for a window of the policy."""

    model_config = ConfigDict(extra="forbid")
    version: int = Field(ge=1, le=2**31 - 1)
    at_once: bool = False


class Reject(BaseModel):
    """The version that was seen, and why it is rejected."""

    model_config = ConfigDict(extra="forbid")
    version: int = Field(ge=1, le=2**31 - 1)
    reason: str = Field(min_length=1, max_length=1000)


@router.get("", response_model=ProposalList)
def list_proposals(
    cluster: ClusterName,
    _: Reader,
    services: ServicesOf,
    state: Annotated[list[ProposalState] | None, Query(max_length=8)] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> Response:
    """Proposals that changed last first; of some states, where given."""
    found = services.loops.records[cluster].latest_proposals(limit, state or tuple(ProposalState))
    return answer({"proposals": [proposal_row(each) for each in found]})


@router.get("/{proposal}", response_model=ProposalShown)
async def show_proposal(
    cluster: ClusterName, proposal: ProposalId, _: Reader, services: ServicesOf
) -> Response:
    """One proposal with its reasons and cost, and the run that carries it out."""
    found = await run_in_threadpool(services.loops.records[cluster].proposal, proposal)
    return answer({**proposal_row(found), "run": await _run_of(services, cluster, found)})


@router.get("/{proposal}/changes", response_model=ChangeList)
def list_proposal_changes(
    cluster: ClusterName,
    proposal: ProposalId,
    _: Reader,
    services: ServicesOf,
    offset: Annotated[int, Query(ge=0, le=10_000_000)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:
    """The partitions that a proposal changes, with reasons, a page of them at a time."""
    found = services.loops.records[cluster].proposal(proposal)
    if found.plan is None:
        rows: list[dict[str, Any]] = [
            {"topic": tp.topic, "partition": tp.partition, "before": [], "after": [], "why": None}
            for tp in found.elect[offset : offset + limit]
        ]
        return answer({"total": len(found.elect), "changes": rows})
    every = found.plan.changes
    rows = [change_row(found.plan, each) for each in every[offset : offset + limit]]
    return answer({"total": len(every), "changes": rows})


@router.get("/{proposal}/file")
def download_proposal(
    cluster: ClusterName, proposal: ProposalId, _: Reader, services: ServicesOf
) -> Response:
    """The plan of a proposal as a file: for `kedge apply`, and for Kafka's own tool."""
    found = services.loops.records[cluster].proposal(proposal)
    if found.plan is None:
        raise UnknownResource(f"Proposal {proposal} elects leaders and has no plan")
    return download(plan_to_json(found.plan), f"{cluster}-{proposal}.plan.json", JSON)


# ---- decisions -----------------------------------------------------------------------------------


@router.post("/{proposal}/approve", response_model=ProposalSummary)
def approve_proposal(
    cluster: ClusterName,
    proposal: ProposalId,
    body: Approve,
    services: ServicesOf,
    change: Annotated[Change, changes(Role.APPLY, "proposal.approve")],
) -> Response:
    """Approve a proposal for the next window, or at once; the loop starts it at its next sample."""

    def decided(seen: Proposal, who: str, at: float) -> Proposal:
        return approve(seen, who, at, at_once=body.at_once)

    return _decide(services, change, proposal, body.version, decided)


@router.post("/{proposal}/reject", response_model=ProposalSummary)
def reject_proposal(
    cluster: ClusterName,
    proposal: ProposalId,
    body: Reject,
    services: ServicesOf,
    change: Annotated[Change, changes(Role.APPLY, "proposal.reject")],
) -> Response:
    """Reject a proposal with a reason; the same is not proposed again for a while."""

    def decided(seen: Proposal, who: str, at: float) -> Proposal:
        return reject(seen, who, at, body.reason)

    return _decide(services, change, proposal, body.version, decided)


Decision = Callable[[Proposal, str, float], Proposal]


def _decide(
    services: Services, change: Change, proposal: str, version: int, decision: Decision
) -> Response:
    """Store a decision on the version that a person has seen, and on no other."""
    assert change.cluster is not None
    store = services.loops.store_of(change.cluster)

    def act() -> Done:
        seen = store.proposal(proposal)
        if seen.version != version:
            raise _changed(proposal)
        decided = decision(seen, change.principal.name, services.database.clock())
        if not store.replace(decided, fenced=False):
            raise _changed(proposal)
        before, after = ({"state": each.state, "why": each.why} for each in (seen, decided))
        return Done(proposal_row(decided), before=before, after=after)

    return change.make(act, f"proposal {proposal}")


def _changed(proposal: str) -> StaleVersion:
    return StaleVersion(
        f"Proposal {proposal} was changed meanwhile", hint="look at it again, then decide"
    )


async def _run_of(services: Services, cluster: str, proposal: Proposal) -> str | None:
    """The run of a proposal; None before it begins, and where runs cannot be read now."""
    if proposal.state not in STARTED or proposal.plan is None:
        return None
    try:
        check_reachable(services, cluster)
        rows = await services.runs.all(cluster)
    except KedgeError:
        return None
    plan = f"proposal {proposal.id}"
    return next((row["run"] for row in rows if row["plan"] == plan), None)
