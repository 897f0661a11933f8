"""Capacity: days until brokers are full, and how many brokers a date needs.

Per broker the size of its replicas is forecast against its disk. For the cluster disk, bytes in and
bytes out are forecast in total, as if replicas were spread evenly: the number of brokers needed is
the peak of the week before the date over what one broker may carry,

    needed = ceil(peak / (capacity of a broker · (1 - headroom)))    and at least the most replicas

with the peak as expected, and at both ends of the 80 % interval. Capacities may differ: a broker
that is needed, spare or added has the mean capacity of those there are.

Worked example: 6 brokers of 10 TB hold 30 TB and take 0.1 TB a day. In 100 days they hold 40 TB; at
30 % headroom a broker may hold 7 TB, so 6 are needed and none is spare.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kedge.analytics.forecast import DAY_S, HOUR_S, Z_80, Forecast, fit
from kedge.model.columns import Floats

RESOURCES = ("disk", "in", "out")
FILL_S = 3600.0  # a broker that reports nothing for longer counts as absent
PEAK_S = 7 * DAY_S


@dataclass(frozen=True, slots=True)
class BrokerSeries:
    """What one broker carried at the ends of its windows: bytes, and bytes per second.

    `bytes_in` and `bytes_out` are all that its network carries, replication included.
    """

    broker: int
    disk_capacity: float | None
    times: Floats
    size: Floats
    bytes_in: Floats
    bytes_out: Floats

    def series(self, resource: str) -> Floats:
        """The values of a resource."""
        return {"disk": self.size, "in": self.bytes_in, "out": self.bytes_out}[resource]


@dataclass(frozen=True, slots=True)
class CapacityQuestion:
    """The parameters: a date in seconds, the share to keep free, what a link carries, what if."""

    by: float
    headroom: float
    network: float | None = None
    add: int = 0
    replicas_max: int = 1
    largest_replica: float = 0.0


@dataclass(frozen=True, slots=True)
class Days:
    """Days from the last sample: expected, at the soonest and at the latest; None is never.

    Never means not within five years.
    """

    expected: float | None
    soonest: float | None
    latest: float | None


@dataclass(frozen=True, slots=True)
class Amount:
    """A forecast value and the ends of its 80 % interval."""

    expected: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Count:
    """A number of brokers, and those at the ends of the interval."""

    expected: int
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class BrokerAnswer:
    """When one broker's disk is full, and when it has less than the headroom free."""

    broker: int
    disk_capacity: float | None
    used: float
    growth_per_day: float
    full: Days | None  # None where the capacity is unknown
    headroom: Days | None


@dataclass(frozen=True, slots=True)
class ResourceAnswer:
    """One resource of the whole cluster; what needs a capacity is None without one."""

    name: str
    now: float
    growth_per_day: float
    pattern: str
    peak: Amount  # in the week before the date
    capacity: float | None  # of one broker, the mean
    needed: Count | None
    spare: int | None  # negative: missing
    full: Days | None  # if replicas were spread evenly
    headroom: Days | None
    share: float | None  # of all capacity, at the peak
    model: Forecast
    times: Floats
    values: Floats


@dataclass(frozen=True, slots=True)
class WhatIf:
    """One resource with more brokers and evenly spread replicas."""

    name: str
    brokers: int
    share: float | None
    full: Days | None
    headroom: Days | None


@dataclass(frozen=True, slots=True)
class CapacityAnswer:
    """All answers about one cluster; `as_of` is the end of its last window."""

    as_of: float
    span_s: float
    have: int
    brokers: tuple[BrokerAnswer, ...]
    resources: tuple[ResourceAnswer, ...]
    what_if: tuple[WhatIf, ...]
    disk_usable: float | None  # of one broker, the mean

    @property
    def first_full(self) -> BrokerAnswer | None:
        """The broker that is full first."""
        filling = [each for each in self.brokers if each.full and each.full.expected is not None]
        return min(
            filling, key=lambda each: (each.full and each.full.expected) or 0.0, default=None
        )


