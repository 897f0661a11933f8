"""Proposals: a plan with its reasons, prediction and cost, and the states it goes through.

    open → approved → running → done
      │       │          └────→ failed
      └───────┴──→ rejected, stale, expired

A proposal is frozen: what was reviewed is what runs. When the cluster changes under it, it is stale
and made anew, and an approval does not carry over. `MAY_FOLLOW` is the table of states; the
documentation draws it, and every change of state goes through `in_state`, which asserts it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum

from kedge.errors import RefusedCommand
from kedge.model import BrokerId, TopicPartition
from kedge.plan import Plan
from kedge.watch.policy import Kind


class ProposalState(StrEnum):
    """How far a proposal is."""

    OPEN = "open"
    APPROVED = "approved"
    REJECTED = "rejected"
    STALE = "stale"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    EXPIRED = "expired"


_S = ProposalState
MAY_FOLLOW: dict[ProposalState, frozenset[ProposalState]] = {
    _S.OPEN: frozenset({_S.APPROVED, _S.REJECTED, _S.STALE, _S.EXPIRED, _S.RUNNING}),
    _S.APPROVED: frozenset({_S.REJECTED, _S.STALE, _S.EXPIRED, _S.RUNNING}),
    # Back where it came from: the run did not begin, so nothing has moved.
    _S.RUNNING: frozenset({_S.DONE, _S.FAILED, _S.OPEN, _S.APPROVED}),
    _S.REJECTED: frozenset(),
    _S.STALE: frozenset(),
    _S.DONE: frozenset(),
    _S.FAILED: frozenset(),
    _S.EXPIRED: frozenset(),
}
"""The states that may follow each state."""

WAITING = frozenset({_S.OPEN, _S.APPROVED})
ENDED = frozenset(state for state, after in MAY_FOLLOW.items() if not after)
LOOP = "the loop"


@dataclass(frozen=True, slots=True)
class Cost:
    """What a proposal costs, as predicted: bytes copied, moves, seconds, the fullest disk.

    `problems` are reasons for which the plan cannot be carried out as it is.
    """

    bytes: int = 0
    moves: int = 0
    leaders: int = 0
    seconds: float = 0.0
    seconds_p10: float = 0.0
    seconds_p90: float = 0.0
    peak_disk: float | None = None
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Approval:
    """Who approved a proposal, when, and whether it may run outside of the windows."""

    by: str
    at: float
    at_once: bool = False


@dataclass(frozen=True, slots=True)
class Proposal:
    """One proposal.

    It has a plan, or partitions to `elect` preferred leaders of. `subject` are the brokers that it
    is about, `alive` those that were alive when it was made; `complete` means that nothing is left
    to do after it. `version` counts its changes; `changed_at`, `by` and `why` are of the last one.
    """

    id: str
    kind: Kind
    made_at: float
    reasons: tuple[str, ...]
    subject: tuple[int, ...]
    alive: frozenset[BrokerId]
    cost: Cost
    plan: Plan | None = None
    elect: tuple[TopicPartition, ...] = ()
    complete: bool = True
    state: ProposalState = ProposalState.OPEN
    version: int = 1
    changed_at: float = 0.0
    by: str = LOOP
    why: str = ""
    approval: Approval | None = None
    started_at: float | None = None
    ended_at: float | None = None
    bytes_copied: int | None = None
    waits_for: str = field(default="", compare=False)

    @property
    def partitions(self) -> frozenset[TopicPartition]:
        """The partitions that it changes."""
        return frozenset(self.elect if self.plan is None else self.plan.before)

    @property
    def bytes_charged(self) -> int:
        """What it takes of the budget: as measured once it has ended, else as predicted."""
        return self.cost.bytes if self.bytes_copied is None else self.bytes_copied

    def in_state(self, state: ProposalState, at: float, why: str = "", by: str = LOOP) -> Proposal:
        """The proposal in another state, one version later."""
        assert state in MAY_FOLLOW[self.state], f"{self.state} → {state}"
        started = at if state is _S.RUNNING else self.started_at
        if state in WAITING:
            started = None
        ended = at if state in ENDED else None
        return replace(
            self,
            state=state,
            version=self.version + 1,
            changed_at=at,
            by=by,
            why=why,
            started_at=started,
            ended_at=ended,
        )


# ---- what a person may do -----------------------------------------------------------------------


def approve(proposal: Proposal, by: str, at: float, *, at_once: bool = False) -> Proposal:
    """The proposal as a person has approved it; refused where it is not open."""
    _refuse_unless(proposal, frozenset({_S.OPEN}), "approved")
    if proposal.cost.problems:
        raise RefusedCommand(
            f"Proposal {proposal.id} cannot run: {proposal.cost.problems[0]}",
            hint="reject it; the loop makes another one when the cluster has changed",
        )
    approved = proposal.in_state(_S.APPROVED, at, by=by)
    return replace(approved, approval=Approval(by, at, at_once))


def reject(proposal: Proposal, by: str, at: float, reason: str) -> Proposal:
    """The proposal as a person has rejected it; a reason is required."""
    if not reason.strip():
        raise RefusedCommand(
            "A rejection needs a reason", hint="say why: it is kept with the proposal"
        )
    _refuse_unless(proposal, WAITING, "rejected")
    return proposal.in_state(_S.REJECTED, at, reason.strip(), by)


def _refuse_unless(proposal: Proposal, states: frozenset[ProposalState], verb: str) -> None:
    if proposal.state not in states:
        raise RefusedCommand(
            f"Proposal {proposal.id} is {proposal.state} and cannot be {verb}",
            hint="the list of proposals shows those that are open",
        )
