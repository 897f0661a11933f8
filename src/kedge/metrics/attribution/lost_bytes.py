"""What a counter gained between its last sample and its end, which no sample tells.

A broker that stops, or that leads no partition of a topic any more, drops its counter. The bytes
since the last sample are in no sum; but their time must not count as measured, or each restart
would lower the mean rate of all topics.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from kedge.metrics.attribution.counters import ABSENT_SAMPLES, without_dips
from kedge.metrics.attribution.grid import Steps
from kedge.metrics.attribution.leadership import Leadership, LeadingTimes
from kedge.metrics.attribution.samples import Floats, Ints, TopicSamples
from kedge.metrics.measurement import Series

_RATE_MS: Final = 60_000  # what was lost came at the rate of so much time before
_NONE: Final = np.empty(0, np.int64)


def lost_steps(
    samples: TopicSamples, series: Series, brokers: list[int], leaders: Leadership | None
) -> Steps:
    """Estimates of what came after the last samples of a topic's counters; rows are brokers."""
    parts: list[Steps] = []
    usual = samples[series].spacing()
    for own in samples[series].single():
        broker = int(own.broker[0])
        ts, value = without_dips(own.ts, own.value)
        known = _known(samples, broker)
        leading = LeadingTimes.of(leaders, broker)
        for at, absent in _ends(ts, value, known):
            low = int(ts[at])
            # a series that its next scrape did not have ended before it, however long it is away
            gone = min(absent, low + usual) if usual else absent
            died = leading.ended(low, gone) or (low + gone) // 2
            amount = _rate(ts[: at + 1], value[: at + 1]) * (died - low)
            row = brokers.index(broker)
            parts.append(Steps(*(np.array([each]) for each in (row, low, died, amount))))
    return Steps.of(parts)


def _known(samples: TopicSamples, broker: int) -> Ints:
    """The moments at which a broker answered, or was asked and did not."""
    times: Ints = np.union1d(samples.answered.get(broker, _NONE), samples.silent.get(broker, _NONE))
    return times


def _ends(ts: Ints, value: Floats, known: Ints) -> Iterator[tuple[int, int]]:
    """The last sample of each life of a counter, and the first moment without it."""
    until = np.append(ts[1:], known[-1:] + 1 if len(known) else ts[-1:])
    after = np.searchsorted(known, ts, side="right")
    absent = np.searchsorted(known, until, side="left") - after
    fell = np.append(np.diff(value) < 0, [False])
    for at in np.flatnonzero(fell | (absent >= ABSENT_SAMPLES)).tolist():
        yield at, int(known[after[at]] if absent[at] > 0 else until[at])


def _rate(ts: Ints, value: Floats) -> float:
    """The growth per ms of the last minute, without what came before a fall."""
    falls: list[int] = np.flatnonzero(np.diff(value) < 0).tolist()
    first = falls[-1] + 1 if falls else 0
    near = int(np.searchsorted(ts, int(ts[-1]) - _RATE_MS))
    near = max(first, min(near, len(ts) - 2))  # samples may be more than a minute apart
    time = int(ts[-1] - ts[near])
    return float(value[-1] - value[near]) / time if time > 0 else 0.0
