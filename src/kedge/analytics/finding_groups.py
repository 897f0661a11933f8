"""Groups findings that have one cause, ranks the groups, and says what changed since the last run.

A topic whose 24 partitions grow alike is one group, not 24 lines. Groups are ranked by severity,
then by kind, then by how much they matter. What is too small to matter to the cluster is below the
noise floor: it is counted, and shown only with all the rest.

| kind           | one group per            | below the noise floor                            |
|----------------|--------------------------|--------------------------------------------------|
| disk_full_soon | cluster                  | never                                            |
| hot_broker     | cluster                  | never                                            |
| isr_flapping   | broker that all partitions share, else topic | never                        |
| growing        | topic                    | a month of growth is under 1 % of all disks      |
| skewed_topic   | topic                    | the topic has under 1 % of the cluster's bytes in |
| led_elsewhere  | cluster                  | under 1 % of the partitions are led elsewhere    |
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from kedge.analytics.finding_reasons import reason
from kedge.analytics.findings import (
    KINDS,
    SMALLER_IS_WORSE,
    ClusterFacts,
    Finding,
    Key,
    Remembered,
    growth_on_disk,
)

CHANGED_BY = 0.1  # a smaller change of a value is none
FLOOR_SHARE = 0.01
MONTH_DAYS = 30.0
URGENT_DAYS = 3.0
HOT_RATIO = 3.0
CHANCE = 0.05


class Severity(StrEnum):
    """How soon an operator has to act."""

    URGENT = "urgent"
    WARNING = "warning"
    NOTICE = "notice"


class Change(StrEnum):
    """What became of a group since the run before."""

    NEW = "new"
    LARGER = "larger"
    SMALLER = "smaller"
    SAME = "same"
    GONE = "gone"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class FindingGroup:
    """Findings of one kind and cause; `value` is the worst, `of` what there is of their sort."""

    kind: str
    cluster: str
    topic: str | None
    broker: int | None
    findings: tuple[Finding, ...]
    of: int
    value: float
    why: str
    severity: Severity
    impact: float
    below_floor: bool
    first_seen: datetime | None = None
    change: Change = Change.UNKNOWN
    previous: float | None = None


def grouped(
    found: Iterable[Finding],
    facts: Mapping[str, ClusterFacts],
    history: Sequence[Remembered] | None = None,
) -> list[FindingGroup]:
    """The groups, the most severe first; those that are gone last. No history: no changes."""
    groups = [
        _group(members, facts.get(members[0].cluster, ClusterFacts()), shared)
        for members, shared in _members(list(found), facts)
    ]
    if history is not None:
        known = {one.finding.key: one for one in history}
        present = {_place(group.findings[0]) for group in groups}
        groups = [_with_change(group, known) for group in groups]
        left = [one for one in history if one.gone and _place(one.finding) not in present]
        groups += _gone_groups(left, facts)
    return sorted(groups, key=_rank)


def _members(
    found: list[Finding], facts: Mapping[str, ClusterFacts]
) -> list[tuple[list[Finding], int | None]]:
    """The findings of each group, the worst first, and the broker that all of them share."""
    by_place: dict[tuple[str, ...], list[Finding]] = {}
    flapping: dict[str, list[Finding]] = {}
    for one in found:
        by_place.setdefault(_place(one), []).append(one)
        if one.kind == "isr_flapping":
            flapping.setdefault(one.cluster, []).append(one)
    shared = {
        cluster: broker
        for cluster, ones in flapping.items()
        if (broker := shared_broker(ones, facts.get(cluster, ClusterFacts()))) is not None
    }
    parts: list[tuple[list[Finding], int | None]] = [
        (ones, None)
        for ones in by_place.values()
        if ones[0].kind != "isr_flapping" or ones[0].cluster not in shared
    ]
    parts += [(flapping[cluster], broker) for cluster, broker in shared.items()]
    return [(sorted(ones, key=_worst_first), broker) for ones, broker in parts]


def _place(one: Finding) -> tuple[str, ...]:
    per_topic = one.kind in ("isr_flapping", "growing", "skewed_topic")
    return (one.kind, one.cluster, (one.topic or "") if per_topic else "")


def _worst_first(one: Finding) -> tuple[float, int, str, int]:
    return (-one.badness, one.broker or 0, one.topic or "", one.partition or 0)


def shared_broker(flapping: Sequence[Finding], facts: ClusterFacts) -> int | None:
    """The one broker that has a replica of every flapping partition, if chance does not explain it.

    With `r` of `n` brokers in a replica list, `k` partitions share one of them by chance with a
    probability of at most n · (r / n)^k.
    """
    lists = [facts.replicas.get((one.topic or "", one.partition or 0), ()) for one in flapping]
    if not facts.brokers or not all(lists):
        return None
    width = sum(map(len, lists)) / len(lists)
    if facts.brokers * (width / facts.brokers) ** len(lists) > CHANCE:
        return None
    counts = Counter(broker for brokers in lists for broker in set(brokers))
    broker, count = max(counts.items(), key=lambda pair: (pair[1], -pair[0]))
    return broker if count == len(lists) else None


def _group(members: list[Finding], facts: ClusterFacts, shared: int | None) -> FindingGroup:
    first = members[0]
    of = facts.brokers if first.topic is None else facts.partitions.get(first.topic, 0)
    if shared is not None:
        of = sum(facts.partitions.values())
    impact, floor = _impact(members, facts)
    lone = len(members) == 1
    return FindingGroup(
        kind=first.kind,
        cluster=first.cluster,
        topic=None if shared is not None else first.topic,
        broker=shared if shared is not None else (first.broker if lone else None),
        findings=tuple(members),
        of=max(of, len(members)),
        value=first.value,
        why=reason(members, facts, shared),
        severity=_severity(members, impact, facts),
        impact=impact,
        below_floor=impact < floor,
    )


def _impact(members: Sequence[Finding], facts: ClusterFacts) -> tuple[float, float]:
    """How much a group matters, and the floor below which it does not."""
    first = members[0]
    if first.kind == "growing":
        whole = facts.disk_capacity or facts.stored
        return growth_on_disk(members, facts) * MONTH_DAYS / (whole or 1.0), FLOOR_SHARE
    if first.kind == "skewed_topic":
        total = sum(facts.bytes_in.values())
        share = facts.bytes_in.get(first.topic or "", 0.0) / total if total > 0 else 1.0
        return share, FLOOR_SHARE
    if first.kind == "led_elsewhere":
        partitions = sum(facts.partitions.values())
        return sum(one.value for one in members) / max(partitions, 1), FLOOR_SHARE
    return first.badness, -float("inf")


def _severity(members: Sequence[Finding], impact: float, facts: ClusterFacts) -> Severity:
    first = members[0]
    if first.kind == "disk_full_soon":
        return Severity.URGENT if first.value <= URGENT_DAYS else Severity.WARNING
    if first.kind == "isr_flapping":
        return Severity.WARNING
    if first.kind == "hot_broker":
        return Severity.WARNING if first.value >= HOT_RATIO else Severity.NOTICE
    if first.kind == "growing" and facts.disk_capacity:
        free = 1 - facts.stored / facts.disk_capacity
        return Severity.WARNING if impact >= free else Severity.NOTICE  # full within a month
    return Severity.NOTICE


def _rank(group: FindingGroup) -> tuple[object, ...]:
    severity = list(Severity).index(group.severity)
    kind = KINDS.index(group.kind) if group.kind in KINDS else len(KINDS)
    gone = group.change is Change.GONE
    return (gone, severity, kind, -group.impact, group.cluster, group.topic or "")


# ---- since the last run -------------------------------------------------------------------------


def _with_change(group: FindingGroup, known: Mapping[Key, Remembered]) -> FindingGroup:
    seen = [known[one.key] for one in group.findings if one.key in known]
    earlier = [one.previous for one in seen if one.previous is not None]
    first_seen = min((one.first_seen for one in seen), default=None)
    if not earlier:
        change = Change.NEW if seen else Change.UNKNOWN
        return replace(group, first_seen=first_seen, change=change)
    worse_is_less = group.kind in SMALLER_IS_WORSE
    previous = min(earlier) if worse_is_less else max(earlier)
    gone = sum(1 for one in known.values() if one.gone and _in_group(one.finding, group))
    more = len(group.findings) - (len(earlier) + gone)
    change = _change(previous, group.value, worse_is_less, more)
    return replace(group, first_seen=first_seen, change=change, previous=previous)


def _in_group(one: Finding, group: FindingGroup) -> bool:
    return _place(one) == _place(group.findings[0])


def _change(previous: float, value: float, worse_is_less: bool, more: int) -> Change:
    """Worse by a tenth, or with more members: larger; smaller likewise."""
    size = max(abs(previous), 1e-12)
    worse = (previous - value if worse_is_less else value - previous) / size
    if worse >= CHANGED_BY or (more > 0 and worse > -CHANGED_BY):
        return Change.LARGER
    if worse <= -CHANGED_BY or more < 0:
        return Change.SMALLER
    return Change.SAME


def _gone_groups(
    left: Sequence[Remembered], facts: Mapping[str, ClusterFacts]
) -> list[FindingGroup]:
    since = {one.finding.key: one.first_seen for one in left}
    groups = [
        _group(members, facts.get(members[0].cluster, ClusterFacts()), None)
        for members, _ in _members([one.finding for one in left], {})
    ]
    return [
        replace(
            group,
            change=Change.GONE,
            severity=Severity.NOTICE,
            first_seen=min(since[one.key] for one in group.findings),
            previous=group.value,
            below_floor=False,
        )
        for group in groups
    ]
