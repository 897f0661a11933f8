"""Whether a plan may run: checked against itself, and against a snapshot where there is one.

`verify_plan` tells everything that it notices, worst or not; `parse_plan` is the door that every
plan file comes through, and refuses one that contradicts itself at its first fault. A summary that
is out of date does not keep a plan out: a person may have dropped a partition by hand, and
`verify_plan` shows which figures are off.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kedge.errors import InvalidPlan
from kedge.model.snapshot import Snapshot
from kedge.plan.consistency import figures, structure
from kedge.plan.findings import Finding, warning
from kedge.plan.fit import fit
from kedge.plan.plan_file import Plan
from kedge.plan.plan_reader import read_plan


def parse_plan(data: bytes) -> Plan:
    """Read a plan file; refuse one that is malformed or contradicts itself."""
    plan = read_plan(data)
    refuse_errors(structure(plan))
    return plan


def verify_plan(
    plan: Plan, snapshot: Snapshot | None = None, *, snapshot_sha256: str | None = None
) -> list[Finding]:
    """Everything that is wrong or odd; `snapshot_sha256` is the digest of the snapshot's file.

    Figures and fit are computed only for a plan that makes sense in itself.
    """
    found = structure(plan)
    if any(errors(found)):
        return found
    found += figures(plan)
    other = list(digest(plan, snapshot_sha256))
    found += other
    return found + fit(plan, snapshot, is_later=bool(other)) if snapshot is not None else found


def digest(plan: Plan, snapshot_sha256: str | None) -> Iterator[Finding]:
    """A plan that was made from another snapshot; what matters of that shows as drift."""
    if plan.snapshot_sha256 and snapshot_sha256 and plan.snapshot_sha256 != snapshot_sha256:
        yield warning("snapshot", "snapshot_sha256", "the plan was made from another snapshot")


def errors(findings: Iterable[Finding]) -> list[Finding]:
    """Those that forbid to carry the plan out."""
    return [finding for finding in findings if finding.fatal]


def refuse_errors(findings: Iterable[Finding]) -> None:
    """Raise the first error among the findings, and say how many more there are."""
    if found := errors(findings):
        more = f"and {len(found) - 1} more errors" if len(found) > 1 else ""
        raise InvalidPlan(str(found[0]), hint=more)
