"""Growth of counters: through resets, restarts, gaps, and series that are born and die.

A broker has the byte counters of a topic only while it leads one of its partitions, and they start
at 0 with each start of the broker. So a value below the last one, and the first value after a time
without the series on a broker that answered, count from 0. What came between the last sample and
the end of a series is lost.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from kedge.metrics.attribution.grid import Steps
from kedge.metrics.attribution.samples import Flags, Floats, Ints, TopicSamples
from kedge.metrics.measurement import Series

_LOOK_AHEAD: Final = 3  # samples of older scrapes in a row, where several servers scrape a broker
ABSENT_SAMPLES: Final = 2  # one missing sample is a fault of the scrape, two are no series
_OLDER: Final = 0.5  # of the value before: a restart falls further
_GAP: Final = 1.9  # times the usual time between samples: one is missing
_REBORN: Final = 2.0  # times the fastest growth: a counter above did not begin at 0 in between
_SPIKE: Final = 10.0  # times the fastest growth elsewhere: not the first bytes of a new series


def counter_steps(samples: TopicSamples, series: Series, brokers: list[int]) -> Steps:
    """Growth of a topic's counter between samples; rows are positions of brokers."""
    points = samples[series]
    usual = points.spacing()
    known: list[Steps] = []
    born: list[Steps] = []
    for own in points.single():
        broker = int(own.broker[0])
        answered = samples.answered.get(broker, _NEVER)
        silent = samples.silent.get(broker, _NEVER)
        row = brokers.index(broker)
        ts, value = without_dips(own.ts, own.value)
        known.append(_between(row, ts, value, answered, silent, usual))
        born.append(_first(row, int(ts[0]), float(value[0]), answered, usual))
    grown = Steps.of(known)
    return _without_spikes(grown, Steps.of(born))


_NEVER: Final = np.empty(0, np.int64)


def without_dips(ts: Ints, value: Floats) -> tuple[Ints, Floats]:
    """Leave out values that fall and come back at once: older scrapes between newer ones."""
    keep = np.ones(len(value), np.bool_)
    for fall in (np.flatnonzero(np.diff(value) < 0) + 1).tolist():
        if not keep[fall]:
            continue
        reached = fall - 1
        while not keep[reached]:
            reached -= 1
        if value[fall] >= value[reached]:
            continue
        ahead = value[fall + 1 : fall + 1 + _LOOK_AHEAD] >= value[reached]
        if ahead.any():
            keep[fall : fall + 1 + int(np.argmax(ahead))] = False
        elif len(ahead) < _LOOK_AHEAD and value[fall] > _OLDER * value[reached]:
            keep[fall:] = False  # the last samples: nothing tells whether it comes back
    return ts[keep], value[keep]


def _between(row: int, ts: Ints, value: Floats, answered: Ints, silent: Ints, usual: int) -> Steps:
    """Growth between neighbouring samples of one series."""
    start, end = ts[:-1].copy(), ts[1:]
    amount = np.diff(value)
    fell = amount < 0
    fastest = float(np.max(amount / (end - start), initial=0.0))
    for gap in np.flatnonzero(fell | (end - start > _GAP * usual)).tolist():
        low, high, reached = int(start[gap]), int(end[gap]), float(value[gap + 1])
        without = answered[(answered > low + usual // 2) & (answered < high - usual // 2)]
        began = max([low, *without[-1:].tolist()])
        if not fell[gap] and (
            len(without) < ABSENT_SAMPLES or reached > _REBORN * fastest * (high - began)
        ):
            continue  # samples are missing, but the counter ran on
        down = silent[(silent > low) & (silent < high)]
        amount[gap] = reached
        start[gap] = max([began, *down[-1:].tolist()])
    return Steps(np.full(len(end), row, np.int64), start, end, amount)


def _first(row: int, ts: int, value: float, answered: Ints, usual: int) -> Steps:
    """The first sample counts from 0 where the broker answered before and had no such series."""
    before = answered[answered <= ts - max(0.9 * usual, 1)]
    if not len(before) or value <= 0:
        return Steps.of([])
    return Steps(np.array([row]), before[-1:].astype(np.int64), np.array([ts]), np.array([value]))


def _without_spikes(grown: Steps, born: Steps) -> Steps:
    """Add first samples, except those that grew far faster than the topic ever did elsewhere.

    Such a value is that of an old counter which was not exported before.
    """
    if not len(born.row):
        return grown
    rate = grown.amount / np.maximum(grown.end - grown.start, 1)
    fastest = float(np.max(rate, initial=0.0))
    fresh = born.amount / np.maximum(born.end - born.start, 1)
    fine: Flags = (fresh <= _SPIKE * fastest) if fastest > 0 else np.ones(len(fresh), np.bool_)
    return Steps.of(
        [grown, Steps(born.row[fine], born.start[fine], born.end[fine], born.amount[fine])]
    )
