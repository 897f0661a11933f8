"""The effects that the loop's scripts yield, and their answers: plain values.

| effect | answer |
|---|---|
| `ReadPolicy` | the policy |
| `TakeSample` | the cluster as it is now, or why it cannot be read |
| `RecordSample` | the history up to this sample |
| `LoadProposals` | all proposals that are not ended, and those that ended within the memory |
| `LoadFindings` | the findings of the last sample |
| `MakePlan` | a plan, or why there is none |
| `Predict` | what carrying it out would cost |
| `StoreProposal` | whether it was stored: False if another version was there |
| `StoreFindings` | nothing |
| `FindOtherProcess` | whether another process acts on the runs of the cluster |
| `StartRun` | nothing, or `Refused`; a run that has begun is continued |
| `ObserveRun` | how far the run of a proposal is |

A server that has lost the lead of the loop gets `LeadLost` thrown in at the `yield` of its next
store: the script ends, and another server goes on.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar

from kedge.balance import Goals
from kedge.model import Snapshot
from kedge.plan import Plan
from kedge.watch.findings import Finding
from kedge.watch.policy import Policy
from kedge.watch.proposals import Proposal
from kedge.watch.samples import Sample


@dataclass(frozen=True, slots=True)
class ReadPolicy:
    """Read the policy of the cluster."""


@dataclass(frozen=True, slots=True)
class TakeSample:
    """Read the cluster."""


@dataclass(frozen=True, slots=True)
class Unreachable:
    """An answer of `TakeSample`: the cluster cannot be read."""

    at: float
    why: str


@dataclass(frozen=True, slots=True)
class RecordSample:
    """Append a sample to the history, which is returned for the time that detection needs.

    Of the time before `recent_s` some samples are enough, for trends.
    """

    sample: Sample
    memory_s: float
    recent_s: float


@dataclass(frozen=True, slots=True)
class LoadProposals:
    """Read proposals: those that are not ended, and those that ended within `memory_s`."""

    memory_s: float


@dataclass(frozen=True, slots=True)
class LoadFindings:
    """Read the findings of the last sample."""


@dataclass(frozen=True, slots=True, eq=False)
class MakePlan:
    """Make a plan of a snapshot."""

    snapshot: Snapshot
    goals: Goals


@dataclass(frozen=True, slots=True)
class NoPlan:
    """An answer of `MakePlan`: no plan can meet the goals."""

    why: str


@dataclass(frozen=True, slots=True, eq=False)
class Predict:
    """Replay a plan at the pace of the policy."""

    plan: Plan
    snapshot: Snapshot
    policy: Policy


@dataclass(frozen=True, slots=True)
class StoreProposal:
    """Store a proposal that follows the version before it, and the event of its change."""

    proposal: Proposal

    @property
    def expected_version(self) -> int:
        """The version that it replaces; 0 for a new one."""
        return self.proposal.version - 1


@dataclass(frozen=True, slots=True)
class StoreFindings:
    """Replace the findings of the cluster, and why proposals wait; new ones are events."""

    at: float
    findings: tuple[Finding, ...]
    waiting: tuple[tuple[str, str], ...] = ()  # proposal id, what it waits for


@dataclass(frozen=True, slots=True)
class FindOtherProcess:
    """Look whether a process acts on the runs of the cluster that is not the loop's own.

    Its run may be paused or outside of its window, so that no reassignment shows it.
    """


@dataclass(frozen=True, slots=True)
class StartRun:
    """Start the run of a proposal, or continue it if it has begun and no process works on it."""

    proposal: Proposal
    policy: Policy


@dataclass(frozen=True, slots=True)
class Refused:
    """An answer of `StartRun`: nothing was started. Unless `final`, it may work later."""

    why: str
    final: bool = True


@dataclass(frozen=True, slots=True)
class ObserveRun:
    """Look how far the run of a proposal is.

    A run that is not in its journal has moved nothing: its beginning is taken back, and the answer
    is `ABSENT`.
    """

    proposal: Proposal


class RunPhase(StrEnum):
    """How far a run is."""

    ABSENT = "absent"  # never begun, or taken back
    AT_WORK = "at work"
    INTERRUPTED = "interrupted"  # in its journal, and no process works on it
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class RunSeen:
    """An answer of `ObserveRun`; bytes as copied so far, None where that is not known."""

    phase: RunPhase
    why: str = ""
    bytes_copied: int | None = None


Effect = (
    ReadPolicy
    | TakeSample
    | RecordSample
    | LoadProposals
    | LoadFindings
    | MakePlan
    | Predict
    | StoreProposal
    | StoreFindings
    | FindOtherProcess
    | StartRun
    | ObserveRun
)
T = TypeVar("T")
Script = Generator[Effect, Any, T]  # yields effects, is handed their answers, returns T
