"""The sentence of a group of findings: what they have in common, and how much it is together."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kedge.analytics.findings import ClusterFacts, Finding, growth_on_disk
from kedge.analytics.robust import median

ALIKE = 0.5  # the greatest and the least growth differ by less than this share of the median
NAMED = 3
UNITS = ("B", "kB", "MB", "GB", "TB", "PB")


def reason(members: Sequence[Finding], facts: ClusterFacts, shared: int | None) -> str:
    """Why the group is one; the members are sorted, the worst first."""
    first = members[0]
    if shared is not None:
        return _shared_broker(members, shared)
    if first.kind == "growing":
        return _growing(members, facts)
    if first.kind == "led_elsewhere":
        return _led_elsewhere(members, facts)
    if len(members) == 1:
        return first.why
    if first.kind == "disk_full_soon":
        return f"{len(members)} of {max(facts.brokers, len(members))} disks fill up; {first.why}"
    if first.kind == "isr_flapping":
        of = max(facts.partitions.get(first.topic or "", 0), len(members))
        return (
            f"the ISR of {_of(len(members), of, first.topic)} changes again and again; {first.why}"
        )
    return f"{_subjects(members)}; {first.why}"


def _shared_broker(members: Sequence[Finding], broker: int) -> str:
    topics = len({one.topic for one in members})
    of_topics = f" of {topics} topics" if topics > 1 else f" of {members[0].topic}"
    return (
        f"all {len(members)} partitions whose ISR changes again and again{of_topics} have a "
        f"replica on broker {broker}, the likely cause; {members[0].why}"
    )


def _growing(members: Sequence[Finding], facts: ClusterFacts) -> str:
    first, topic = members[0], members[0].topic or ""
    rates = [facts.growth_per_day.get((topic, one.partition or 0), 0.0) for one in members]
    if len(members) == 1 or min(rates) <= 0:
        return first.why
    together, on_disk = bytes_text(sum(rates)), growth_on_disk(members, facts)
    amount = f"{together} a day ({bytes_text(on_disk)} with all replicas)"
    if on_disk <= sum(rates):
        amount = f"{together} a day"
    of = max(facts.partitions.get(topic, 0), len(members))
    part = _of(len(members), of, topic)
    if max(rates) - min(rates) <= ALIKE * median(np.array(rates, np.float64)):
        return f"{part} grow alike, {amount}"
    most = max(range(len(rates)), key=lambda place: rates[place])
    return f"{part} grow, {amount}; {members[most].subject} most, {bytes_text(rates[most])} a day"


def _led_elsewhere(members: Sequence[Finding], facts: ClusterFacts) -> str:
    count = round(sum(one.value for one in members))
    partitions = max(sum(facts.partitions.values()), count)
    most = members[0]
    if len(members) == 1:
        return most.why
    return (
        f"{count} of {partitions} partitions are led by another broker than the preferred one; "
        f"most prefer broker {most.broker} ({most.value:.0f})"
    )


def _of(count: int, of: int, topic: str | None) -> str:
    return f"{f'all {of}' if count == of else f'{count} of {of}'} partitions of {topic}"


def _subjects(members: Sequence[Finding]) -> str:
    named = ", ".join(one.subject for one in members[:NAMED])
    more = len(members) - NAMED
    return f"{named} and {more} more" if more > 0 else named


def bytes_text(amount: float) -> str:
    """Bytes with their unit and up to three digits: 68 GB, 1.25 TB."""
    place = 0
    while abs(amount) >= 999.5 and place < len(UNITS) - 1:
        amount, place = amount / 1000, place + 1
    return f"{amount:.3g} {UNITS[place]}"
