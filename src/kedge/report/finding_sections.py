"""Findings of the tables as a section of a report: grouped by cause, the most severe first."""

from __future__ import annotations

from collections.abc import Sequence

from kedge.analytics.finding_groups import FindingGroup
from kedge.report.page.document import Section, listing


def findings_sections(groups: Sequence[FindingGroup]) -> tuple[Section, ...]:
    """What stood out, with the members of each group folded."""
    if not groups:
        return (Section("What stood out", ("Nothing stood out in the metrics.",)),)
    rows = [
        (str(group.severity), group.kind, group.topic or group.cluster, group.why)
        for group in groups
    ]
    overview = listing("Findings", ("severity", "kind", "where", "why"), rows)
    members = [
        listing(
            f"{group.kind} of {group.topic or group.cluster}: {len(group.findings)} of {group.of}",
            ("subject", "value"),
            [(one.subject, f"{one.value:,.4g}") for one in group.findings],
            right=(1,),
            folded=True,
            rows_max=40,
        )
        for group in groups
        if len(group.findings) > 1
    ]
    return (Section("What stood out", (), [overview, *members]),)
