"""Amounts from one-minute rates, which brokers average exponentially.

A meter's one-minute rate r follows the true rate x by r' = x + (r - x) e^(-t / 60 s). Two samples t
apart therefore tell the mean rate between them: (r2 - r1 e^(-t / 60 s)) / (1 - e^(-t / 60 s)). So
neither the slow fall after a leader has moved nor the first high value of a new meter is counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

import numpy as np

from kedge.metrics.attribution.grid import Steps
from kedge.metrics.attribution.leadership import Leadership, LeadingTimes
from kedge.metrics.attribution.samples import Floats, Ints, Points, TopicSamples
from kedge.metrics.measurement import Series

_MEMORY_MS: Final = 60_000.0
_DEFAULT_SPACING_MS: Final = 60_000
_APART_MS: Final = 30_000
_GAP: Final = 1.5  # times the usual spacing: a sample is missing
_DOWN: Final = 3.5  # times the usual spacing: more than samples that were lost


def rate_steps(
    samples: TopicSamples, series: Series, brokers: list[int], leaders: Leadership | None
) -> Steps:
    """Amounts between samples of a topic's rate; rows are positions of brokers."""
    points = samples[series]
    usual = max(points.spacing() or _DEFAULT_SPACING_MS, _APART_MS)
    parts: list[Steps] = []
    for own in map(_apart, points.single()):
        broker = int(own.broker[0])
        answered = samples.answered.get(broker, own.ts)
        row = brokers.index(broker)
        parts.extend(_stretches(own, row, answered, usual, LeadingTimes.of(leaders, broker)))
    return Steps.of(parts)


def _stretches(
    own: Points, row: int, answered: Ints, usual: int, leading: LeadingTimes
) -> Iterator[Steps]:
    """Steps of each stretch of samples in which the meter was there all the time."""
    breaks = [at for at in range(1, len(own)) if _gone(own.ts[at - 1 : at + 1], answered, usual)]
    for first, last in pairwise([0, *breaks, len(own)]):
        ts, rate = own.ts[first:last], own.value[first:last]
        kept = np.exp(-np.diff(ts) / _MEMORY_MS)
        mean = np.maximum((rate[1:] - rate[:-1] * kept) / (1 - kept), 0.0)
        began = _birth(int(ts[0]), answered, usual, leading)
        yield _steps(row, np.append([began], ts), np.append([rate[0]], mean))
        died = leading.ended(int(ts[-1]), int(ts[-1]) + int(_GAP * usual))
        if died is not None:  # it led no more before the next sample was due
            yield _steps(row, np.array([ts[-1], died]), rate[-1:])


def _gone(between: Ints, answered: Ints, usual: int) -> bool:
    """Whether a meter was gone between two samples: its broker answered without it, or was down."""
    low, high = int(between[0]), int(between[1])
    if high - low <= _GAP * usual:
        return False
    without = (answered > low + usual // 2) & (answered < high - usual // 2)
    return bool(without.any()) or high - low > _DOWN * usual


def _apart(own: Points) -> Points:
    """Leave out samples right after others: a mean between two that are close is mostly noise."""
    if not (np.diff(own.ts) < _APART_MS).any():
        return own
    kept: list[int] = [0]
    for at in range(1, len(own)):
        if own.ts[at] - own.ts[kept[-1]] >= _APART_MS:
            kept.append(at)
    return own.where(np.array(kept))


def _birth(ts: int, answered: Ints, usual: int, leading: LeadingTimes) -> int:
    """When the time began that the first rate of a stretch stands for."""
    led = leading.began(ts - int(_GAP * usual), ts)
    if led is not None:
        return led
    before = answered[(answered < ts - usual // 2) & (answered >= ts - _GAP * usual)]
    # a meter that was not there at the last report was born in between
    return ts - usual // 2 if len(before) else ts - usual


def _steps(row: int, bounds: Ints, rate: Floats) -> Steps:
    duration = np.diff(bounds)
    rows = np.full(len(duration), row, np.int64)
    return Steps(rows, bounds[:-1], bounds[1:], rate * duration / 1000)