def capacity_answer(
    brokers: Sequence[BrokerSeries], question: CapacityQuestion
) -> CapacityAnswer | None:
    """Answer for one cluster; None if no broker has two points."""
    reporting = [each for each in brokers if len(each.times)]
    if not reporting:
        return None
    as_of = max(float(each.times[-1]) for each in reporting)
    known = [each.disk_capacity for each in brokers if each.disk_capacity is not None]
    disk = sum(known) / len(known) if known else None
    capacities = {"disk": disk, "in": question.network, "out": question.network}
    totals = {name: total_series(reporting, name) for name in RESOURCES}
    models = {name: fit(*series, is_rate=name != "disk") for name, series in totals.items()}
    fitted = {name: model for name, model in models.items() if model is not None}
    if not fitted:
        return None
    have = len(brokers)
    resources = [
        _resource(name, model, capacities[name], have, question, totals[name])
        for name, model in fitted.items()
    ]
    with_more = [
        _with_more(name, model, capacities[name], have + question.add, question)
        for name, model in fitted.items()
        if question.add
    ]
    return CapacityAnswer(
        as_of,
        max(model.span_s for model in fitted.values()),
        have,
        tuple(_broker(each, as_of, question.headroom) for each in reporting),
        tuple(resources),
        tuple(with_more),
        None if disk is None else disk * (1 - question.headroom),
    )


def total_series(brokers: Sequence[BrokerSeries], resource: str) -> tuple[Floats, Floats]:
    """The sum over brokers at each time that one of them reports.

    A broker without a value at that time counts with its last one, up to an hour long.
    """
    times = np.unique(np.concatenate([each.times for each in brokers]))
    total = np.zeros(len(times))
    for each in brokers:
        place = np.searchsorted(each.times, times, side="right") - 1
        fresh = (place >= 0) & (times - each.times[np.maximum(place, 0)] <= FILL_S)
        values = each.series(resource)[np.maximum(place, 0)]
        total += np.where(fresh & np.isfinite(values), values, 0.0)
    return times, total


def _broker(each: BrokerSeries, as_of: float, headroom: float) -> BrokerAnswer:
    model = fit(each.times, each.size)
    if model is None:
        return BrokerAnswer(each.broker, each.disk_capacity, float(each.size[-1]), 0.0, None, None)
    full = reserve = None
    if each.disk_capacity is not None:
        full = days_until(model, each.disk_capacity, as_of)
        reserve = days_until(model, each.disk_capacity * (1 - headroom), as_of)
    used = float(model.at(np.array([model.origin]))[0])
    return BrokerAnswer(each.broker, each.disk_capacity, used, model.slope_per_day, full, reserve)


def days_until(model: Forecast, limit: float, as_of: float) -> Days:
    """Days from `as_of` until the limit is reached: expected, at the soonest, at the latest."""
    behind = (as_of - model.origin) / DAY_S
    found = (model.days_until(limit, z=z) for z in (0.0, Z_80, -Z_80))
    expected, soonest, latest = (
        None if days is None else max(days - behind, 0.0) for days in found
    )
    return Days(expected, soonest, latest)


def _resource(
    name: str,
    model: Forecast,
    capacity: float | None,
    have: int,
    question: CapacityQuestion,
    series: tuple[Floats, Floats],
) -> ResourceAnswer:
    peak = peak_before(model, question.by)
    more = _with_more(name, model, capacity, have, question)
    needed = None if capacity is None else brokers_needed(peak, capacity, question)
    return ResourceAnswer(
        name,
        now=float(model.at(np.array([model.origin]))[0]),
        growth_per_day=model.slope_per_day,
        pattern=model.pattern,
        peak=peak,
        capacity=capacity,
        needed=needed,
        spare=None if needed is None else have - needed.expected,
        full=more.full,
        headroom=more.headroom,
        share=more.share,
        model=model,
        times=series[0],
        values=series[1],
    )


def _with_more(
    name: str, model: Forecast, capacity: float | None, brokers: int, question: CapacityQuestion
) -> WhatIf:
    if capacity is None:
        return WhatIf(name, brokers, None, None, None)
    whole = capacity * brokers
    return WhatIf(
        name,
        brokers,
        peak_before(model, question.by).expected / whole,
        days_until(model, whole, model.origin),
        days_until(model, whole * (1 - question.headroom), model.origin),
    )


def peak_before(model: Forecast, by: float) -> Amount:
    """The highest load of the week before a time, and after the last sample."""
    hours = by - HOUR_S * np.arange(int(PEAK_S // HOUR_S))
    times = np.maximum(hours, model.origin)
    return Amount(
        float(model.at(times).max()), float(model.low(times).max()), float(model.high(times).max())
    )


def brokers_needed(peak: Amount, capacity: float, question: CapacityQuestion) -> Count:
    """How many brokers carry the peak with the headroom free; at least the most replicas."""
    usable = capacity * (1 - question.headroom)

    def of(load: float) -> int:
        # a load that fills brokers exactly needs no other one, whatever its last bit
        return max(math.ceil(load / usable - 1e-9), question.replicas_max, 1)

    return Count(of(peak.expected), of(peak.low), of(peak.high))
