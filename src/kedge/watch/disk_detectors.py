"""Detectors of disks: above their limit, or full soon by the trend of their history."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kedge.analytics.forecast import fit
from kedge.model.amounts import bytes_text
from kedge.watch.findings import Finding, FindingKind
from kedge.watch.policy import Policy
from kedge.watch.samples import BrokerSample, Sample

HISTORY_MIN = 12  # samples; fewer have no trend
HELD_FOR = 2  # samples


def disk_above(history: Sequence[Sample], policy: Policy) -> list[Finding]:
    """Brokers whose disk is above the limit in the last samples."""
    if len(history) < HELD_FOR:
        return []
    limit, found = policy.detect.disk_above, list[Finding]()
    for now in history[-1].brokers:
        shares = [_share_of(each, now.broker) for each in history[-HELD_FOR:]]
        if now.alive and all(share is not None and share > limit for share in shares):
            why = (
                f"The disk of broker {now.broker} is {now.disk_share:.0%} full "
                f"({bytes_text(now.disk)} of {bytes_text(now.capacity or 0.0)}), above the limit "
                f"of {limit:.0%}"
            )
            since = _above_since(history, now.broker, limit)
            found.append(Finding(FindingKind.DISK_ABOVE, since, why, (now.broker,)))
    return found


def _share_of(sample: Sample, broker: int) -> float | None:
    found = sample.broker(broker)
    return None if found is None else found.disk_share


def _above_since(history: Sequence[Sample], broker: int, limit: float) -> float:
    since = history[-1].at
    for each in reversed(history):
        share = _share_of(each, broker)
        if share is None or share <= limit:
            break
        since = each.at
    return since


def disk_full_soon(history: Sequence[Sample], policy: Policy) -> list[Finding]:
    """Brokers whose disk is full within the time of the policy if it grows on as it did."""
    if len(history) < HISTORY_MIN:
        return []
    found = list[Finding]()
    within = policy.detect.disk_full_within_s
    end = history[-1].at + within
    for now in history[-1].brokers:
        if not now.alive or not now.capacity or not _may_fill(history, now, within):
            continue
        rows = [(each.at, row.disk) for each in history if (row := each.broker(now.broker))]
        model = fit(np.array([at for at, _ in rows]), np.array([disk for _, disk in rows]))
        if model is None or model.at(np.array([end]))[0] < now.capacity:
            continue
        days = model.days_until(now.capacity, z=0.0)
        if days is None:
            continue
        why = (
            f"The disk of broker {now.broker} is full in {days:.1f} days: {now.disk_share:.0%} of "
            f"{bytes_text(now.capacity)} in use, growing by {bytes_text(model.slope_per_day)} a day"
        )
        found.append(Finding(FindingKind.DISK_FULL_SOON, history[-1].at, why, (now.broker,)))
    return found


def _may_fill(history: Sequence[Sample], now: BrokerSample, within_s: float) -> bool:
    """Whether twice the growth since the first sample would fill the disk: cheaper than a fit."""
    first = history[0].broker(now.broker)
    if first is None or not now.capacity or history[-1].at <= history[0].at:
        return False
    growth = max(now.disk - first.disk, 0.0) / (history[-1].at - history[0].at)
    return now.disk + 2 * growth * within_s >= now.capacity
