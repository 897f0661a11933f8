"""Findings: what is wrong with a cluster, since when, and what would mend it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from kedge.watch.policy import Kind


class FindingKind(StrEnum):
    """What is wrong, most urgent first."""

    UNREACHABLE = "unreachable"
    BROKER_DOWN = "broker down"
    UNDER_REPLICATED = "under-replicated"
    RACK_VIOLATION = "rack violation"
    DISK_ABOVE = "disk above its limit"
    DISK_FULL_SOON = "disk full soon"
    EMPTY_BROKER = "empty broker"
    IMBALANCE = "imbalance"
    LEADERS_AWAY = "leaders away from preferred"
    SLOW_BROKER = "slow broker"


REMEDIES: dict[FindingKind, Kind] = {
    FindingKind.BROKER_DOWN: Kind.REPAIR,
    FindingKind.RACK_VIOLATION: Kind.RACKS,
    FindingKind.DISK_ABOVE: Kind.DISK,
    FindingKind.DISK_FULL_SOON: Kind.DISK,
    FindingKind.EMPTY_BROKER: Kind.FILL,
    FindingKind.IMBALANCE: Kind.BALANCE,
    FindingKind.LEADERS_AWAY: Kind.LEADERS,
}
"""The kind of proposal that mends a finding; for the others a person has to look."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding: a sentence of what is wrong, and one of what is done about it.

    Two findings of one kind about the same brokers are the same finding at two moments.
    """

    kind: FindingKind
    since: float
    why: str
    brokers: tuple[int, ...] = ()
    answer: str = ""

    @property
    def remedy(self) -> Kind | None:
        """The kind of proposal that mends it."""
        return REMEDIES.get(self.kind)

    @property
    def key(self) -> tuple[str, tuple[int, ...]]:
        """What makes it the same finding at another moment."""
        return self.kind.value, self.brokers

    def answered(self, answer: str) -> Finding:
        """The finding with what is done about it."""
        return replace(self, answer=answer)
