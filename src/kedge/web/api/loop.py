"""The loop of a cluster: its state, its findings, its policy."""

from __future__ import annotations

from fastapi import APIRouter, Response
from pydantic import BaseModel, ConfigDict, Field

from kedge.watch.policy import Mode
from kedge.watch.policy_toml import TEXT_MAX, parse_policy
from kedge.web.api.requests import ClusterName, Reader, ServicesOf, answer
from kedge.web.loop.loop_rows import finding_row, policy_row

router = APIRouter(prefix="/api/v1/clusters/{cluster}", tags=["loop"])


class Leader(BaseModel):
    """The server that leads the loop, and until when unless it renews its lease."""

    host: str
    pid: int | None
    epoch: int
    until: float


class LoopState(BaseModel):
    """The state of a loop; times are seconds since 1970, null where there is none."""

    cluster: str
    mode: Mode
    leader: Leader | None
    leads_here: bool
    sample_every_s: float
    last_sample_at: float | None
    next_sample_at: float | None
    findings: int
    open_proposals: int
    running: str | None


class FindingShown(BaseModel):
    """What is wrong, since when, and what is done about it."""

    kind: str
    since: float
    why: str
    brokers: list[int]
    answer: str
    remedy: str | None


class FindingList(BaseModel):
    """The findings of the last sample, and when that was."""

    at: float | None
    findings: list[FindingShown]


class BudgetShown(BaseModel):
    """What may run without an approval; null is no limit."""

    bytes_per_day: int | None
    moves_per_day: int | None
    windows: list[str]
    kinds: list[str]


class PolicyShown(BaseModel):
    """A policy: the values that pages show, and the whole as TOML with addresses masked."""

    mode: Mode
    sample_every_s: float
    cool_down_s: float
    throttle: int | None
    moves_per_broker: int
    budget: BudgetShown
    webhooks: int
    text: str


class PolicyText(BaseModel):
    """A policy as TOML, to be checked."""

    model_config = ConfigDict(extra="forbid")
    text: str = Field(max_length=TEXT_MAX)


@router.get("/loop", response_model=LoopState)
def show_loop(cluster: ClusterName, _: Reader, services: ServicesOf) -> Response:
    """Which server leads the loop, when it has looked, and when it looks next."""
    return answer(services.loop_state(cluster))


@router.get("/findings", response_model=FindingList)
def list_findings(cluster: ClusterName, _: Reader, services: ServicesOf) -> Response:
    """What the loop has found at its last sample, most urgent first."""
    at, found = services.loops.records[cluster].findings_at()
    return answer({"at": at, "findings": [finding_row(each) for each in found]})


@router.get("/policy", response_model=PolicyShown)
def show_policy(cluster: ClusterName, _: Reader, services: ServicesOf) -> Response:
    """The policy of the loop, as the settings of the server have it."""
    return answer(policy_row(services.loops.records[cluster].policy()))


@router.post("/policy/validate", response_model=PolicyShown)
def validate_policy(cluster: ClusterName, body: PolicyText, _: Reader) -> Response:
    """Check a policy without setting it; a fault is refused with its place."""
    return answer(policy_row(parse_policy(body.text)))
