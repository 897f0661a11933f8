"""Detectors of load: brokers with nothing to do, with too much to do, or slower than the others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kedge.analytics.slow_brokers import BrokerHealth, Verdict, slow_brokers
from kedge.model.amounts import duration_text
from kedge.watch.findings import Finding, FindingKind
from kedge.watch.policy import Policy
from kedge.watch.samples import BrokerSample, Sample

FILL_BELOW = 0.5  # of the mean of the others: below it a broker counts as not filled yet
RESOURCES = ("disk", "bytes_in", "bytes_out")
NAMES = {"disk": "disk", "bytes_in": "bytes in", "bytes_out": "bytes out"}
ROUND_TRIP = "round_trip_ms"


def empty_brokers(history: Sequence[Sample], policy: Policy) -> list[Finding]:
    """Live brokers that hold much less than the others, and have been up for the time set."""
    if not history:
        return []
    now, found = history[-1], list[Finding]()
    for each in now.brokers:
        since = _low_since(history, each.broker)
        if since is None or now.at - since < policy.detect.new_broker_after_s:
            continue
        has = f"holds {each.replicas} replicas" if each.replicas else "holds no replica"
        why = (
            f"Broker {each.broker} {has}, less than half of the mean of the others, "
            f"for {duration_text(now.at - since)}"
        )
        found.append(Finding(FindingKind.EMPTY_BROKER, since, why, (each.broker,)))
    return found


def _low_since(history: Sequence[Sample], broker: int) -> float | None:
    since = None
    for each in reversed(history):
        row = each.broker(broker)
        others = [one.replicas for one in each.brokers if one.alive and one.broker != broker]
        if row is None or not row.alive or not others:
            break
        if row.replicas >= FILL_BELOW * sum(others) / len(others):
            break
        since = each.at
    return since


def imbalance(history: Sequence[Sample], policy: Policy) -> list[Finding]:
    """Resources whose most loaded broker is beyond the tolerance in each of the last windows."""
    detect = policy.detect
    if not history or history[-1].at - history[0].at < (detect.windows - 1) * detect.window_s:
        return []
    end, beyond = history[-1].at, list[tuple[float, str, int]]()
    windows = [_window(history, end, place, detect.window_s) for place in range(detect.windows)]
    if not all(windows):
        return []
    for resource in RESOURCES:
        excess = [float(np.median([_excess(each, resource) for each in one])) for one in windows]
        if min(excess) > detect.tolerance:
            beyond.append((excess[0], resource, _hottest(history[-1], resource)))
    if not beyond:
        return []
    parts = [
        f"the {NAMES[resource]} of broker {broker} is {excess:.0%} above the mean"
        for excess, resource, broker in beyond
    ]
    time = duration_text(detect.windows * detect.window_s)
    why = f"{'; '.join(parts)} (tolerance {detect.tolerance:.0%}, for {time})"
    since = end - detect.windows * detect.window_s
    return [Finding(FindingKind.IMBALANCE, since, why[0].upper() + why[1:])]


def _window(history: Sequence[Sample], end: float, place: int, length: float) -> list[Sample]:
    high, low = end - place * length, end - (place + 1) * length
    return [each for each in history if low < each.at <= high]


def _loads(sample: Sample, resource: str) -> list[tuple[float, int]]:
    """Load over capacity of each live broker, where all have one; else the load."""
    rows: list[BrokerSample] = [each for each in sample.brokers if each.alive]
    scaled = resource == "disk" and all(each.capacity for each in rows)
    return [
        (getattr(each, resource) / ((each.capacity or 1.0) if scaled else 1.0), each.broker)
        for each in rows
    ]


def _excess(sample: Sample, resource: str) -> float:
    """How far the most loaded broker is above the mean."""
    loads = [load for load, _ in _loads(sample, resource)]
    mean = sum(loads) / len(loads) if loads else 0.0
    return max(loads) / mean - 1 if mean > 0 else 0.0


def _hottest(sample: Sample, resource: str) -> int:
    return max(_loads(sample, resource))[1]


def slow_brokers_found(history: Sequence[Sample], policy: Policy) -> list[Finding]:
    """Brokers that answer slowly compared with their past and with the others."""
    now = history[-1]
    measured = [each.broker for each in now.brokers if each.round_trip_ms is not None]
    if not measured:
        return []
    times = np.array([each.at for each in history])
    health = [BrokerHealth(b, times, {ROUND_TRIP: _round_trips(history, b)}) for b in measured]
    slow = slow_brokers(health, recent_s=policy.detect.slow_for_s, measurements=(ROUND_TRIP,))
    return [
        Finding(
            FindingKind.SLOW_BROKER,
            now.at - policy.detect.slow_for_s,
            f"{each.why[0].upper()}{each.why[1:]}; look at its disks and its network",
            (each.broker,),
        )
        for each in slow
        if each.verdict is Verdict.SLOW and each.before is not None
    ]


def _round_trips(history: Sequence[Sample], broker: int) -> np.ndarray:
    rows = (each.broker(broker) for each in history)
    values = [row.round_trip_ms if row else None for row in rows]
    return np.array([float("nan") if value is None else value for value in values])
