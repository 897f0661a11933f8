"""Detectors: from a history of samples to findings, each a pure function.

A condition has to hold in every sample over its time. Samples that are further apart than the gap
of the policy tell nothing of the time between them, so a loop that was down starts to count anew:
it never acts on a time in which it did not look.

    broker 4 down      12:00  12:01  …  12:15     found at 12:15 with a grace time of 15 minutes
    a restart in 3 min 12:00  12:03               never found
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kedge.execution.preconditions import counted
from kedge.model.amounts import duration_text
from kedge.watch.disk_detectors import disk_above, disk_full_soon
from kedge.watch.findings import Finding, FindingKind
from kedge.watch.load_detectors import empty_brokers, imbalance, slow_brokers_found
from kedge.watch.policy import Policy
from kedge.watch.samples import Sample

History = Sequence[Sample]


def detect(history: History, policy: Policy, *, settled_at: float = 0.0) -> tuple[Finding, ...]:
    """What is wrong at the last sample, most urgent first.

    `settled_at` is when the last run of the loop ended: loads from before it say nothing of what
    the cluster is like now.
    """
    recent = unbroken(history, policy.gap_s)
    if not recent:
        return ()
    since_run = [each for each in recent if each.at >= settled_at]
    found = [
        *brokers_down(recent, policy),
        *under_replicated(recent, policy),
        *rack_violations(recent),
        *disk_above(since_run, policy),
        *disk_full_soon(since_run, policy),
        *empty_brokers(since_run, policy),
        *imbalance(since_run, policy),
        *leaders_away(recent, policy),
        *slow_brokers_found(recent, policy),
    ]
    urgency = list(FindingKind)
    return tuple(sorted(found, key=lambda each: (urgency.index(each.kind), each.brokers)))


def unbroken(history: History, gap_s: float) -> History:
    """The samples at the end of a history that are no further apart than a gap."""
    start = len(history) - 1
    while start > 0 and history[start].at - history[start - 1].at <= gap_s:
        start -= 1
    return history[max(start, 0) :]


def held_since(history: History, condition: Callable[[Sample], bool]) -> float | None:
    """Since when a condition has held in every sample; None if it does not hold in the last."""
    since = None
    for each in reversed(history):
        if not condition(each):
            break
        since = each.at
    return since


def brokers_down(history: History, policy: Policy) -> list[Finding]:
    """Brokers that hold replicas and have been down beyond the grace time, in one finding."""
    now = history[-1]
    since = {
        broker: held_since(history, lambda each, b=broker: b in each.down) for broker in now.down
    }
    late = {
        broker: at
        for broker, at in since.items()
        if at is not None and now.at - at >= policy.detect.broker_down_for_s
    }
    if not late:
        return []
    first = min(late.values())
    held = sum(each.replicas for each in now.brokers if each.broker in late)
    ids = ", ".join(map(str, sorted(late)))
    one = len(late) == 1
    why = (
        f"{'Broker' if one else 'Brokers'} {ids} {'has' if one else 'have'} been down for "
        f"{duration_text(now.at - first)}; {held} replicas are missing"
    )
    return [Finding(FindingKind.BROKER_DOWN, first, why, tuple(sorted(late)))]


def under_replicated(history: History, policy: Policy) -> list[Finding]:
    """Replicas on live brokers that stay out of sync."""
    now = history[-1]
    since = held_since(history, lambda each: each.out_of_sync > 0)
    if since is None or now.at - since < policy.detect.under_replicated_for_s:
        return []
    why = (
        f"{now.out_of_sync} of {now.partitions} partitions have had replicas out of sync on live "
        f"brokers for {duration_text(now.at - since)}; look at these brokers' logs and disks"
    )
    return [Finding(FindingKind.UNDER_REPLICATED, since, why)]


def rack_violations(history: History) -> list[Finding]:
    """Partitions with more replicas in one rack than they must have."""
    now = history[-1]
    since = held_since(history, lambda each: each.rack_crowded > 0 and not each.down)
    if since is None or len(history) < 2 or since == now.at:
        return []
    crowded = counted(range(now.rack_crowded), "partition")
    verb = "has" if now.rack_crowded == 1 else "have"
    why = f"{crowded} {verb} more replicas in one rack than the racks of the cluster require"
    return [Finding(FindingKind.RACK_VIOLATION, since, why)]


def leaders_away(history: History, policy: Policy) -> list[Finding]:
    """Partitions whose preferred replica is in sync and does not lead."""
    now, limit = history[-1], policy.detect.leaders_away

    def many(each: Sample) -> bool:
        return each.partitions > 0 and each.leaders_away / each.partitions > limit

    since = held_since(history, many)
    if since is None or now.at - since < policy.detect.leaders_away_for_s:
        return []
    share = now.leaders_away / now.partitions
    why = (
        f"{now.leaders_away} of {now.partitions} partitions ({share:.0%}) are not led by their "
        f"preferred replica, more than {limit:.0%} for {duration_text(now.at - since)}"
    )
    return [Finding(FindingKind.LEADERS_AWAY, since, why)]
