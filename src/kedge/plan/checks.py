"""Check whether a plan may run: against itself, and against a snapshot where there is one.

`verify_plan` returns every finding, errors and warnings; every plan file is read by `parse_plan`,
which refuses one that contradicts itself at its first error. A summary that is out of date is no
reason to refuse a plan: an operator may have removed a partition by hand, and `verify_plan` shows
which figures are wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kedge.errors import InvalidPlan
from kedge.model.snapshot import Snapshot
from kedge.plan.check_self import figures, structure
from kedge.plan.check_snapshot import check_snapshot
from kedge.plan.findings import Finding, warning
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
    """All errors and warnings; `snapshot_sha256` is the digest of the snapshot's file.

    Figures and the snapshot are checked only for a plan that does not contradict itself.
    """
    found = structure(plan)
    if any(errors(found)):
        return found
    found += figures(plan)
    other = list(digest(plan, snapshot_sha256))
    found += other
    return (
        found + check_snapshot(plan, snapshot, is_later=bool(other))
        if snapshot is not None
        else found
    )


def digest(plan: Plan, snapshot_sha256: str | None) -> Iterator[Finding]:
    """A plan that was made from another snapshot; relevant differences are reported as drift."""
    if plan.snapshot_sha256 and snapshot_sha256 and plan.snapshot_sha256 != snapshot_sha256:
        yield warning("snapshot", "snapshot_sha256", "the plan was made from another snapshot")


def errors(findings: Iterable[Finding]) -> list[Finding]:
    """The findings with which a plan must not be executed."""
    return [finding for finding in findings if finding.fatal]


def refuse_errors(findings: Iterable[Finding]) -> None:
    """Raise the first error among the findings, with the number of further ones."""
    if found := errors(findings):
        more = f"and {len(found) - 1} more errors" if len(found) > 1 else ""
        raise InvalidPlan(str(found[0]), hint=more)
